package sim

import (
	"net/netip"
	"time"
)

// state has all objects, by ID, or by ARN or name where that is the identity.
type state struct {
	vpcs       map[string]*vpc
	subnets    map[string]*subnet
	tables     map[string]*routeTable
	groups     map[string]*securityGroup
	instances  map[string]*instance
	interfaces map[string]*networkInterface
	addresses  map[string]*elasticIP
	// balancers, listeners and targetGroups are those of the second generation, by ARN.
	balancers    map[string]*balancer
	listeners    map[string]*listener
	targetGroups map[string]*targetGroup
	// classics are load balancers of the first generation, by name.
	classics map[string]*classic
	sessions map[string]session
	// tags of every object, by its ID, ARN, or "classic/" and its name.
	tags map[string]map[string]string
	// visibleAt is when reads begin to show an object.
	visibleAt map[string]time.Time
	// allocated counts addresses given out, by subnet ID or pool.
	allocated map[string]int
	// launches are reservations by the client token of the request that made them.
	launches map[string]string
	// linkedRole is the role by which Elastic Load Balancing acts; the first load balancer makes it.
	linkedRole bool
	// unhealthy are the nodes that fail health checks.
	unhealthy map[string]bool
	// selfID is the instance that the metadata service belongs to; empty is the oldest one.
	selfID string
	made   int
}

func newState() *state {
	return &state{
		vpcs: map[string]*vpc{}, subnets: map[string]*subnet{}, tables: map[string]*routeTable{},
		groups: map[string]*securityGroup{}, instances: map[string]*instance{},
		interfaces: map[string]*networkInterface{}, addresses: map[string]*elasticIP{},
		balancers: map[string]*balancer{}, listeners: map[string]*listener{}, targetGroups: map[string]*targetGroup{},
		classics: map[string]*classic{}, sessions: map[string]session{}, tags: map[string]map[string]string{},
		visibleAt: map[string]time.Time{}, allocated: map[string]int{}, unhealthy: map[string]bool{},
		launches: map[string]string{},
	}
}

type vpc struct {
	id         string
	cidr       netip.Prefix
	cidr6      netip.Prefix
	dhcp       string
	isDefault  bool
	gatewayID  string
	natGateway string
}

type subnet struct {
	id, vpc, zone string
	cidr, cidr6   netip.Prefix
	mapPublic     bool
	assign6       bool
}

type instance struct {
	id, reservation, image, kind string
	// order is the number of the launch.
	order   int
	subnet  string
	vpc     string
	zone    string
	dnsName string
	// enis are its network interfaces by device index.
	enis []string
	// nodeName is how the cluster calls it.
	nodeName string
	podCIDRs []string
	// state is the last requested one; stateOf adds the effect of time.
	state        string
	launched     time.Time
	terminated   time.Time
	checkTraffic bool
	// profile is the name of the instance profile and of the role in it.
	profile     string
	key         string
	credentials instanceCredentials
}

type networkInterface struct {
	id, subnet, vpc, zone string
	// instance and device say where it is attached; empty for those that are not, or to a load balancer.
	instance, attachment string
	device               int
	attached             time.Time
	mac, description     string
	kind, requester      string
	private              []netip.Addr
	ipv6                 []netip.Addr
	// primaryIPv6 makes the first IPv6 address the primary one, for as long as the interface is attached.
	primaryIPv6  bool
	prefixes     []netip.Prefix
	publicIP     netip.Addr
	groups       []string
	checkTraffic bool
	// releaseAt is when AWS removes the interface of a load balancer that was deleted.
	releaseAt time.Time
}

type elasticIP struct {
	id          string
	ip          netip.Addr
	association string
	iface       string
}

// advance deletes the objects that have expired by now.
func (t *tx) advance() {
	for id, i := range t.instances {
		if i.state == stateTerminated && !t.now.Before(i.terminated.Add(max(t.o.TerminatedTime, 0))) {
			delete(t.instances, id)
			t.removeRecords(id)
		}
	}
	for id, n := range t.interfaces {
		if !n.releaseAt.IsZero() && !t.now.Before(n.releaseAt) {
			delete(t.interfaces, id)
			t.removeRecords(id)
		}
	}
}

// removeRecords deletes the tags and the visibility time of an object.
func (t *tx) removeRecords(id string) {
	delete(t.tags, id)
	delete(t.visibleAt, id)
}

func has[T any](m map[string]T, id string) bool {
	_, ok := m[id]
	return ok
}
