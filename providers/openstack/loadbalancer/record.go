package loadbalancer

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/diff"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// The applied record is a tag of the load balancer, which its creation or its next change writes. It has the
// digest of the settings whose drift is corrected, and few others: each write of a tag sends an amphora through
// PENDING_UPDATE. The checksums of members are stored with the Service (package observe), because nodes join often.

var _ lbcommon.RecordKeeper[Desired, Observed] = (*Cloud)(nil)

// StoredRecord implements lbcommon.RecordKeeper. The record is the owner's: a Service that shares the load balancer has
// none. In the state ERROR a load balancer takes no record.
func (c *Cloud) StoredRecord(key lbcommon.Key, have Observed) (record lbcommon.AppliedRecord, writable bool) {
	k, lb := keyOf(key, have), have.LoadBalancer
	if lb == nil || !k.Owns(*lb) {
		return lbcommon.AppliedRecord{}, false
	}
	return model.StoredRecord(*lb), k.Foreign(*lb) == "" && lb.ProvisioningStatus != api.Error
}

// DesiredRecord implements lbcommon.RecordKeeper.
func (c *Cloud) DesiredRecord(want Desired) lbcommon.AppliedRecord { return model.DesiredRecord(want) }

// StoreRecords implements lbcommon.RecordKeeper. The marks of a load balancer that was taken over are set
// with its record.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[Observed]) []plan.Change {
	changes := make([]plan.Change, len(updates))
	for i, update := range updates {
		change := diff.StoreRecord(keyOf(update.Key, update.Have), update.Have, update.Record)
		changes[i] = c.Bind(update.Key, update.Have, plan.Plan{Changes: []plan.Change{change}}).Changes[0]
	}
	return changes
}
