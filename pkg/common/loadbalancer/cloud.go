// Package loadbalancer is the one path from a Service to a load balancer, shared by every
// cloud: intent → desired → diff → plan → apply. A cloud fills in the Cloud interface; the
// Controller of this package implements cloudprovider.LoadBalancer over it.
package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Key identifies the load balancer of one Service.
type Key struct {
	// ClusterName is the --cluster-name flag.
	ClusterName string
	// ClusterUID tells clusters of one name apart; empty when unknown.
	ClusterUID string
	Namespace  string
	Name       string
	UID        types.UID
	// Hint is what a Cloud that is a Hinter wants to know of the Service besides. It may differ
	// between two calls for one load balancer, and is no part of its identity.
	Hint string
}

// Freshness says how old an observation may be.
type Freshness int

const (
	// Cached allows an answer from a shared snapshot within its age limit. The snapshot must hold
	// what the cloud answered to our own changes; after one that failed, or whose outcome is
	// unclear, the next Cached must be a read.
	Cached Freshness = iota
	// Authoritative demands a read of this load balancer from the cloud: needed before
	// anything is created, deleted or declared missing.
	Authoritative
)

// Cloud is what one cloud knows about load balancers. S are the surroundings that Services share
// and do not own, D the objects that should exist, O those that do.
type Cloud[S, D, O any] interface {
	// Name is the load balancer's name in the cloud. It is pure, and can never change for a Service.
	Name(key Key) string
	// Surroundings reads subnets, networks, node groups. It never mutates.
	Surroundings(ctx context.Context) (S, error)
	// Desired is pure and returns all problems joined. Nodes are the ones that may receive traffic.
	Desired(key Key, in intent.Service, nodes []*v1.Node, around S) (D, error)
	// Observe reads what exists of this load balancer, leftovers without a load balancer included.
	Observe(ctx context.Context, key Key, fresh Freshness) (O, error)
	// Diff is pure. A nil want means that nothing should exist. Refusals (another cluster's
	// object, a change that cannot be made in place) are errors, before the first change. With a
	// nil want, objects that are not ours are left out instead of refused, and so are objects
	// that are to be kept: a Service can always be deleted, and an empty plan means that nothing
	// of it is left.
	Diff(key Key, want *D, have O) (plan.Plan, error)
	// Status is what the Service's status should say. It is nil while there is no load balancer.
	Status(in intent.Service, have O) *v1.LoadBalancerStatus
}

// Planner is implemented by every LoadBalancer built by this package: it computes what Ensure
// (or, with nodes nil and remove set, EnsureDeleted) would do, and makes no mutating call.
type Planner interface {
	PlanLoadBalancer(ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node, remove bool) (plan.Plan, error)
}
