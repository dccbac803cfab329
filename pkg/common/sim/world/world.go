// Package world is the conformance suite's view of a cloud. It is separate from the suite, so that a
// simulator in a shipped program does not link package testing.
package world

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// World is the cloud under test, seen from outside, as a user of the cloud's console sees it. Every
// provider's simulator implements it. It is safe for concurrent use, and its methods do not appear in the
// Front's call log.
type World interface {
	// Launch starts a machine and returns the node that its kubelet would register: name, and pod CIDRs; no
	// provider ID, no addresses except the host name.
	Launch(m Machine) (*v1.Node, error)
	// Machine returns the launched machine, with the fields that the cloud chose.
	Machine(nodeName string) (Machine, error)
	// Terminate terminates a machine; Stop powers it off.
	Terminate(nodeName string) error
	Stop(nodeName string) error
	// LoadBalancers returns the existing load balancers, in portable terms, sorted by name.
	LoadBalancers() []LoadBalancer
	// DeleteLoadBalancer removes a load balancer as another client would, leaving its orphans.
	DeleteLoadBalancer(name string) error
	// Drift changes one field of the load balancer by hand and returns its name in plans.
	Drift(name string) (fields []string, err error)
	// Routes returns the routes in the cluster's tables, sorted by destination.
	Routes() []Route
	// AddForeignRoute adds a route that the manager does not own.
	AddForeignRoute(destination string) error
	// Objects counts the existing objects by kind, so that leaks and duplicates show. Machines are among them;
	// kinds without objects may be absent.
	Objects() map[string]int
	// Front is the simulator's front: faults and call log.
	Front() *sim.Front
}

// InternalIPs is implemented by the worlds whose machines a real kubelet can stand for: it has their addresses.
type InternalIPs interface {
	// InternalIP returns the first internal address of a machine.
	InternalIP(nodeName string) (string, error)
}

// HostNameFirst is implemented by the worlds of clouds that list the host name of a node before its IP addresses. All
// others list the internal IP address first.
type HostNameFirst interface {
	HostNameFirst()
}

// PortKeeper is implemented by the worlds of clouds whose load balancers deliver packets as they are: members receive
// traffic on the port of the Service, and the MemberPort of listeners is 0.
type PortKeeper interface {
	KeepsPorts()
}

// ZoneDisrupter is implemented by worlds with availability zones that can be disrupted.
type ZoneDisrupter interface {
	// Zones returns at least two availability zones.
	Zones() []string
	// DisruptZones makes the cloud's API answer as its documentation says for a disruption of these zones. Without any
	// it ends.
	DisruptZones(zones ...string)
}

// Machine is a machine to launch. The cloud chooses empty fields.
type Machine struct {
	Name, Zone, Type string
	// Region is read-only.
	Region   string
	PodCIDRs []string
}

// Node returns the node that the machine's kubelet registers under --cloud-provider=external, and that Launch
// returns.
func (m Machine) Node() *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: map[string]string{
			v1.LabelHostname: m.Name, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
		}},
		Spec: v1.NodeSpec{
			PodCIDRs: slices.Clone(m.PodCIDRs),
			Taints: []v1.Taint{{
				Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule,
			}},
		},
		Status: v1.NodeStatus{
			Addresses:  []v1.NodeAddress{{Type: v1.NodeHostName, Address: m.Name}},
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
	if len(m.PodCIDRs) > 0 {
		node.Spec.PodCIDR = m.PodCIDRs[0]
	}
	return node
}

// LoadBalancer is a load balancer in portable terms.
type LoadBalancer struct {
	Name     string
	Internal bool
	// Addresses are the expected addresses in the Service's status, IP addresses or host names.
	Addresses []string
	Listeners []Listener
}

// Listener is one port of a load balancer.
type Listener struct {
	Protocol v1.Protocol
	Port     int32
	// SourceRanges that may connect; empty, or all of 0.0.0.0/0, for all clients.
	SourceRanges []string
	// Members are the node names that receive traffic, sorted, and the port they receive it on: 0 if packets keep the
	// load balancer's address and port as their destination.
	Members    []string
	MemberPort int32
	// TLS is set if the load balancer terminates TLS, ForwardedHeaders if it adds the X-Forwarded headers.
	TLS, ForwardedHeaders bool
	// Draining is the time that connections to a leaving member have; 0 if it is the cloud's default.
	Draining time.Duration
}

// SourceRanges returns the source ranges of a listener that only these networks may reach, sorted and each once.
// Without any it returns a word that is not a network, because an empty list means all clients.
func SourceRanges(networks []string) []string {
	if len(networks) == 0 {
		return []string{"none"}
	}
	return slices.Compact(slices.Sorted(slices.Values(networks)))
}

// SortLoadBalancers sorts load balancers, their listeners and the listeners' members.
func SortLoadBalancers(list []LoadBalancer) {
	sorting.Func(list, func(a, b LoadBalancer) int { return cmp.Compare(a.Name, b.Name) })
	for _, lb := range list {
		sorting.Func(lb.Listeners, func(a, b Listener) int {
			return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
		})
		for _, l := range lb.Listeners {
			slices.Sort(l.Members)
		}
	}
}

// SortRoutes sorts routes. Their destinations are prefixes in canonical form.
func SortRoutes(list []Route) {
	sorting.Func(list, func(a, b Route) int {
		return netip.MustParsePrefix(a.Destination).Compare(netip.MustParsePrefix(b.Destination))
	})
}

// Route is a route in portable terms.
type Route struct {
	Destination, NodeName string
	Blackhole, Owned      bool
}
