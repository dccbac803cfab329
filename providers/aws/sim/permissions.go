package sim

import (
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
)

// AdministratorKey is the access key of a user to whom the policy of the options does not apply. Its calls are not
// recorded as used permissions.
const AdministratorKey = "AKIASIMULATEDADMIN"

// NewPermissions returns an empty record.
func NewPermissions() Permissions {
	return Permissions{Required: map[iam.Element]bool{}, Denied: map[string]bool{}}
}

// record records the decision about a request.
func (p Permissions) record(policy *iam.Policy, r iam.Request, d iam.Decision) {
	for _, e := range policy.Required(r) {
		p.Required[e] = true
	}
	if !d.Allowed {
		p.Denied[r.Action+" on "+r.Resource] = true
	}
}

// Add adds the decisions of another cloud.
func (p Permissions) Add(other Permissions) {
	maps.Copy(p.Required, other.Required)
	maps.Copy(p.Denied, other.Denied)
}

// Permissions returns a copy of the decisions of the policy.
func (c *Cloud) Permissions() Permissions {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Permissions{Required: maps.Clone(c.permissions.Required), Denied: maps.Clone(c.permissions.Denied)}
}

// UsedActions returns the IAM actions that callers used, or that failed for other reasons than permissions,
// sorted. They include additional actions of a call, such as tagging a new object.
func (c *Cloud) UsedActions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.used))
}
