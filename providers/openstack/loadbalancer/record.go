package loadbalancer

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// The applied record is a tag of the load balancer, which its creation or its next change writes. It has the
// Service's settings that disruptive changes follow from, and no others: each write of a tag sends an amphora through
// PENDING_UPDATE. The checksums of members are stored with the Service (package observe), because nodes join often.

var _ lbcommon.RecordKeeper[Desired, Observed] = (*Cloud)(nil)

// Fields of the record in addition to those of the Service.
const (
	// fieldName is the name of the load balancer, without which the record of a Service without annotations would be
	// empty.
	fieldName = "name"
	// fieldFloatingPlace is the source of the Service's floating IP.
	fieldFloatingPlace = "floating IP place"
)

// storedRecord returns the record of a load balancer.
func storedRecord(lb api.LoadBalancer) lbcommon.AppliedRecord {
	return lbcommon.ParseRecord(names.Value(lb.Tags, names.AppliedTagPrefix))
}

// StoredRecord implements lbcommon.RecordKeeper. The record is the owner's: a Service that shares the load balancer has
// none. In the state ERROR a load balancer takes no record.
func (c *Cloud) StoredRecord(key lbcommon.Key, have Observed) (record lbcommon.AppliedRecord, writable bool) {
	k, lb := observe.Key{Key: key, Named: have.Named}, have.LoadBalancer
	if lb == nil || !k.Owns(*lb) {
		return lbcommon.AppliedRecord{}, false
	}
	return storedRecord(*lb), k.Foreign(*lb) == "" && lb.ProvisioningStatus != api.Error
}

// DesiredRecord implements lbcommon.RecordKeeper. Without tags there is no record.
func (c *Cloud) DesiredRecord(want Desired) lbcommon.AppliedRecord {
	if !want.Features.Tags() {
		return lbcommon.AppliedRecord{}
	}
	return lbcommon.NewRecord(trafficDigest(want), "", appliedFields(want))
}

// trafficDigest returns the digest of what replaces listeners and pools, or restricts clients, when it changes. Equal
// digests show that a listener or pool has drifted. Ports without restriction add no ranges, so that most records of
// earlier releases stay valid.
func trafficDigest(want Desired) string {
	items := make([]string, 0, len(want.Ports)+1)
	for _, p := range want.Ports {
		item := fmt.Sprintf("%s %d %s %s", p.Transport, p.Number, p.Listener.Protocol, p.Pool.Protocol)
		if model.Restricts(p.Listener.AllowedCIDRs) {
			item += " " + plan.ShowSet(p.Listener.AllowedCIDRs)
		}
		items = append(items, item)
	}
	if want.MemberSubnet.Explicit {
		items = append(items, want.MemberSubnet.ID)
	}
	return lbcommon.DigestSet(items)
}

// appliedFields returns the fields of a record.
func appliedFields(want Desired) map[string]string {
	fields := map[string]string{fieldName: want.Name}
	if f := want.FloatingIP; f != nil && f.PlaceDigest() != "" {
		fields[fieldFloatingPlace] = f.PlaceDigest()
	}
	for _, name := range recordedFields() {
		if value, ok := want.Fields[name]; ok {
			fields[name] = value
		}
	}
	return fields
}

// StoreRecords implements lbcommon.RecordKeeper. The marks of a load balancer that was taken over are set
// with its record.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[Observed]) []plan.Change {
	changes := make([]plan.Change, len(updates))
	for i, update := range updates {
		changes[i] = c.newDiffer(update.Key, update.Have).recordUpdate(*update.Have.LoadBalancer, update.Record)
	}
	return changes
}

// recordUpdate stores a record in the tags of a load balancer.
func (d *differ) recordUpdate(have api.LoadBalancer, record lbcommon.AppliedRecord) plan.Change {
	retag := func(have []string) []string {
		return tags.Add(tags.WithoutRecord(have), d.ownerTags(record))
	}
	return plan.Change{
		Ref:    d.ref(lbcommon.KindRecord, have.Name, plan.Update, have.ID),
		Fields: []plan.Field{{Name: "tags", Before: tags.Show(have.Tags), After: tags.Show(retag(have.Tags))}},
		Do: func(ctx context.Context, ids *plan.Handles) error {
			do, note := d.patch(have, loadbalancers.UpdateOpts{}, retag)
			return d.mutate(ctx, ids, do, note)
		},
	}
}
