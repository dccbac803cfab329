package diff

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/apply"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// transportOf returns the transport of a listener's port: TCP, UDP and SCTP may share a number, all other
// protocols use TCP.
func transportOf(protocol string) string {
	switch protocol {
	case api.ProtocolUDP, api.ProtocolSCTP:
		return protocol
	}
	return api.ProtocolTCP
}

// listenerOf returns the listener at the transport and number of a port.
func (d *differ) listenerOf(port model.Port) (api.Listener, bool) {
	i := slices.IndexFunc(d.have.Listeners, func(l api.Listener) bool {
		return l.ProtocolPort == port.Number && transportOf(l.Protocol) == port.Transport
	})
	if i < 0 {
		return api.Listener{}, false
	}
	return d.have.Listeners[i], true
}

// ownsListener reports whether a listener is for this Service. One without a tag of a Service was created
// before tags were used, if its name is the Service's too, and belongs to the owner of the load balancer. A
// listener of another name without a tag was created by hand, and is not changed.
func (d *differ) ownsListener(l api.Listener) bool {
	if slices.Contains(l.Tags, names.ServiceTag(d.key.LoadBalancer())) {
		return true
	}
	if len(names.Services(l.Tags)) > 0 {
		return d.owner && slices.Contains(l.Tags, d.have.LoadBalancer.Name)
	}
	return d.owner && strings.HasPrefix(l.Name, "listener_") && strings.HasSuffix(l.Name, "_"+d.have.LoadBalancer.Name)
}

// poolOf returns the pool with that ID.
func (d *differ) poolOf(id string) (observe.Pool, bool) {
	i := slices.IndexFunc(d.have.Pools, func(p observe.Pool) bool { return p.ID == id && id != "" })
	if i < 0 {
		return observe.Pool{}, false
	}
	return d.have.Pools[i], true
}

// isUsed reports whether any listener forwards to the pool.
func (d *differ) isUsed(pool string) bool {
	return slices.ContainsFunc(d.have.Listeners, func(l api.Listener) bool { return l.DefaultPoolID == pool })
}

// isSharedPool reports whether another listener sends to the pool too.
func (d *differ) isSharedPool(pool, listener string) bool {
	return slices.ContainsFunc(d.have.Listeners,
		func(l api.Listener) bool { return l.DefaultPoolID == pool && l.ID != listener })
}

// HasSurplusListeners reports whether a load balancer has listeners for ports that the Service no longer has.
func HasSurplusListeners(write apply.Writer, want model.Desired, have observe.Observed) bool {
	d := newDiffer(write, have)
	d.want = want
	return len(d.surplusListeners()) > 0
}

// surplusListeners returns the listeners of the Service for ports that it no longer has.
func (d *differ) surplusListeners() []api.Listener {
	return filter(d.have.Listeners, func(l api.Listener) bool {
		wanted := slices.ContainsFunc(d.want.Ports,
			func(p model.Port) bool { return p.Number == l.ProtocolPort && p.Transport == transportOf(l.Protocol) })
		return !wanted && d.ownsListener(l)
	})
}

// filter returns the objects that match.
func filter[T any](objects []T, match func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(object T) bool { return !match(object) })
}

// hasOurName reports whether a pool's name is one that was created for this Service.
func (d *differ) hasOurName(p observe.Pool) bool {
	return strings.HasPrefix(p.Name, "pool_") && strings.HasSuffix(p.Name, "_"+d.key.LoadBalancer())
}

// duplicates returns the other load balancers of this cluster with the name of this Service's.
func (d *differ) duplicates() []api.LoadBalancer {
	return filter(d.have.Others,
		func(lb api.LoadBalancer) bool { return d.key.Foreign(lb) == "" && d.key.Proves(lb) })
}

// isLastUser reports whether a load balancer is deleted with this Service: it was created for a Service of
// this cluster, and no other Service uses it. One that was created by hand stays.
func (d *differ) isLastUser(lb api.LoadBalancer) bool {
	uses := d.owner || slices.Contains(lb.Tags, names.ServiceTag(d.key.LoadBalancer()))
	return uses && d.isOfCluster(lb) && len(d.key.Guests(lb)) == 0
}

// hasClusterMembers reports whether the listeners of this Service have a node of this cluster among their members, by
// name and address: that proves the owner of the load balancer, too.
func (d *differ) hasClusterMembers() bool {
	type member struct{ name, address string }
	nodes := map[member]bool{}
	for _, port := range d.want.Ports {
		for _, m := range port.Members {
			nodes[member{m.Name, m.Address}] = true
		}
	}
	return slices.ContainsFunc(d.have.Listeners, func(l api.Listener) bool {
		pool, _ := d.poolOf(l.DefaultPoolID)
		return d.ownsListener(l) && slices.ContainsFunc(pool.Members, func(m api.Member) bool {
			return nodes[member{m.Name, m.Address}]
		})
	})
}

// ownsFloatingIP reports whether a floating IP was created for a Service of this cluster. The UID in its
// tag proves it. Other managers write only the cluster's name, and two clusters may have the same name: without the
// tag, or if the cluster's UID is unknown, it is this cluster's only at a load balancer of this cluster. If Neutron
// has no tags, the description is enough.
func (d *differ) ownsFloatingIP(f api.FloatingIP) bool {
	if !strings.HasPrefix(f.Description, names.FloatingIPMark) {
		return false
	}
	if uid := names.ClusterUID(f.Tags); uid != "" && d.key.ClusterUID != "" {
		return uid == d.key.ClusterUID
	}
	named := strings.HasSuffix(f.Description, " from cluster "+d.key.ClusterName)
	return named && (!d.supportsTags(f) || f.PortID != "" && f.PortID == d.ownVIPPort)
}

// attachedFloatingIPs returns the floating IPs at the load balancer's port.
func (d *differ) attachedFloatingIPs(lb *api.LoadBalancer) []api.FloatingIP {
	return filter(d.have.FloatingIPs, func(f api.FloatingIP) bool {
		return lb != nil && f.PortID != "" && f.PortID == lb.VipPortID
	})
}

// orphanedFloatingIPs returns those that were created for a Service of this cluster and are not attached.
func (d *differ) orphanedFloatingIPs() []api.FloatingIP {
	return filter(d.have.FloatingIPs, func(f api.FloatingIP) bool { return f.PortID == "" && d.ownsFloatingIP(f) })
}

// supportsTags reports whether tags of a floating IP can probably be written now.
func (d *differ) supportsTags(f api.FloatingIP) bool {
	return f.Tags != nil && !d.have.TagsWait
}
