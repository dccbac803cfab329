package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// differ builds one plan.
type differ struct {
	key  lbcommon.Key
	want model.Desired
	have Observed
	link func(*api.Call, api.Target) string
	// unidentified stay members.
	unidentified model.Unidentified
	// skipsGroups leaves instance groups to another controller.
	skipsGroups bool
	// left are the objects that a deletion leaves, because others use them.
	left []leftObject
	// reserves is set if the plan reserves the address of the new forwarding rule.
	reserves bool
	plan     plan.Plan
}

// name returns the name of the load balancer.
func (d *differ) name() string { return names.Balancer(string(d.key.UID)) }

// add adds a change with its step, and returns its reference.
func (d *differ) add(change plan.Change, step any, after ...plan.Ref) plan.Ref {
	change.Step, change.After = step, append(change.After, after...)
	d.plan.Add(change)
	return change.Ref
}

// isUsed reports whether others use an object that is to be deleted.
func (d *differ) isUsed(link string) bool {
	return d.have.Used[api.Path(link)] || d.have.Kept[api.Path(link)]
}

// existing returns the instances that can be members: without those that do not exist, but with members, which the
// cloud knows better. One that is expected back stays wanted, so that the Service is synced again.
func (d *differ) existing(ids, members []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		is := d.have.Absent[id]
		return is.Fresh && !slices.Contains(members, id) && (!is.Awaited || !d.have.MayFail)
	})
}

// deletedRule returns the index of the deletion of the forwarding rule in the plan; -1 without one.
func (d *differ) deletedRule() int {
	return slices.IndexFunc(d.plan.Changes, func(c plan.Change) bool {
		return c.Kind == kindRule && c.Action == plan.Delete
	})
}

// members returns the wanted members that exist, and those of the existing ones that stay.
func (d *differ) members(have, want []string) []string {
	want = slices.Concat(d.existing(want, have), d.unidentified.In(have))
	slices.Sort(want)
	return slices.Compact(want)
}

// warnAs adds a warning with a reason of its own.
func (d *differ) warnAs(reason events.Reason, text string) {
	d.plan.Warnings = append(d.plan.Warnings, text)
	if d.plan.Reasons == nil {
		d.plan.Reasons = map[string]events.Reason{}
	}
	d.plan.Reasons[text] = reason
}
