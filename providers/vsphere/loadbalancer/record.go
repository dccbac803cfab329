package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// The applied record is a tag of one virtual server: an IP allocation cannot be updated, and a load balancer service
// has the virtual servers of all Services. It has no members: the lists contain them.

func (d Desired) record() lbcommon.AppliedRecord {
	fields := d.Fields
	d.Fields, d.Members, d.Warnings = nil, nil, nil
	return applied.New(applied.Digest(d), "", fields)
}

// storedRecord returns the record of a Service; the zero value without one.
func storedRecord(have Observed) lbcommon.AppliedRecord {
	for _, server := range have.Servers {
		if record := server.Tag(names.TagApplied); record != "" {
			return applied.Parse(record)
		}
	}
	// Earlier releases stored it with the allocation. One without an update is that of the creation and may be outdated:
	// NSX-T accepts an update of an allocation, and does nothing.
	for _, a := range have.Allocations {
		if record := a.Tag(names.TagApplied); record != "" && a.Revision != nil && *a.Revision > 0 {
			return applied.Parse(record)
		}
	}
	return lbcommon.AppliedRecord{}
}

// storeRecord is the change that stores a record.
func storeRecord(key lbcommon.Key, have Observed, record string) plan.Change {
	servers := slices.Clone(have.Servers)
	sorting.StableFunc(servers, func(a, b api.LBVirtualServer) int { return recordRank(a) - recordRank(b) })
	step := recordUpdate{record: record}
	for _, server := range servers {
		step.servers = append(step.servers, server.Path)
	}
	return plan.Change{
		Ref:    plan.Ref{Kind: lbcommon.KindRecord, Name: balancerName(key), Action: plan.Update},
		Fields: []plan.Field{{Name: "record", Before: storedRecord(have).Encode(), After: record}},
		Step:   step,
	}
}

// recordUpdate stores a record with the first of the virtual servers that still exists: that of the last record may
// have been deleted since.
type recordUpdate struct {
	servers []string
	record  string
}

// Do implements plan.Step.
func (s recordUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	for _, path := range s.servers {
		if _, exists := w.store.servers.table.Get(path); !exists {
			continue
		}
		return w.store.servers.update(ctx, path, func(v *api.LBVirtualServer) {
			v.Tags = setTags(v.Tags, map[string]string{names.TagApplied: s.record})
		})
	}
	return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "PUT lb-virtual-servers", Err: errDeleted}
}

// recordRank orders the virtual server with the record before the others.
func recordRank(v api.LBVirtualServer) int {
	if v.Tag(names.TagApplied) != "" {
		return 0
	}
	return 1
}
