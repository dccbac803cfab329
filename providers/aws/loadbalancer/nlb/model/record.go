package model

import (
	"maps"
	"slices"
	"strconv"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// AppliedRecord returns the applied record of a desired state.
func (d Desired) AppliedRecord(fields map[string]string) lbcommon.AppliedRecord {
	ids := map[string]bool{}
	members := ""
	for _, l := range d.Listeners {
		for _, t := range l.Group.Targets {
			ids[t.ID] = ids[t.ID] || t.Keep
		}
	}
	// While an instance is stopped, it may or may not be a target.
	if !slices.Contains(slices.Collect(maps.Values(ids)), true) {
		members = applied.DigestSet(slices.Collect(maps.Keys(ids)))
	}
	return applied.New(d.stateDigest(), members, fields)
}

// stateDigest covers everything of a load balancer except its targets and what every Diff compares anyway:
// security groups and their rules.
func (d Desired) stateDigest() string {
	d.Key, d.Record, d.Warnings = lbcommon.Key{}, lbcommon.AppliedRecord{}, nil
	d.Managed, d.ByCIDR = vpc.ManagedGroup{}, vpc.ByCIDR{}
	d.NodeZones, d.ZoneOf = nil, nil
	if !d.Listed && !d.Addressed {
		d.Zones = nil // an existing load balancer keeps its own
	}
	d.Listeners = slices.Clone(d.Listeners)
	for i := range d.Listeners {
		d.Listeners[i].Group.Targets = nil
	}
	return applied.Digest(d)
}

// RecordOf returns the applied record in the tags of a load balancer.
func RecordOf(tags map[string]string) lbcommon.AppliedRecord {
	record := applied.Parse(tags[names.AppliedTag])
	if !record.IsZero() {
		record.Members = tags[names.TargetsTag]
	}
	return record
}

// RecordTags returns the tags of an applied record.
func RecordTags(record lbcommon.AppliedRecord) map[string]string {
	set := map[string]string{}
	if record.Members != "" {
		set[names.TargetsTag] = record.Members
	}
	record.Members = ""
	set[names.AppliedTag] = record.Encode()
	return set
}

// Applied returns a listener as it was applied. Its ARN is unknown: the listener is read before a change.
func (l DesiredListener) Applied(group string) Listener {
	applied := Listener{
		Port: l.Port, Protocol: l.Protocol, Policy: l.Policy,
		Certificates: l.Certificates, CertificatesRead: true, Forwards: []Forward{{Group: group}},
	}
	if l.IdleTimeout > 0 {
		applied.Attributes = map[string]string{AttributeIdleTimeout: strconv.Itoa(int(l.IdleTimeout))}
	}
	return applied
}
