package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// The applied record is a tag of the allocation. It has no members: the lists contain them.

var _ lbcommon.RecordKeeper[Desired, Observed] = (*Cloud)(nil)

// DesiredRecord implements loadbalancer.RecordKeeper.
func (c *Cloud) DesiredRecord(want Desired) lbcommon.AppliedRecord { return want.record() }

func (d Desired) record() lbcommon.AppliedRecord {
	fields := d.Fields
	d.Fields, d.Members, d.Warnings = nil, nil, nil
	return lbcommon.NewRecord(lbcommon.Digest(d), "", fields)
}

// recorded returns the allocation with the record: the one in use.
func recorded(have Observed) (api.IPAllocation, bool) {
	for _, a := range have.Allocations {
		for _, server := range have.Servers {
			if a.Address != "" && a.Address == server.IPAddress {
				return a, true
			}
		}
	}
	if len(have.Allocations) > 0 {
		return have.Allocations[0], true
	}
	return api.IPAllocation{}, false
}

// StoredRecord implements loadbalancer.RecordKeeper.
func (c *Cloud) StoredRecord(_ lbcommon.Key, have Observed) (record lbcommon.AppliedRecord, writable bool) {
	a, ok := recorded(have)
	return lbcommon.ParseRecord(a.Tag(names.TagApplied)), ok
}

// StoreRecords implements loadbalancer.RecordKeeper. Each load balancer takes a call.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[Observed]) []plan.Change {
	changes := make([]plan.Change, len(updates))
	for i, u := range updates {
		a, _ := recorded(u.Have)
		record := u.Record.Encode()
		changes[i] = plan.Change{
			Ref:    plan.Ref{Kind: lbcommon.KindRecord, Name: c.Name(u.Key), Action: plan.Update},
			Fields: []plan.Field{{Name: "record", Before: a.Tag(names.TagApplied), After: record}},
			Do: func(ctx context.Context, _ *plan.Handles) error {
				return c.store.allocations(a.Pool).update(ctx, a.Path, func(a *api.IPAllocation) {
					a.Tags = tagged(a.Tags, map[string]string{names.TagApplied: record})
				})
			},
		}
	}
	return changes
}

// Status implements loadbalancer.Cloud.
func (c *Cloud) Status(_ intent.Service, have Observed) lbcommon.Status {
	if len(have.Servers) == 0 {
		return lbcommon.Status{}
	}
	return lbcommon.Status{LoadBalancer: &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{
		IP: have.Servers[0].IPAddress, IPMode: ptr.To(v1.LoadBalancerIPModeVIP),
	}}}}
}
