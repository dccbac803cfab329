package loadbalancer

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// The applied record is a tag of the load balancer, which its creation or its next change writes. It has what the
// Service asked for that a load balancer cannot change in place. The checksums of members are kept with the Service
// (package observe): a tag would send an amphora through PENDING_UPDATE whenever a node joins.

// Fields of the record: where the Service asks its load balancer and its floating IP to be.
const (
	fieldPlace         = "load balancer place"
	fieldFloatingPlace = "floating IP place"
)

// storedRecord returns the record of a load balancer.
func storedRecord(lb api.LoadBalancer) lbcommon.AppliedRecord {
	return lbcommon.ParseRecord(names.Value(lb.Tags, names.AppliedTagPrefix))
}

// fields returns what the Service asks for now.
func (d *differ) fields() map[string]string {
	fields := map[string]string{fieldPlace: d.want.LoadBalancer.PlaceDigest()}
	if f := d.want.FloatingIP; f != nil && f.PlaceDigest() != "" {
		fields[fieldFloatingPlace] = f.PlaceDigest()
	}
	for _, name := range recordedFields() {
		if value, ok := d.want.Fields[name]; ok {
			fields[name] = value
		}
	}
	return fields
}

// hasChanged reports whether the Service asks for something else than when the record was written.
func (d *differ) hasChanged(lb api.LoadBalancer, field string) bool {
	record := storedRecord(lb)
	return record.IsZero() || len(record.Changed(d.fields(), []string{field})) > 0
}

// desiredRecord returns the record to store. Of fields that were changed and not applied it has the values of the
// record before: the change is still to come.
func (d *differ) desiredRecord() lbcommon.AppliedRecord {
	record := lbcommon.NewRecord("", "", d.fields())
	var held []string
	if d.keepsFloatingIP {
		held = append(held, fieldFloatingPlace)
	}
	lb := d.have.LoadBalancer
	if lb == nil {
		return record
	}
	if d.misplaced(*lb) != "" && !d.isInherited(*lb) {
		held = append(held, fieldPlace)
	}
	for _, h := range d.held {
		held = append(held, h.Follows...)
	}
	if len(held) > 0 && !storedRecord(*lb).IsZero() {
		record = record.Without(storedRecord(*lb), held)
	}
	return record
}

// isInherited reports whether a load balancer is where another manager created it, and the Service has asked
// for no other place since it was adopted. That manager reads the place once, at the creation; a move to us must
// not change the address of a Service whose owner changed nothing.
func (d *differ) isInherited(lb api.LoadBalancer) bool {
	if !storedRecord(lb).IsZero() {
		return !d.hasChanged(lb, fieldPlace)
	}
	return d.owner && d.want.Features.Tags() && names.ClusterUID(lb.Tags) == ""
}
