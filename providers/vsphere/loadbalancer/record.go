package loadbalancer

import (
	"context"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// The applied record is a tag of the allocation. It has no members: the lists contain them.

func (d Desired) record() lbcommon.AppliedRecord {
	fields := d.Fields
	d.Fields, d.Members, d.Warnings = nil, nil, nil
	return lbcommon.NewRecord(lbcommon.Digest(d), "", fields)
}

// recordAllocation returns the allocation with the record: the one in use.
func recordAllocation(have Observed) (api.IPAllocation, bool) {
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

// storeRecord is the change that stores a record.
func storeRecord(write writer, have Observed, record string) plan.Change {
	a, _ := recordAllocation(have)
	return plan.Change{
		Ref:    plan.Ref{Kind: lbcommon.KindRecord, Name: balancerName(write.owner.key), Action: plan.Update},
		Fields: []plan.Field{{Name: "record", Before: a.Tag(names.TagApplied), After: record}},
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return write.store.allocations(a.Pool).update(ctx, a.Path, func(a *api.IPAllocation) {
				a.Tags = setTags(a.Tags, map[string]string{names.TagApplied: record})
			})
		},
	}
}
