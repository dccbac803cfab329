// Package world is what the conformance suite sees of a cloud. It stands apart from the suite, so
// that a simulator that is linked into a shipped program does not bring package testing with it.
package world

import (
	"cmp"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// World is the cloud under test, seen from outside: what a person with the cloud's console could
// do and see. Every provider's simulator implements it. It is safe for concurrent use, and its
// methods never show up in the Front's call log.
type World interface {
	// Launch starts a machine and returns the node that its kubelet would register: name, and
	// pod CIDRs; no provider ID, no addresses but the host name.
	Launch(m Machine) (*v1.Node, error)
	// Machine returns what was launched, with the fields that the cloud chose filled in.
	Machine(nodeName string) (Machine, error)
	// Terminate makes a machine vanish; Stop powers it off.
	Terminate(nodeName string) error
	Stop(nodeName string) error
	// LoadBalancers returns what exists, in portable terms, sorted by name.
	LoadBalancers() []LoadBalancer
	// DeleteLoadBalancer removes a load balancer behind the manager's back, leaving its orphans.
	DeleteLoadBalancer(name string) error
	// Drift changes one field of the load balancer by hand and returns the name by which a plan calls it.
	Drift(name string) (fields []string, err error)
	// Routes returns the routes in the cluster's tables, sorted by destination.
	Routes() []Route
	// AddForeignRoute adds a route that is not ours.
	AddForeignRoute(destination string) error
	// Objects counts everything that exists by kind, so that leaks and doubles show. Machines
	// are among them; kinds of which nothing exists may be absent.
	Objects() map[string]int
	// Front is the simulator's kit: faults and call log.
	Front() *sim.Front
}

// Machine is what to launch. Empty fields are chosen by the cloud.
type Machine struct {
	Name, Zone, Type string
	// Region is only read.
	Region   string
	PodCIDRs []string
}

// Node returns what the machine's kubelet registers under --cloud-provider=external, and what Launch returns.
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
	// Addresses are what the Service's status should list, IP addresses or host names.
	Addresses []string
	Listeners []Listener
}

// Listener is one port of a load balancer.
type Listener struct {
	Protocol v1.Protocol
	Port     int32
	// SourceRanges that may connect; empty, or all of 0.0.0.0/0, for everyone.
	SourceRanges []string
	// Members are the node names that receive traffic, sorted, and the port they receive it on.
	Members    []string
	MemberPort int32
}

// SortLoadBalancers puts load balancers, their listeners and the listeners' members in order.
func SortLoadBalancers(list []LoadBalancer) {
	slices.SortFunc(list, func(a, b LoadBalancer) int { return cmp.Compare(a.Name, b.Name) })
	for _, lb := range list {
		slices.SortFunc(lb.Listeners, func(a, b Listener) int {
			return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
		})
		for _, l := range lb.Listeners {
			slices.Sort(l.Members)
		}
	}
}

// SortRoutes puts routes in order. Their destinations are prefixes in canonical form.
func SortRoutes(list []Route) {
	slices.SortFunc(list, func(a, b Route) int {
		return netip.MustParsePrefix(a.Destination).Compare(netip.MustParsePrefix(b.Destination))
	})
}

// Route is a route in portable terms.
type Route struct {
	Destination, NodeName string
	Blackhole, Owned      bool
}
