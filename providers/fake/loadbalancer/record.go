package loadbalancer

import (
	"context"
	"maps"
	"slices"

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
	return lbcommon.NewRecord(lbcommon.Digest(d), "", fields)
}

// storeRecord is the change that stores a record.
func storeRecord(write writer, lb api.LoadBalancer, record string) plan.Change {
	write = write.whenActive(lb)
	return plan.Change{
		Ref:    plan.Ref{Kind: lbcommon.KindRecord, Name: lb.Name, Action: plan.Update},
		Fields: []plan.Field{{Name: "record", Before: lb.Tags[TagApplied], After: record}},
		Do: func(ctx context.Context, _ *plan.Handles) error {
			if err := write.active.wait(ctx); err != nil {
				return err
			}
			// Other changes of the plan may have changed tags.
			current, err := write.store.cached(ctx, lb.Name)
			if err != nil {
				return err
			}
			if current.LoadBalancer != nil {
				lb = *current.LoadBalancer
			}
			tags := withTag(lb.Tags, TagApplied, record)
			return write.updateLoadBalancer(ctx, lb.ID, api.LoadBalancerPatch{Tags: &tags})
		},
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
