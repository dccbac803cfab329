package loadbalancer

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

var _ lbcommon.RecordKeeper[Desired, Observed] = (*Cloud)(nil)

// DesiredRecord implements lbcommon.RecordKeeper.
func (c *Cloud) DesiredRecord(want Desired) lbcommon.AppliedRecord {
	if want.Network == nil {
		return want.Classic.Record
	}
	return want.Network.Record
}

// StoredRecord implements lbcommon.RecordKeeper.
func (c *Cloud) StoredRecord(key lbcommon.Key, have Observed) (record lbcommon.AppliedRecord, writable bool) {
	switch {
	case have.generations == nil:
		return lbcommon.AppliedRecord{}, false
	case have.Network.Balancer != nil:
		return have.generations.network.StoredRecord(key, have.Network)
	default:
		return have.generations.classic.StoredRecord(key, have.Classic)
	}
}

// StoreRecords implements lbcommon.RecordKeeper.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[Observed]) []plan.Change {
	if len(updates) == 0 {
		return nil
	}
	var networks []lbcommon.RecordUpdate[model.Observed]
	var classics []lbcommon.RecordUpdate[classic.Observed]
	for _, u := range updates {
		if u.Have.Network.Balancer != nil {
			networks = append(networks, lbcommon.RecordUpdate[model.Observed]{Key: u.Key, Have: u.Have.Network,
				Record: u.Record})
		} else {
			classics = append(classics, lbcommon.RecordUpdate[classic.Observed]{Key: u.Key, Have: u.Have.Classic,
				Record: u.Record})
		}
	}
	g := updates[0].Have.generations
	return append(g.network.StoreRecords(networks), g.classic.StoreRecords(classics)...)
}
