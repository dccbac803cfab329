// Package conformance is one list of scenarios that every provider must pass. The scenarios use Kubernetes
// objects and a cloud's world; drivers bind them to a provider in process (fast, every fault at every call)
// or to a real API server and the real binary.
//
// A provider's test is three lines:
//
//	func TestConformance(t *testing.T) { conformance.Run(t, subject) }
//	func TestFaults(t *testing.T)      { conformance.RunFaults(t, subject) }
//
// In process, every scenario runs inside a testing/synctest bubble: time.Now, timers and clock.RealClock are
// a fake clock that advances only when every goroutine waits. Confirmation intervals, provisioning times and
// the backoff inside SDKs therefore take no time, and no clock has to be injected. The code of a Subject must
// follow the bubble's two rules: no sockets (use sim.Front's Transport), and no goroutine may outlive the
// world or the manager's stop channel.
package conformance

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// ClusterName is the --cluster-name under which every driver runs the manager.
const ClusterName = "conformance"

// ClusterCIDR is the --cluster-cidr under which every driver runs the manager. The route controller
// ignores routes outside of it.
const ClusterCIDR = "10.244.0.0/16"

// The cloud under test, as package world describes it.
type (
	// World is the whole cloud.
	World = world.World
	// Machine is a machine to launch.
	Machine = world.Machine
	// LoadBalancer is a load balancer in portable terms.
	LoadBalancer = world.LoadBalancer
	// Listener is one port of a load balancer.
	Listener = world.Listener
	// Route is a route in portable terms.
	Route = world.Route
)

// ManagerOptions configure the manager under test.
type ManagerOptions struct {
	// DryRun is the --dry-run flag.
	DryRun bool
	// Disruption is the --load-balancer-disruption flag.
	Disruption provider.DisruptionPolicy
	// OtherDefaults starts the manager with a configuration that differs in keys for new load balancers.
	OtherDefaults bool
	// LeadingSince is provider.Runtime.LeadingSince. Drivers that start a whole manager ignore it.
	LeadingSince string
}

// Started returns the guards' option of that name.
func (o ManagerOptions) Started() string { return o.LeadingSince }

// TakeOver prepares a world for a manager that takes it over from another one. Its calls reach the cloud directly:
// they are not in the world's log, and meet no faults.
type TakeOver struct {
	// Create creates, with the cloud's API, what the other manager of this cloud leaves for a Service and its nodes.
	Create func(ctx context.Context, w World, svc *v1.Service, nodes []*v1.Node) (ServiceUpdate, error)
	// ReadsPerLoadBalancer is the number of calls of the first sync for each load balancer with two ports, beside one
	// list of each kind of objects; 0 means defaultReads.
	ReadsPerLoadBalancer int
	// Discover adds subnets or networks that discovery may prefer to those in use; may be nil.
	Discover func(World) error
	// SetFailed sets the state of a load balancer to a failed one, or back; nil on a cloud without such a state.
	SetFailed func(w World, name string, failed bool) error
}

// ServiceUpdate is what another manager has written to a Service.
type ServiceUpdate struct {
	Annotations map[string]string
	Status      v1.LoadBalancerStatus
}

// ErrUnsettled is wrapped by the error of Settle if the controllers never settle, or the manager has ended.
var ErrUnsettled = errors.New("not settled")

// Cluster is the Kubernetes side, as a driver provides it.
type Cluster interface {
	// AddNode registers the node as its kubelet would with an external cloud provider: Ready, and
	// with the uninitialized taint.
	AddNode(ctx context.Context, node *v1.Node) error
	// SetReady sets the node's Ready condition.
	SetReady(ctx context.Context, nodeName string, ready bool) error
	// SetAddresses replaces the addresses in the node's status, as its kubelet can.
	SetAddresses(ctx context.Context, nodeName string, addresses []v1.NodeAddress) error
	// Node returns the node, or nil if it is deleted.
	Node(ctx context.Context, nodeName string) (*v1.Node, error)
	// DeleteNode removes the node object, as an administrator would.
	DeleteNode(ctx context.Context, nodeName string) error
	// PutService creates or updates a Service; the driver assigns node ports.
	PutService(ctx context.Context, service *v1.Service) error
	DeleteService(ctx context.Context, namespace, name string) error
	// SetServiceStatus replaces the status of the Service, as another manager does.
	SetServiceStatus(ctx context.Context, namespace, name string, status v1.ServiceStatus) error
	// Service returns the Service, or nil if it is deleted.
	Service(ctx context.Context, namespace, name string) (*v1.Service, error)
	// Events returns "Reason: message" of the object's Events.
	Events(ctx context.Context, kind, namespace, name string) ([]string, error)
	// Plan returns the manager's plan for the Service, as `ccm plan` shows it. Its changes have no functions.
	Plan(ctx context.Context, namespace, name string) (plan.Plan, error)
	// Settle runs the controllers until they have no more work, as far as the driver can detect. It returns the
	// errors of the last round, joined, or an ErrUnsettled.
	Settle(ctx context.Context) error
	// Restart replaces the manager by a new one with empty caches.
	Restart(ctx context.Context, o ManagerOptions) error
}

// TimeSkipper is implemented by a Cluster that can skip minutes.
type TimeSkipper interface {
	// SkipTime lets time pass, for the deferred work of an idle manager, such as writing applied records into tags.
	SkipTime(ctx context.Context, d time.Duration) error
}
