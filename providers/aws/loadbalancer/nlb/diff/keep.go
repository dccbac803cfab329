package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// Keep returns the desired objects with the existing values of some differences, and with what follows from these.
func Keep(want model.Desired, have model.Observed, differences []plan.Difference) model.Desired {
	b := have.Balancer
	if b == nil {
		return want
	}
	want.Listeners, want.Zones = slices.Clone(want.Listeners), slices.Clone(want.Zones)
	for _, d := range differences {
		if kept, ok := want.Kept.With(d); ok {
			want.Kept, want.Managed.Kept = kept, kept
			continue
		}
		switch zone, isZone := strings.CutPrefix(d.Field, fieldSubnets+" "); {
		case d.Kind == kindListener:
			keepListener(&want, have, d)
		case isZone:
			keepZone(&want, *b, zone)
		case d.Field == fieldAddressType, d.Field == fieldSourceNAT:
			keepAddressType(&want, have)
		case d.Field == fieldProxy:
			keepProxy(&want, have, d.Object)
		}
	}
	return want
}

// keepListener keeps a listener, or its target group or policy.
func keepListener(want *model.Desired, have model.Observed, d plan.Difference) {
	i := slices.IndexFunc(have.Listeners, func(l model.Listener) bool { return listenerKey(l.Port) == d.Object })
	if i < 0 {
		return
	}
	l := have.Listeners[i]
	k := slices.IndexFunc(want.Listeners, func(w model.DesiredListener) bool { return w.Port == l.Port })
	if k < 0 {
		kept := model.DesiredListener{Port: l.Port, Protocol: l.Protocol, Policy: l.Policy, Certificates: l.Certificates}
		if keepGroup(&kept.Group, have, l) {
			want.Listeners = append(want.Listeners, kept)
		}
		return
	}
	w := &want.Listeners[k]
	switch d.Field {
	case fieldPolicy:
		w.Policy = l.Policy
	case fieldTargetGroup:
		keepGroup(&w.Group, have, l)
	default: // the protocol, with what depends on it
		if keepGroup(&w.Group, have, l) {
			w.Protocol, w.Policy, w.Certificates, w.IdleTimeout = l.Protocol, l.Policy, l.Certificates, 0
		}
	}
}

// keepGroup makes the target group that a listener forwards to the desired one. It keeps what cannot change in place,
// and its targets, which follow the nodes. It reports false if that target group is unknown.
func keepGroup(want *model.DesiredGroup, have model.Observed, l model.Listener) bool {
	if len(l.Forwards) == 0 {
		return false
	}
	serving := slices.MaxFunc(l.Forwards, func(a, b model.Forward) int { return cmp.Compare(a.Weight, b.Weight) })
	g, ok := have.Group(serving.Group)
	if !ok {
		return false
	}
	if want.Health.Protocol != g.Health.Protocol || want.Health.Interval != g.Health.Interval {
		want.Health = g.Health
	}
	want.Name, want.Protocol, want.Port = g.Name, g.Protocol, g.Port
	want.TargetType, want.AddressType, want.Targets = g.TargetType, g.AddressType, nil
	for target := range g.Targets {
		want.Targets = append(want.Targets, model.DesiredTarget{Target: target, Keep: true})
	}
	return true
}

// keepZone keeps the subnet and the addresses of a zone, or that there are none.
func keepZone(want *model.Desired, b model.Balancer, zone string) {
	named := func(z model.Zone) bool { return zoneName(*want, z) == zone }
	i, k := slices.IndexFunc(want.Zones, named), slices.IndexFunc(b.Zones, named)
	switch {
	case i >= 0 && k >= 0:
		want.Zones[i] = b.Zones[k]
	case k >= 0:
		want.Zones = append(want.Zones, b.Zones[k])
	case i >= 0:
		want.Zones = slices.Delete(want.Zones, i, i+1)
	}
}

// keepAddressType keeps the families of the load balancer. A new listener that needs others is not created.
func keepAddressType(want *model.Desired, have model.Observed) {
	b := have.Balancer
	want.AddressType, want.SourceNAT = b.AddressType, b.SourceNAT
	dualStack := b.AddressType != model.AddressIPv4
	want.Listeners = slices.DeleteFunc(want.Listeners, func(w model.DesiredListener) bool {
		exists := slices.ContainsFunc(have.Listeners, func(l model.Listener) bool { return l.Port == w.Port })
		fits := w.Group.AddressType == model.AddressIPv4 || dualStack
		if dualStack && w.Datagrams() {
			fits = b.SourceNAT && w.Group.AddressType != model.AddressIPv4
		}
		if !exists && !fits {
			want.Warnings = append(slices.Clone(want.Warnings), fmt.Sprintf("port %d has no listener while the address type of "+
				"load balancer %s is held", w.Port, b.Name))
		}
		return !exists && !fits
	})
}

// keepProxy keeps whether a target group has the PROXY protocol.
func keepProxy(want *model.Desired, have model.Observed, name string) {
	g, ok := have.GroupNamed(name)
	for i, l := range want.Listeners {
		if l.Group.Name != name && !forwardsTo(have, l.Port, g.ARN) || !ok {
			continue
		}
		attributes := map[string]string{}
		for key, value := range l.Group.Attributes {
			if key != fieldProxy {
				attributes[key] = value
			}
		}
		want.Listeners[i].Group.Attributes = attributes
	}
}

// forwardsTo reports whether the listener on a port forwards to a target group.
func forwardsTo(have model.Observed, port int32, arn string) bool {
	return slices.ContainsFunc(have.Listeners, func(l model.Listener) bool {
		return l.Port == port && slices.ContainsFunc(l.Forwards, func(f model.Forward) bool { return f.Group == arn })
	})
}
