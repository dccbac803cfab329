package model

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Fields of the record in addition to those of the Service.
const (
	// FieldName is the name of the load balancer, without which the record of a Service without annotations would be
	// empty.
	FieldName = "name"
	// FieldFloatingPlace is the source of the Service's floating IP.
	FieldFloatingPlace = "floating IP place"
)

// StoredRecord returns the record of a load balancer.
func StoredRecord(lb api.LoadBalancer) lbcommon.AppliedRecord {
	return applied.Parse(names.Value(lb.Tags, names.AppliedTagPrefix))
}

// DesiredRecord returns the record of the desired objects. Without tags there is none.
func DesiredRecord(want Desired) lbcommon.AppliedRecord {
	if !want.Features.Tags() {
		return lbcommon.AppliedRecord{}
	}
	return applied.New(trafficDigest(want), "", AppliedFields(want))
}

// trafficDigest returns the digest of the settings that replace listeners and pools, or restrict clients, when they
// change. Equal digests show that a listener or pool has drifted. Ports without restriction add no ranges,
// so that most records of earlier releases stay valid.
func trafficDigest(want Desired) string {
	items := make([]string, 0, len(want.Ports)+1)
	for _, p := range want.Ports {
		item := fmt.Sprintf("%s %d %s %s", p.Transport, p.Number, p.Listener.Protocol, p.Pool.Protocol)
		if Restricts(p.Listener.AllowedCIDRs) {
			item += " " + plan.ShowSet(p.Listener.AllowedCIDRs)
		}
		items = append(items, item)
	}
	if want.MemberSubnet.Explicit {
		items = append(items, want.MemberSubnet.ID)
	}
	return applied.DigestSet(items)
}

// AppliedFields returns the fields of a record.
func AppliedFields(want Desired) map[string]string {
	fields := map[string]string{FieldName: want.Name}
	if f := want.FloatingIP; f != nil && f.PlaceDigest() != "" {
		fields[FieldFloatingPlace] = f.PlaceDigest()
	}
	for _, name := range recordedFields() {
		if value, ok := want.Fields[name]; ok {
			fields[name] = value
		}
	}
	return fields
}
