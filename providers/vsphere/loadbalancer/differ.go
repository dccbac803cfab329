package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// The kinds of objects in plans. Members are a separate kind, because only they change when nodes join and leave.
const (
	kindService    = "load balancer service"
	kindAllocation = "IP allocation"
	kindServer     = "virtual server"
	kindPool       = "pool"
	kindMembers    = "members"
	kindMonitor    = "monitor"
	kindGroup      = "group"
)

// addressHandle is the address of the load balancer in a plan before it is allocated.
const addressHandle plan.Handle = "address"

// differ builds one plan.
type differ struct {
	// write makes the changes. Only their functions use it.
	write writer
	owner owner
	want  Desired
	have  Observed
	plan  plan.Plan
}

func newDiffer(write writer, have Observed) *differ {
	return &differ{write: write, owner: write.owner, have: have}
}

func (d *differ) name() string { return balancerName(d.owner.key) }

// portRef returns the reference of the change of a port's object.
func (d *differ) portRef(kind, port string, action plan.Action) plan.Ref {
	return plan.Ref{Kind: kind, Name: portObjectName(d.name(), port), Action: action}
}

// portObjectName returns the name of a port's object in plans and in the inventory.
func portObjectName(balancer, port string) string { return balancer + " " + port }

// monitorPort is the port in the name of a monitor: a port may have monitors of several types.
func monitorPort(port, resourceType string) string { return port + " " + resourceType }

// deletion is the change that deletes an object. Two objects of one name have different references.
func (d *differ) deletion(ref plan.Ref, r api.Resource, after []plan.Ref,
	remove func(context.Context, string) error,
) plan.Change {
	for slices.ContainsFunc(d.plan.Changes, func(c plan.Change) bool { return c.Ref == ref }) {
		ref.Name += " " + r.ID
	}
	return plan.Change{
		Ref: ref, ID: r.Path, After: slices.Clone(after),
		Do: func(ctx context.Context, _ *plan.Handles) error { return remove(ctx, r.Path) },
	}
}

// showTags formats tags for plans, without the applied record.
func showTags(tags []api.NSXTag) string {
	shown := map[string]string{}
	for _, t := range tags {
		if t.Scope != names.TagApplied {
			shown[t.Scope] = t.Tag
		}
	}
	return plan.ShowMap(shown)
}

// diffTags adds the difference of the tags of an object.
func diffTags(f *plan.Fields, have []api.NSXTag, want map[string]string) {
	f.Diff("tags", showTags(have), showTags(setTags(have, want)))
}
