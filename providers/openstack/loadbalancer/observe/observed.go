package observe

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Observed has the existing objects of one Service's load balancer. Readers share it and must not modify what
// it points to.
type Observed struct {
	// LoadBalancer is nil if there is none: the one that the Service names if it exists, else the one with its name.
	LoadBalancer *api.LoadBalancer
	// FailoverRefused is set if Octavia refused the failover of the load balancer.
	FailoverRefused bool
	// Abandoned is set if this process has requested the deletion of the load balancer.
	Abandoned bool
	// Unbuilt is set if this process has seen that Octavia failed to build the load balancer.
	Unbuilt bool
	// Replaced is the load balancer that was deleted for another one that is not built yet; nil if there is none.
	Replaced *api.LoadBalancer
	// Others have the same name.
	Others []api.LoadBalancer
	// Left are other load balancers with this Service's tag, with their parts: it shared them, and has named another one
	// since. They are read for its deletion.
	Left []Observed
	// Denied is the ID that the Service names, if this client may not read that load balancer.
	Denied string
	// Listeners and Pools are those of all Services.
	Listeners []api.Listener
	Pools     []Pool
	// FloatingIPs are those at the load balancer's port, and those that were created for the Service.
	FloatingIPs []api.FloatingIP
	// Groups have the name of the Service's security group; GroupPorts use one of them.
	Groups     []api.SecurityGroup
	GroupPorts []api.Port
	// Named is the ID of the load balancer that the Service names, and Addresses are those in its status.
	Named     string
	Addresses []string
	// Proven is set if the load balancer has the mark of this cluster, or the Service names its ID or has its address in
	// the status: see Key.Proves.
	Proven bool
	// Followed is the ID of a load balancer that another manager created for this Service under another --cluster-name. It
	// is proven by an address in the Service's status, or by a node of this cluster among the members.
	Followed string
	// mayFollow is set if only the members can prove that: see Key.mayFollow.
	mayFollow bool
	// NodeListeners are the IDs of listeners with a node of this cluster among their members, which proves whose they
	// are. They are known only if NeedsMembers.
	NodeListeners map[string]bool
	// Subnets are the project's, by ID, if the place of the load balancer depends on them: see model.Desired.NeedsSubnets.
	Subnets map[string]api.Subnet
	// KeepFloatingIP is the Service's annotation about its floating IP; nil if it is not set.
	KeepFloatingIP *bool
	// TagsDenied is set if Neutron denied tags of floating IPs last, TagsWait until they are tried again.
	TagsDenied, TagsWait bool
	// Project are all floating IPs of the project, by ID: one of them may have the address that the Service
	// names.
	Project map[string]api.FloatingIP
}

// NeedsMembers reports whether only members can prove whose load balancer it is.
func (o Observed) NeedsMembers() bool {
	if o.LoadBalancer == nil || o.Proven && !o.mayFollow {
		return false
	}
	isOfService := func(l api.Listener) bool { return len(names.Services(l.Tags)) > 0 }
	return strings.HasPrefix(o.LoadBalancer.Name, names.LoadBalancerPrefix) ||
		len(names.Services(o.LoadBalancer.Tags)) > 0 || slices.ContainsFunc(o.Listeners, isOfService)
}

// Follow sets Followed if the members prove it.
func (o Observed) Follow(key Key) Observed {
	if lb := o.LoadBalancer; lb != nil && o.Followed == "" && key.followsMembers(*lb, o.Listeners, o.NodeListeners) {
		o.Followed = lb.ID
	}
	return o
}

// Pool is a pool with its members and health monitor.
type Pool struct {
	api.Pool
	Members []api.Member
	// Monitor is nil if there is none.
	Monitor *api.HealthMonitor
	// Checksum replaces the members if they were not read.
	Checksum string
	// RefusedMethod is an algorithm that Octavia has refused for the pool.
	RefusedMethod string
}

// Depth selects the objects to read.
type Depth struct {
	// Authoritative reads from the cloud, bypassing the snapshot.
	Authoritative bool
	// Members includes the members of the pools, and how they are probed.
	Members bool
	// Groups includes the security groups that open node ports.
	Groups bool
	// Left includes load balancers that the Service shared before.
	Left bool
	// complete is set if lists cannot show more than the snapshot.
	complete bool
	// Checksums are those of the members, from the Service's annotation.
	Checksums Checksums
}

// EncodeChecksums returns the annotation; false if not all members are known, or none were read.
func EncodeChecksums(pools []Pool) (string, bool) {
	var items []string
	for _, p := range pools {
		if p.Checksum != "" {
			return "", false // the annotation is up to date
		}
		ids := make([]string, len(p.Members))
		for i, m := range p.Members {
			if m.ID == "" {
				return "", false
			}
			ids[i] = m.ID
		}
		items = append(items, poolKey(p.ID)+":"+sum(ids)+":"+MemberChecksum(p.Members))
	}
	slices.Sort(items)
	return strings.Join(items, ","), len(items) > 0
}
