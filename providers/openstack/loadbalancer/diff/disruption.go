package diff

import (
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// The disruptive changes. A change without causes needs an approval.
var (
	replacesPart = plan.Effect{
		Change:   "a listener or its pool is replaced, or a listener is deleted",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{model.ProtocolFields()},
	}
	closesListener = plan.Effect{
		Change:   "a listener allows fewer clients (`allowed_cidrs`)",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{intent.SourceRanges()},
	}
	closesNodePort = plan.Effect{
		Change:   "a rule of the managed security group that lets traffic reach nodes is removed",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{model.ProtocolFields(), model.PlaceFields(),
			intent.SourceRanges(), model.MonitorFields()},
	}
	probesGuest = plan.Effect{
		Change: "the pool of a guest on a shared load balancer gets its first health monitor, because of " +
			"`externalTrafficPolicy: Local` alone",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{model.MonitorFields()},
	}
	movesFloatingIP = plan.Effect{
		Change:   "a floating IP is released, detached or exchanged",
		Disrupts: plan.DisruptsAddress, Causes: []plan.FieldSet{model.FloatingFields()},
	}
	replaces = plan.Effect{
		Change:   "a load balancer is replaced",
		Disrupts: plan.DisruptsLoadBalancer, Causes: []plan.FieldSet{model.PlaceFields()},
	}
	failsOver = plan.Effect{
		Change:   "the failover of a load balancer that worked and is in ERROR; its other changes wait for it",
		Disrupts: plan.DisruptsLoadBalancer,
	}
	replacesFailed = plan.Effect{
		Change:   "its replacement, with its address if that is still free, if Octavia refuses the failover",
		Disrupts: plan.DisruptsLoadBalancer,
	}
)

// Effects returns the disruptive changes.
func Effects() []plan.Effect {
	return []plan.Effect{replacesPart, closesListener, closesNodePort, probesGuest, movesFloatingIP, replaces, failsOver,
		replacesFailed}
}

// isReplacementHeld reports whether the replacement of a listener or of its pool is held.
func (d *differ) isReplacementHeld(l api.Listener) bool {
	return d.isListenerHeld(l, plan.Update, replacesPart) || d.isListenerHeld(l, plan.Delete, replacesPart)
}

// isNarrowingHeld reports whether a change of a listener's allowed CIDRs is held.
func (d *differ) isNarrowingHeld(l api.Listener) bool {
	return d.isListenerHeld(l, plan.Update, closesListener)
}

// isListenerHeld reports whether a change of a listener is held because of a disruption. An update in place has one of
// two: it sends to another pool, or it allows fewer clients.
func (d *differ) isListenerHeld(l api.Listener, action plan.Action, effect plan.Effect) bool {
	return slices.ContainsFunc(d.held, func(h plan.HeldChange) bool {
		return h.Kind == kindListener && h.Action == action && h.ID == l.ID && slices.Equal(h.Follows, effect.Follows())
	})
}

// keepProtocols returns a port with the existing values of the fields that only a replacement of its listener or
// pool could change.
func keepProtocols(port model.Port, l api.Listener, p observe.Pool) model.Port {
	port.Listener.Protocol, port.Pool.Protocol = listeners.Protocol(l.Protocol), pools.Protocol(p.Protocol)
	port.Listener.DefaultTlsContainerRef, port.Listener.InsertHeaders = l.DefaultTlsContainerRef, l.InsertHeaders
	return port
}
