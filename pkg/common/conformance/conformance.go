// Package conformance is one list of scenarios that every provider must pass. The scenarios
// speak of Kubernetes objects and of a cloud's world; drivers bind them to a provider in process
// (fast, every fault at every call) or to a real API server and the real binary.
package conformance

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// World is the cloud under test, seen from outside: what a person with the cloud's console could
// do and see. Every provider's simulator implements it.
type World interface {
	// Launch starts a machine and returns the node that its kubelet would register.
	Launch(m Machine) (*v1.Node, error)
	// Terminate makes a machine vanish; Stop powers it off.
	Terminate(nodeName string) error
	Stop(nodeName string) error
	// LoadBalancers returns what exists, in portable terms, sorted by name.
	LoadBalancers() []LoadBalancer
	// DeleteLoadBalancer removes a load balancer behind the manager's back, leaving its leftovers.
	DeleteLoadBalancer(name string) error
	// Drift changes one field of the load balancer by hand and returns the name by which a plan calls it.
	Drift(name string) (fields []string, err error)
	// Routes returns the routes in the cluster's tables, sorted by destination.
	Routes() []Route
	// AddForeignRoute adds a route that is not ours.
	AddForeignRoute(destination string) error
	// Objects counts everything that exists by kind, so that leaks and doubles show.
	Objects() map[string]int
	// Front is the simulator's kit: faults and call log.
	Front() *sim.Front
}

// Machine is what to launch.
type Machine struct {
	Name, Zone, Type string
	PodCIDRs         []string
}

// LoadBalancer is a load balancer in portable terms.
type LoadBalancer struct {
	Name      string
	Internal  bool
	Addresses []string
	Listeners []Listener
}

// Listener is one port of a load balancer.
type Listener struct {
	Protocol     v1.Protocol
	Port         int32
	SourceRanges []string
	// Members are the node names that receive traffic, sorted, and the port they receive it on.
	Members    []string
	MemberPort int32
}

// Route is a route in portable terms.
type Route struct {
	Destination, NodeName string
	Blackhole, Owned      bool
}

// Cluster is the Kubernetes side, as a driver provides it.
type Cluster interface {
	// AddNode registers the node as its kubelet would with an external cloud provider.
	AddNode(ctx context.Context, node *v1.Node) error
	// SetReady sets the node's Ready condition.
	SetReady(ctx context.Context, nodeName string, ready bool) error
	// Node returns the node, or nil if it is gone.
	Node(ctx context.Context, nodeName string) (*v1.Node, error)
	// PutService creates or updates a Service; the driver assigns node ports.
	PutService(ctx context.Context, service *v1.Service) error
	DeleteService(ctx context.Context, namespace, name string) error
	// Service returns the Service, or nil if it is gone.
	Service(ctx context.Context, namespace, name string) (*v1.Service, error)
	// Events returns "Reason: message" of the object's Events.
	Events(ctx context.Context, kind, namespace, name string) ([]string, error)
	// Settle runs the controllers until they have nothing left to do. It returns the errors of
	// the last round, joined.
	Settle(ctx context.Context) error
	// Restart replaces the manager by a new one with an empty memory.
	Restart(ctx context.Context) error
}
