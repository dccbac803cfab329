package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// LoadBalancers implements world.World for the cluster's project. Load balancers in PENDING_DELETE are left out.
func (c *Cloud) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	c.inspect(func(t *tx) {
		names := t.nodeNames()
		for _, b := range t.balancers {
			if b.Project == t.clusterProject && b.Provisioning != pendingDelete {
				out = append(out, t.toWorld(b, names))
			}
		}
	})
	world.SortLoadBalancers(out)
	return out
}

// nodeNames returns the names of the cluster's servers by their addresses.
func (t *tx) nodeNames() map[string]string {
	out := map[string]string{}
	for _, p := range t.ports {
		if s := t.servers[p.DeviceID]; s != nil && s.Project == t.clusterProject {
			for _, f := range p.FixedIPs {
				out[f.Address] = s.Name
			}
		}
	}
	return out
}

// toWorld shows a load balancer; it is internal if no floating IP leads to it.
func (t *tx) toWorld(b *balancer, names map[string]string) world.LoadBalancer {
	out := world.LoadBalancer{Name: b.Name, Internal: true, Addresses: []string{b.VIP}}
	for _, f := range t.addresses {
		if deref(f.Port) == b.VIPPort {
			out.Internal, out.Addresses[0] = false, f.Address
		}
	}
	for _, a := range b.Additional {
		out.Addresses = append(out.Addresses, a.Address)
	}
	for _, l := range b.listeners {
		if l.Provisioning == pendingDelete {
			continue
		}
		listener := world.Listener{
			Protocol: v1.Protocol(transportOf(l.Protocol)), Port: int32(l.Port), //nolint:gosec // a port
			SourceRanges: slices.Clone(l.CIDRs),
		}
		if p := t.pools[deref(l.DefaultPool)]; p != nil {
			for _, m := range p.members {
				if m.Provisioning != pendingDelete {
					listener.Members = append(listener.Members, cmp.Or(names[m.Address], m.Address))
					listener.MemberPort = int32(m.Port) //nolint:gosec // a port
				}
			}
		}
		if b.Provider == providerOVN {
			listener.SourceRanges = t.openSources(l)
		}
		out.Listeners = append(out.Listeners, listener)
	}
	return out
}

// openSources returns the networks that the security groups of a listener's members let in on the members' port, the
// project's own group apart. That is where clients are refused if the load balancer keeps their addresses.
func (t *tx) openSources(l *listener) []string {
	p := t.pools[deref(l.DefaultPool)]
	if p == nil || len(p.members) == 0 {
		return nil
	}
	var out []string
	for _, owner := range t.ports {
		if !slices.ContainsFunc(owner.FixedIPs, func(f fixedIP) bool { return f.Address == p.members[0].Address }) {
			continue
		}
		for _, id := range owner.Groups {
			g := t.groups[id]
			if g == nil || g.Name == defaultGroupName {
				continue
			}
			for _, r := range g.Rules {
				if r.opens(transportOf(l.Protocol), p.members[0].Port) {
					out = append(out, *r.RemoteIP)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// opens reports whether a rule lets a network in on a port.
func (r *securityRule) opens(protocol string, port int) bool {
	return r.Direction == "ingress" && r.RemoteIP != nil && r.Protocol != nil &&
		strings.EqualFold(*r.Protocol, protocol) &&
		r.PortMin != nil && *r.PortMin <= port && port <= *r.PortMax
}

// balancerByName finds a load balancer of the cluster's project.
func (t *tx) balancerByName(name string) (*balancer, error) {
	for _, b := range t.balancers {
		if b.Name == name && b.Project == t.clusterProject {
			return b, nil
		}
	}
	return nil, fmt.Errorf("no load balancer is called %q", name)
}

// DeleteLoadBalancer implements world.World: floating IPs and security groups stay.
func (c *Cloud) DeleteLoadBalancer(name string) error {
	return c.console(func(t *tx) error {
		b, err := t.balancerByName(name)
		if err == nil {
			t.removeBalancer(b)
		}
		return err
	})
}

// Drift implements world.World. It changes the connection limit of the first listener, and of its pool removes the
// first member and changes the interval of its health monitor, if there is one. The fields are named as in Octavia's
// API.
func (c *Cloud) Drift(name string) (fields []string, err error) {
	err = c.console(func(t *tx) error {
		b, err := t.balancerByName(name)
		if err != nil {
			return err
		}
		if len(b.listeners) == 0 {
			return fmt.Errorf("load balancer %q has no listener to change", name)
		}
		l := b.listeners[0]
		l.Connections = 7
		fields = []string{"connection_limit"}
		p := t.pools[deref(l.DefaultPool)]
		if p != nil && len(p.members) > 0 {
			p.members = p.members[1:]
			fields = append(fields, "members")
		}
		if p != nil && p.monitor != nil {
			p.monitor.Delay += 7
			fields = append(fields, "delay")
		}
		return nil
	})
	return fields, err
}

// SetLoadBalancerStatus puts a load balancer into a provisioning status, such as ERROR, until its next change.
func (c *Cloud) SetLoadBalancerStatus(name, status string) error {
	return c.console(func(t *tx) error {
		b, err := t.balancerByName(name)
		if err == nil {
			b.Provisioning = status
		}
		return err
	})
}

// SetSettleTimes replaces Options.ProvisionTime and SettleTime for what begins from now on.
func (c *Cloud) SetSettleTimes(provision, settle time.Duration) {
	c.inspect(func(t *tx) { t.o.ProvisionTime, t.o.SettleTime = provision, settle })
}
