package loadbalancer

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb"
)

var _ lbcommon.RecordKeeper[Desired, Observed] = (*Cloud)(nil)

// DesiredRecord implements lbcommon.RecordKeeper. Only network load balancers have a record.
func (c *Cloud) DesiredRecord(want Desired) lbcommon.AppliedRecord {
	if want.Network == nil {
		return lbcommon.AppliedRecord{}
	}
	return want.Network.Record
}

// StoredRecord implements lbcommon.RecordKeeper.
func (c *Cloud) StoredRecord(key lbcommon.Key, have Observed) (record lbcommon.AppliedRecord, writable bool) {
	if have.made == nil {
		return lbcommon.AppliedRecord{}, false
	}
	return have.made.network.StoredRecord(key, have.Network)
}

// StoreRecords implements lbcommon.RecordKeeper.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[Observed]) []plan.Change {
	var list []nlb.RecordUpdate
	for _, u := range updates {
		list = append(list, nlb.RecordUpdate{Balancer: u.Have.Network.Balancer, Record: u.Record})
	}
	if len(list) == 0 {
		return nil
	}
	return updates[0].Have.made.network.StoreRecords(list)
}
