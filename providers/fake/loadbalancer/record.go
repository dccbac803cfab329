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

var _ lbcommon.RecordKeeper[Desired, Observed] = (*Cloud)(nil)

// DesiredRecord implements loadbalancer.RecordKeeper.
func (c *Cloud) DesiredRecord(want Desired) lbcommon.AppliedRecord { return want.record() }

func (d Desired) record() lbcommon.AppliedRecord {
	fields := d.Fields
	d.Fields, d.Pools = nil, slices.Clone(d.Pools)
	for i := range d.Pools {
		d.Pools[i].Members = nil
	}
	return lbcommon.NewRecord(lbcommon.Digest(d), "", fields)
}

// StoredRecord implements loadbalancer.RecordKeeper.
func (c *Cloud) StoredRecord(key lbcommon.Key, have Observed) (record lbcommon.AppliedRecord, writable bool) {
	lb := have.LoadBalancer
	if lb == nil || foreign(key, lb.Cluster, lb.Tags) != "" {
		return lbcommon.AppliedRecord{}, false
	}
	return lbcommon.ParseRecord(lb.Tags[TagApplied]), true
}

// StoreRecords implements loadbalancer.RecordKeeper. Each load balancer takes a call.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[Observed]) []plan.Change {
	changes := make([]plan.Change, len(updates))
	for i, u := range updates {
		lb, record := *u.Have.LoadBalancer, u.Record.Encode()
		d := &differ{cloud: c, store: c.stores(u.Key.ClusterName), key: u.Key, have: u.Have}
		d.active = newActiveGate(d, lb)
		changes[i] = plan.Change{
			Ref:    plan.Ref{Kind: lbcommon.KindRecord, Name: lb.Name, Action: plan.Update},
			Fields: []plan.Field{{Name: "record", Before: lb.Tags[TagApplied], After: record}},
			Do: func(ctx context.Context, _ *plan.Handles) error {
				if err := d.active.wait(ctx); err != nil {
					return err
				}
				// Other changes of the plan may have changed tags.
				now, err := d.store.cached(ctx, lb.Name)
				if err != nil {
					return err
				}
				if now.LoadBalancer != nil {
					lb = *now.LoadBalancer
				}
				tags := withTag(lb.Tags, TagApplied, record)
				updated, err := c.api.UpdateLoadBalancer(ctx, lb.ID, api.LoadBalancerPatch{Tags: &tags})
				return d.write(err, func(o *Observed) { o.LoadBalancer = &updated })
			},
		}
	}
	return changes
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
