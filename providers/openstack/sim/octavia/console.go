package octavia

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
)

// LoadBalancers returns the load balancers of the cluster's project that are not being deleted, in portable terms.
func (t *Tx) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	names := t.NodeNames()
	for _, b := range t.Balancers {
		if b.Project == t.Cluster.Project && b.Provisioning != pendingDelete {
			out = append(out, t.toWorld(b, names))
		}
	}
	return out
}

// toWorld converts a load balancer. It is internal if its VIP port has no floating IP.
func (t *Tx) toWorld(b *balancer, names map[string]string) world.LoadBalancer {
	out := world.LoadBalancer{Name: b.Name, Internal: true, Addresses: []string{b.VIP}}
	for _, f := range t.Addresses {
		if core.Deref(f.Port) == b.VIPPort {
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
			TLS:          l.Protocol == protocolTerminated, ForwardedHeaders: l.Headers["X-Forwarded-For"] == "true",
		}
		if p := t.Pools[core.Deref(l.DefaultPool)]; p != nil {
			for _, m := range p.members {
				if m.Provisioning != pendingDelete {
					listener.Members = append(listener.Members, cmp.Or(names[m.Address], m.Address))
					listener.MemberPort = int32(m.Port) //nolint:gosec // a port
				}
			}
		}
		if b.Provider == core.ProviderOVN {
			listener.SourceRanges = t.memberSources(l)
		}
		out.Listeners = append(out.Listeners, listener)
	}
	return out
}

// memberSources returns the networks that the security groups of a listener's members allow on the members' port,
// except those of the project's default group. They restrict clients if the load balancer keeps their addresses.
func (t *Tx) memberSources(l *listener) []string {
	p := t.Pools[core.Deref(l.DefaultPool)]
	if p == nil || len(p.members) == 0 {
		return nil
	}
	var out []string
	for _, port := range t.Ports {
		if !slices.ContainsFunc(port.FixedIPs, func(f neutron.FixedIP) bool { return f.Address == p.members[0].Address }) {
			continue
		}
		for _, id := range port.Groups {
			g := t.Groups[id]
			if g == nil || g.Name == neutron.DefaultGroupName {
				continue
			}
			for _, r := range g.Rules {
				if r.Opens(transportOf(l.Protocol), p.members[0].Port) {
					out = append(out, *r.RemoteIP)
				}
			}
		}
	}
	return world.SourceRanges(out)
}

// balancerByName finds a load balancer of the cluster's project.
func (t *Tx) balancerByName(name string) (*balancer, error) {
	for _, b := range t.Balancers {
		if b.Name == name && b.Project == t.Cluster.Project {
			return b, nil
		}
	}
	return nil, fmt.Errorf("load balancer %q does not exist", name)
}

// Delete deletes a load balancer with its children.
func (t *Tx) Delete(name string) error {
	b, err := t.balancerByName(name)
	if err == nil {
		t.removeBalancer(b)
	}
	return err
}

// SetProvisioning sets the provisioning status of a load balancer.
func (t *Tx) SetProvisioning(name, status string) error {
	b, err := t.balancerByName(name)
	if err == nil {
		b.Provisioning = status
		b.Updated = new(t.Now.UTC().Format(timeFormat))
	}
	return err
}

// Drift changes fields of a load balancer and returns their names in Octavia's API.
func (t *Tx) Drift(name string) ([]string, error) {
	b, err := t.balancerByName(name)
	if err != nil {
		return nil, err
	}
	if len(b.listeners) == 0 {
		return nil, fmt.Errorf("load balancer %q has no listener to change", name)
	}
	l := b.listeners[0]
	l.Connections = 7
	fields := []string{"connection_limit"}
	p := t.Pools[core.Deref(l.DefaultPool)]
	if p != nil && len(p.members) > 0 {
		p.members = p.members[1:]
		fields = append(fields, "members")
	}
	if p != nil && p.monitor != nil {
		p.monitor.Delay += 7
		fields = append(fields, "delay")
	}
	return fields, nil
}
