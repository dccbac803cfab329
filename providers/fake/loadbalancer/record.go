package loadbalancer

import (
	"context"
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// The applied record is a tag of the load balancer. It has no members: the list of load balancers contains
// them.

func (d Desired) record() lbcommon.AppliedRecord {
	fields := d.Fields
	d.Fields, d.Pools = nil, slices.Clone(d.Pools)
	for i := range d.Pools {
		d.Pools[i].Members = nil
	}
	return applied.New(applied.Digest(d), "", fields)
}

// recordUpdate stores a record. Its load balancer is the one that the record was made from.
type recordUpdate struct {
	lb     api.LoadBalancer
	record string
}

// Do implements plan.Step.
func (s recordUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	// Other changes of the plan may have changed tags.
	current, err := w.store.cached(ctx, s.lb.Name)
	if err != nil {
		return err
	}
	lb := s.lb
	if current.LoadBalancer != nil {
		lb = *current.LoadBalancer
	}
	tags := withTag(lb.Tags, TagApplied, s.record)
	return w.updateLoadBalancer(ctx, lb.ID, api.LoadBalancerPatch{Tags: &tags})
}

// storeRecord is the change that stores a record.
func storeRecord(lb api.LoadBalancer, record string) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: lbcommon.KindRecord, Name: lb.Name, Action: plan.Update},
		Fields: []plan.Field{{Name: "record", Before: lb.Tags[TagApplied], After: record}},
		Step:   recordUpdate{lb, record},
	}
}

// withTag returns a copy of tags with one more.
func withTag(tags map[string]string, key, value string) map[string]string {
	tags = maps.Clone(tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[key] = value
	return tags
}
