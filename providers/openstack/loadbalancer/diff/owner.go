package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
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

// listenerKey identifies a listener in plans by what clients connect to.
func listenerKey(l api.Listener) string {
	return portKey(model.Port{Transport: transportOf(l.Protocol), Number: l.ProtocolPort})
}

// portKey is the listenerKey of a port.
func portKey(port model.Port) string { return fmt.Sprintf("%s/%d", port.Transport, port.Number) }

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

// ownsListener reports whether a listener is for this Service.
func (d *differ) ownsListener(l api.Listener) bool {
	return d.key.OwnsListener(*d.have.LoadBalancer, l)
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
func HasSurplusListeners(key observe.Key, want model.Desired, have observe.Observed) bool {
	d := newDiffer(key, have)
	d.want, _ = want.For(have.LoadBalancer, nil) // problems do not change which ports there are
	return len(d.surplusListeners()) > 0
}

// surplusListeners returns the listeners of the Service for ports that it no longer has.
func (d *differ) surplusListeners() []api.Listener {
	return filter(d.have.Listeners, func(l api.Listener) bool {
		wanted := slices.ContainsFunc(d.want.Ports,
			func(p model.Port) bool { return p.Number == l.ProtocolPort && p.Transport == transportOf(l.Protocol) })
		return !wanted && d.ownsListener(l) && !d.keeps(kindListener, listenerKey(l), "")
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

// ownerToAsk returns the Service that decides who shares a load balancer, if it has not let this one in; "" if this one
// may share it. Services of one namespace share without asking: who may edit one may edit the other. So does every
// Service a load balancer that was created by hand.
func (d *differ) ownerToAsk(lb api.LoadBalancer) string {
	if in, _ := names.LetsIn(lb.Tags, d.key.Namespace, d.key.Name); in {
		return ""
	}
	cluster, owner, named := names.ParseLoadBalancer(lb.Name)
	described, _, generated := names.ParseLoadBalancerDescription(lb.Description)
	switch {
	case named:
		namespace, _, _ := strings.Cut(owner, "/")
		if namespace == d.key.Namespace && cluster == d.key.ClusterName && d.isOfThisCluster(lb) {
			return ""
		}
		return fmt.Sprintf("the Service %s of the cluster %s", owner, cluster)
	case generated:
		return "the Service " + described
	case strings.HasPrefix(lb.Name, names.LoadBalancerPrefix), names.IsLegacy(lb.Name):
		return "another Service"
	}
	return ""
}

// isOfThisCluster reports whether a load balancer is this cluster's rather than that of another one with its name: it
// has the mark, or a node of this cluster is a member.
func (d *differ) isOfThisCluster(lb api.LoadBalancer) bool {
	return d.key.Marks(lb) || slices.ContainsFunc(d.have.Listeners,
		func(l api.Listener) bool { return d.have.NodeListeners[l.ID] })
}

// withdraws reports whether a load balancer is deleted with its owner although others use it: the owner sets who may
// share it, and none of them may. Its address does not outlive it because of a Service that it does not let in.
func (d *differ) withdraws(lb api.LoadBalancer) bool {
	guests := d.key.Guests(lb)
	if _, set := names.LetsIn(lb.Tags, "", ""); !set || d.key.Foreign(lb) != "" {
		return false
	}
	return !slices.ContainsFunc(guests, func(tag string) bool {
		cluster, guest, ok := names.ParseLoadBalancer(tag)
		namespace, name, _ := strings.Cut(guest, "/")
		in, _ := names.LetsIn(lb.Tags, namespace, name)
		return !ok || cluster == d.key.ClusterName && (in || namespace == d.key.Namespace)
	})
}

// isLastUser reports whether a load balancer is deleted with this Service: it was created for a Service of
// this cluster, and no other Service uses it. One that was created by hand stays.
func (d *differ) isLastUser(lb api.LoadBalancer) bool {
	uses := d.owner || slices.Contains(lb.Tags, names.ServiceTag(d.key.LoadBalancer()))
	return uses && d.isOfCluster(lb) && len(d.key.Guests(lb)) == 0
}

// joined reports whether this Service shares a load balancer already: its tag is set before its listeners exist.
func (d *differ) joined(lb api.LoadBalancer) bool {
	return slices.Contains(lb.Tags, names.ServiceTag(d.key.LoadBalancer())) ||
		slices.ContainsFunc(d.have.Listeners, d.ownsListener)
}

// ownsFloatingIP reports whether a floating IP was allocated for this Service, or for the owner of the load balancer
// that it is attached to, and therefore is deleted with it. All others, such as one that another Service keeps and
// this one names, are only detached. The UID in its tag proves the cluster. Other managers write only the cluster's
// name, and two clusters may have the same name: without the tag, or if the cluster's UID is unknown, it is this
// cluster's only at a load balancer of this cluster, or if its address is in the Service's status.
func (d *differ) ownsFloatingIP(f api.FloatingIP) bool {
	service, cluster, ok := names.ParseFloatingIPDescription(f.Description)
	attached := f.PortID != "" && f.PortID == d.ownVIPPort
	if !ok || service != d.key.Service().String() && (!attached || service != d.vipOwner) {
		return false
	}
	if uid := names.ClusterUID(f.Tags); uid != "" && d.key.ClusterUID != "" {
		return uid == d.key.ClusterUID
	}
	earlier := attached && d.have.LoadBalancer != nil && d.key.Renamed(*d.have.LoadBalancer) &&
		d.have.LoadBalancer.Name == names.LoadBalancer(cluster, d.key.Service())
	return earlier || cluster == d.key.ClusterName && (attached || d.key.HasAddress(f.FloatingIP))
}

// isOfOther reports whether a floating IP was allocated for another Service, of this cluster or of another one, and
// does not outlive it: it is free only while the load balancer of that one is replaced. Services that share a load
// balancer have its address in their status too.
func (d *differ) isOfOther(f api.FloatingIP) bool {
	return d.isForOther(f) && !slices.Contains(f.Tags, names.KeepTag)
}

// isForOther reports whether a floating IP was allocated for another Service, by its description and the mark of a
// cluster.
func (d *differ) isForOther(f api.FloatingIP) bool {
	service, _, ok := names.ParseFloatingIPDescription(f.Description)
	uid := names.ClusterUID(f.Tags)
	isOfCluster := d.key.ClusterUID == "" || uid == d.key.ClusterUID
	return ok && uid != "" && (!isOfCluster || service != d.key.Service().String())
}

// attachedFloatingIPs returns the floating IPs at the load balancer's port.
func (d *differ) attachedFloatingIPs(lb *api.LoadBalancer) []api.FloatingIP {
	return d.rankFloatingIPs(filter(d.have.FloatingIPs, func(f api.FloatingIP) bool {
		return lb != nil && f.PortID != "" && f.PortID == lb.VipPortID
	}))
}

// orphanedFloatingIPs returns those that were created for a Service of this cluster and are not attached.
func (d *differ) orphanedFloatingIPs() []api.FloatingIP {
	return d.rankFloatingIPs(filter(d.have.FloatingIPs,
		func(f api.FloatingIP) bool { return f.PortID == "" && d.ownsFloatingIP(f) }))
}

// rankFloatingIPs sorts those that clients know to the front, and next those that were allocated for the Service.
func (d *differ) rankFloatingIPs(list []api.FloatingIP) []api.FloatingIP {
	rank := func(f api.FloatingIP) int {
		switch {
		case d.key.HasAddress(f.FloatingIP):
			return 0
		case d.ownsFloatingIP(f):
			return 1
		}
		return 2
	}
	sorting.StableFunc(list, func(a, b api.FloatingIP) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

// supportsTags reports whether tags of a floating IP can probably be written now.
func (d *differ) supportsTags(f api.FloatingIP) bool {
	return f.Tags != nil && !d.have.TagsWait
}
