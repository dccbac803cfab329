package classic

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// differ builds one plan.
type differ struct {
	scope
	noNodeRules bool
	want        Desired
	have        Observed
	plan        plan.Plan
	// base is the creation of the load balancer, which every other change of it waits for.
	base []plan.Ref
	// created are listeners of the plan, which their policies wait for.
	created []Listener
	// allowed are the changes that add rules to the managed security group.
	allowed []plan.Ref
	// attached is the change that attaches the subnets newZones, which the instances of their zones wait for.
	attached []plan.Ref
	newZones []string
}

// advice returns what explains errors of the calls.
func (d *differ) advice() advice {
	a := advice{groups: d.want.Groups, tlsPolicy: d.want.TLSPolicy, vpc: d.vpc}
	for _, l := range d.want.Listeners {
		a.certificate = cmp.Or(l.Certificate, a.certificate)
	}
	if d.want.Attributes.AccessLog.Enabled {
		a.bucket = d.want.Attributes.AccessLog.Bucket
	}
	return a
}

// add appends a change of the load balancer, which waits for its creation.
func (d *differ) add(change plan.Change) {
	change.After = append(slices.Clone(change.After), d.base...)
	d.plan.Add(change)
}
