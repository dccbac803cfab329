package classic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Protocols as the API writes them.
const (
	protocolTCP   = "TCP"
	protocolSSL   = "SSL"
	protocolHTTP  = "HTTP"
	protocolHTTPS = "HTTPS"
)

// Schemes as the API writes them.
const (
	schemePublic   = "internet-facing"
	schemeInternal = "internal"
)

// groupHandle identifies the managed security group in a plan before it exists.
const groupHandle plan.Handle = "security group"

// Balancer is an existing classic load balancer. Its name is its identity.
type Balancer struct {
	Name, DNS, Scheme, VPC string
	Listeners              []Listener
	// Policies are the names of all its policies, Sticky of those for sticky sessions.
	Policies, Sticky []string
	// Backends are the policies of node ports.
	Backends    map[int32][]string
	Subnets     []string
	Groups      []string
	Instances   []string
	HealthCheck HealthCheck
	Attributes  Attributes
	Tags        map[string]string
	Created     time.Time
}

// encrypted returns the encrypted listener that becomes a desired one or is replaced by it, or else the desired one as
// it will be created.
func (b Balancer) encrypted(want Listener) Listener {
	for _, l := range b.Listeners {
		if l.Port == want.Port && l.encrypted() {
			return l
		}
	}
	return want
}

// forwardsTo reports whether a listener forwards to a node port.
func (b Balancer) forwardsTo(port int32) bool {
	return slices.ContainsFunc(b.Listeners, func(l Listener) bool { return l.InstancePort == port })
}

// changeListener changes one listener in a copy of the list.
func (b *Balancer) changeListener(port int32, change func(*Listener)) {
	b.Listeners = slices.Clone(b.Listeners)
	for i := range b.Listeners {
		if b.Listeners[i].Port == port {
			change(&b.Listeners[i])
		}
	}
}

// setBackend changes the policies of one node port in a copy of the map.
func (b *Balancer) setBackend(port int32, policies []string) {
	backends := map[int32][]string{}
	maps.Copy(backends, b.Backends)
	backends[port] = policies
	b.Backends = backends
}

// Listener is one port of a classic load balancer.
type Listener struct {
	Protocol         string
	Port             int32
	InstanceProtocol string
	InstancePort     int32
	// Certificate is the ARN for SSL and HTTPS.
	Certificate string
	// Policies are those of an existing listener; they are not part of the desired state.
	Policies []string
	// Removed is set if the listener was deleted for another one that does not exist yet.
	Removed bool `json:"-"`
}

// String formats the listener for users.
func (l Listener) String() string {
	return fmt.Sprintf("%s %d → %s %d", l.Protocol, l.Port, l.InstanceProtocol, l.InstancePort)
}

func (l Listener) encrypted() bool { return l.Protocol == protocolSSL || l.Protocol == protocolHTTPS }

// sameImmutableFields reports whether two listeners differ at most in fields that can be changed in place.
func (l Listener) sameImmutableFields(other Listener) bool {
	return l.Protocol == other.Protocol && l.Port == other.Port && l.InstanceProtocol == other.InstanceProtocol &&
		l.InstancePort == other.InstancePort
}

// hasPort reports whether one of the listeners has a port.
func hasPort(listeners []Listener, port int32) bool {
	return slices.ContainsFunc(listeners, func(l Listener) bool { return l.Port == port })
}

func compareListeners(a, b Listener) int { return cmp.Compare(a.Port, b.Port) }

// Attributes are those of a classic load balancer. Times are in seconds. In the desired state, a zero number
// and an empty text mean that the value is not set; any other value of AWS is not compared then.
type Attributes struct {
	CrossZone bool
	AccessLog AccessLog
	Draining  bool
	// DrainTimeout matters while Draining.
	DrainTimeout int32
	IdleTimeout  int32
}

// AccessLog is the destination of connection logs. All fields but Enabled matter only while Enabled.
type AccessLog struct {
	Enabled bool
	// Interval is in minutes.
	Interval       int32
	Bucket, Prefix string
}

// HealthCheck is the one health check of a classic load balancer. Times are in seconds.
type HealthCheck struct {
	// Target is PROTOCOL:PORT, for HTTP and HTTPS followed by a path.
	Target                                string
	Interval, Timeout, Healthy, Unhealthy int32
}

// Observed has the existing objects of one Service's load balancer. Readers share it and must not modify it.
type Observed struct {
	// Balancer is nil if there is none.
	Balancer *Balancer
	// Groups are the cluster's security groups, and the one with the managed group's name.
	Groups vpc.Groups
}

// Request is the input of Desire.
type Request struct {
	Key     lbcommon.Key
	Service intent.Service
	Options annotation.Options
	// Instances are the IDs of the instances of nodes that may receive traffic.
	Instances []string
	Shared    vpc.SharedState
}

// unread returns the instances that EC2 cannot read: registered ones stay.
func (r Request) unread() []string { return slices.Sorted(maps.Keys(r.Shared.Unread)) }

// Desired are the objects that should exist for one Service.
type Desired struct {
	Name, Scheme string
	// Listeners by port.
	Listeners []Listener
	// TLSPolicy is AWS' policy that encrypted listeners refer to; "" for the default one.
	TLSPolicy string
	// ProxyProtocol reports whether nodes get a PROXY protocol header.
	ProxyProtocol bool
	HealthCheck   HealthCheck
	Attributes    Attributes
	// Subnets are IDs, sorted. Listed is set if the user chose them. Zones has the zone of every subnet of the VPC.
	Subnets []string
	Listed  bool
	Zones   map[string]string
	// Managed is the group created for this load balancer, nil if others are used. Groups are IDs of existing groups;
	// the managed one precedes them. Without a managed one, the first of this number of Sources may be the source in
	// the rules on nodes.
	Managed    *vpc.ManagedGroup
	Groups     []string
	Sources    int            `json:"-"`
	NodeGroups vpc.NodeGroups `json:"-"`
	// Instances are IDs, sorted. InstanceZones has their zones, by ID. Those of Unread stay if they are registered.
	Instances     []string
	Unread        []string          `json:"-"`
	InstanceZones map[string]string `json:"-"`
	Tags          map[string]string
	// Record is the applied record of this state.
	Record   lbcommon.AppliedRecord `json:"-"`
	Warnings []string
	// Reasons are the reasons of the Events about Warnings, for those with a reason other than the default.
	Reasons map[string]events.Reason `json:"-"`
	// Kept are differences whose existing values stay.
	Kept []plan.Difference `json:"-"`
	// probe returns the target of health checks if the listener of the port probed is another one.
	probe  func(Listener) string
	probed int32
	// Refusal refuses the creation of the load balancer. One that exists stays, with a warning.
	Refusal error `json:"-"`
}

// keeps reports whether the existing value of a field stays.
func (d Desired) keeps(kind, object, field string) bool {
	place := plan.Difference{Kind: kind, Object: object, Field: field}
	return slices.ContainsFunc(d.Kept, place.SamePlace)
}

// Name is the load balancer's name.
func Name(key lbcommon.Key) string { return names.LoadBalancerName(key.UID) }

// hasZone reports whether one of the subnets is in a zone.
func hasZone(subnets []string, zones map[string]string, zone string) bool {
	return slices.ContainsFunc(subnets, func(id string) bool { return zones[id] == zone })
}
