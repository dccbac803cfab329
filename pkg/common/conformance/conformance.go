// Package conformance is one list of scenarios that every provider must pass. The scenarios
// speak of Kubernetes objects and of a cloud's world; drivers bind them to a provider in process
// (fast, every fault at every call) or to a real API server and the real binary.
//
// A provider's test is three lines:
//
//	func TestConformance(t *testing.T) { conformance.Run(t, subject) }
//	func TestFaults(t *testing.T)      { conformance.RunFaults(t, subject) }
//
// In process, every scenario runs inside a testing/synctest bubble: time.Now, timers and
// clock.RealClock are a fake clock that moves on only when every goroutine waits. Confirmation
// intervals, provisioning times and the back-off inside SDKs therefore pass at once, and no clock
// has to be injected. What a Subject builds must keep to the bubble's two rules: no sockets (use
// sim.Front's Transport), and no goroutine may outlive the world or the manager's stop channel.
package conformance

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// ClusterName is the --cluster-name under which every driver runs the manager.
const ClusterName = "conformance"

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
	// DeleteLoadBalancer removes a load balancer behind the manager's back, leaving its leftovers.
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

// Route is a route in portable terms.
type Route struct {
	Destination, NodeName string
	Blackhole, Owned      bool
}

// ManagerOptions say how the manager under test is started.
type ManagerOptions struct {
	// DryRun is the --dry-run flag.
	DryRun bool
}

// Cluster is the Kubernetes side, as a driver provides it.
type Cluster interface {
	// AddNode registers the node as its kubelet would with an external cloud provider: Ready, and
	// with the uninitialized taint.
	AddNode(ctx context.Context, node *v1.Node) error
	// SetReady sets the node's Ready condition.
	SetReady(ctx context.Context, nodeName string, ready bool) error
	// Node returns the node, or nil if it is gone.
	Node(ctx context.Context, nodeName string) (*v1.Node, error)
	// DeleteNode removes the node object, as an administrator would.
	DeleteNode(ctx context.Context, nodeName string) error
	// PutService creates or updates a Service; the driver assigns node ports.
	PutService(ctx context.Context, service *v1.Service) error
	DeleteService(ctx context.Context, namespace, name string) error
	// Service returns the Service, or nil if it is gone.
	Service(ctx context.Context, namespace, name string) (*v1.Service, error)
	// Events returns "Reason: message" of the object's Events.
	Events(ctx context.Context, kind, namespace, name string) ([]string, error)
	// Plan returns what the manager would change for the Service, as `ccm plan` shows it. Changes
	// of the answer carry no functions.
	Plan(ctx context.Context, namespace, name string) (plan.Plan, error)
	// Settle runs the controllers until they have nothing left to do, as far as the driver can
	// tell. It returns the errors of the last round, joined.
	Settle(ctx context.Context) error
	// Restart replaces the manager by a new one with an empty memory.
	Restart(ctx context.Context, o ManagerOptions) error
}
