// Package loadbalancer is the one path from a Service to a load balancer, shared by every
// cloud: intent → desired → diff → plan → apply. A cloud fills in the Cloud interface; the
// Controller of this package implements cloudprovider.LoadBalancer over it.
package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Key identifies the load balancer of one Service.
type Key struct {
	// ClusterName is the --cluster-name flag.
	ClusterName string
	// ClusterUID distinguishes clusters that have the same name; empty when unknown.
	ClusterUID string
	Namespace  string
	Name       string
	UID        types.UID
}

// Subject returns the name of the Service in plans, Events and errors.
func (k Key) Subject() string { return "Service " + k.Namespace + "/" + k.Name }

// Reference is what a Service says about which load balancer it uses. It may differ between two calls for one
// load balancer and is not part of its identity.
type Reference struct {
	// Class is the kind of load balancer that the Service selects, on a cloud with several kinds.
	Class string
	// ID is an existing load balancer that the Service names.
	ID string
	// KeepAddress is whether the public address outlives the Service; nil if the Service does not say.
	KeepAddress *bool
}

// Freshness is how current an observation must be.
type Freshness int

const (
	// Cached allows an answer from a shared snapshot within its maximum age. The snapshot includes
	// what the cloud answered to our own changes; after a change with an uncertain outcome, the
	// next Cached observation is a read.
	Cached Freshness = iota
	// Authoritative requires a read of this load balancer from the cloud: needed before
	// anything is created, deleted or declared missing.
	Authoritative
)

// Depth is how much an observation covers.
type Depth int

const (
	// Full covers all settings that Diff compares.
	Full Depth = iota
	// Existence covers what is needed to delete the load balancer: which objects exist and who owns them.
	Existence
)

// Request describes one observation.
type Request[D any] struct {
	Key       Key
	Reference Reference
	// Want is the desired state that the observation is compared with; nil if nothing should exist or if it is
	// unknown. A cloud may skip reading what its applied record proves to equal Want.
	Want      *D
	Depth     Depth
	Freshness Freshness
}

// Status is what a Service should say about its load balancer.
type Status struct {
	// LoadBalancer is the Service's status.loadBalancer; nil while there is no load balancer.
	LoadBalancer *v1.LoadBalancerStatus
	// Annotations are set on the Service once its load balancer matches the desired state.
	Annotations map[string]string
	// Failure explains a state in which the load balancer never gets an address, and how to fix it. It is the
	// end of a sentence that starts with the load balancer's name: "could not be set up (no free address):
	// delete …". Empty in all other states, including those that the cloud leaves on its own.
	Failure string
}

// Cloud is what one cloud implements. S is the state that Services share and do not own, D the desired
// objects of one Service, O the existing ones. Only SharedState and Observe do I/O; neither changes anything.
type Cloud[S, D, O any] interface {
	// Name returns the load balancer's name in the cloud. It can never change for a Service.
	Name(key Key) string
	// Reference reads from a Service's annotations which load balancer it uses. It is pure.
	Reference(service *v1.Service) Reference
	// SharedState reads subnets, networks and the instances behind the nodes that may receive traffic.
	SharedState(ctx context.Context, nodes []*v1.Node) (S, error)
	// Validate returns all problems of the cloud's own annotations, joined. The Service may have other
	// problems; Desired is not called for an invalid Service.
	Validate(in intent.Service) error
	// Desired computes the objects that should exist. It is pure and returns all problems joined. Nodes
	// are those that may receive traffic.
	Desired(key Key, in intent.Service, nodes []*v1.Node, shared S) (D, error)
	// Observe reads what exists of one load balancer, including orphans without a load balancer.
	Observe(ctx context.Context, request Request[D]) (O, error)
	// Diff returns the changes from have to want. It is pure. A nil want means that nothing should exist.
	// Refusals (another cluster's object, a change that cannot be made in place) are errors, before the
	// first change. With a nil want, objects of other owners and objects to keep are left out instead of
	// refused: a Service can always be deleted, and an empty plan means that nothing of it is left.
	Diff(key Key, want *D, have O) (plan.Plan, error)
	// DiffMembers returns the changes of members alone that lead from have to the nodes: what exists of the Service's
	// load balancer keeps all settings. It is pure. Annotations of in that cannot be parsed are ignored, except for
	// those that select nodes, which are an error. Each change bears the name of its pool, as the pool's deletion does.
	DiffMembers(key Key, in intent.Service, nodes []*v1.Node, shared S, have O) (plan.Plan, error)
	// Status returns what the Service should say. It is pure. Annotations of in that cannot be parsed are ignored.
	Status(in intent.Service, have O) Status
}

// Keeper is implemented by a Cloud whose plans replace objects. If a replacement is held, the object that exists stays,
// and its members must follow the nodes all the same.
type Keeper[D, O any] interface {
	// DiffKeeping is Diff without the held changes: what they would delete stays and gets the other changes.
	DiffKeeping(key Key, want *D, have O, held []plan.Held) (plan.Plan, error)
}

// ClassFilter is implemented by a Cloud whose Services may select load balancers of other controllers.
type ClassFilter interface {
	// Handles reports whether this manager makes the Service's load balancer. It does no I/O. If not, Ensure
	// and Update return cloudprovider.ImplementedElsewhere and change nothing; a load balancer that this
	// manager made earlier is still reported by GetLoadBalancer and removed by EnsureLoadBalancerDeleted.
	Handles(service *v1.Service) bool
}

// Interface is implemented by the load balancers of every provider.
type Interface interface {
	cloudprovider.LoadBalancer
	Planner
	Auditor
}

// Planner computes plans.
type Planner interface {
	// PlanLoadBalancer returns what EnsureLoadBalancer would change or, with remove set, what
	// EnsureLoadBalancerDeleted would. It makes no mutating call.
	PlanLoadBalancer(ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node,
		remove bool) (plan.Plan, error)
}
