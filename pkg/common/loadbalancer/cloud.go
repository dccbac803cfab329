// Package loadbalancer reconciles the load balancer of a Service, in the same way for every cloud: intent →
// desired → diff → plan → apply. A cloud implements the interface Cloud; the Controller of this package
// implements cloudprovider.LoadBalancer over it.
package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Key identifies the load balancer of one Service.
type Key struct {
	// ClusterName is the --cluster-name flag.
	ClusterName string
	// ClusterUID distinguishes clusters of the same name; empty if unknown.
	ClusterUID string
	Namespace  string
	Name       string
	UID        types.UID
}

// Subject returns the name of the Service in plans, Events and errors.
func (k Key) Subject() string { return "Service " + k.Namespace + "/" + k.Name }

// Reference identifies the load balancer that a Service selects. It may differ between two calls for one load
// balancer and is not part of its identity.
type Reference struct {
	// Class is the kind of load balancer that the Service selects, on a cloud with several kinds.
	Class string
	// ID is an existing load balancer in an annotation of the Service.
	ID string
	// Addresses are the IP addresses and host names in the Service's status: only a manager of its cluster writes them.
	Addresses []string
	// KeepAddress reports whether the public address outlives the Service; nil if the Service does not set it.
	KeepAddress *bool
}

// Freshness is the required age of an observation.
type Freshness int

const (
	// Cached allows a shared snapshot within its max age. The snapshot includes the responses to our own
	// changes; after a change with an uncertain outcome, the next Cached observation is a read.
	Cached Freshness = iota
	// Authoritative requires a read of this load balancer from the cloud: needed before anything is created,
	// deleted or reported as missing.
	Authoritative
)

// Depth is the scope of an observation.
type Depth int

const (
	// Full covers all settings that Diff compares.
	Full Depth = iota
	// Existence covers what is needed to delete the load balancer: the existing objects and their owners.
	Existence
)

// Request describes one observation.
type Request[D any] struct {
	Key       Key
	Reference Reference
	// Want is the desired state for the comparison; nil if nothing should exist or if it is unknown. A cloud may
	// skip reads if its applied record proves that the load balancer equals Want.
	Want      *D
	Depth     Depth
	Freshness Freshness
}

// Status is the expected status of a Service.
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

// Cloud is the implementation of one cloud. S is the state that Services share and do not own, D the desired
// objects of one Service, O the existing ones. Only SharedState and Observe do I/O; neither changes anything.
type Cloud[S, D, O any] interface {
	// Name returns the load balancer's name in the cloud. It can never change for a Service.
	Name(key Key) string
	// Reference parses the Reference from a Service's annotations. It is pure.
	Reference(service *v1.Service) Reference
	// SharedState reads subnets, networks and the instances behind the nodes that may receive traffic.
	SharedState(ctx context.Context, nodes []*v1.Node) (S, error)
	// Validate returns all problems of the cloud's own annotations, joined. The Service may have other
	// problems; Desired is not called for an invalid Service.
	Validate(in intent.Service) error
	// Desired computes the objects that should exist. It is pure and returns all problems joined. Nodes
	// are those that may receive traffic.
	Desired(key Key, in intent.Service, nodes []*v1.Node, shared S) (D, error)
	// Observe reads the existing objects of one load balancer, including orphans without a load balancer.
	Observe(ctx context.Context, request Request[D]) (O, error)
	// Diff returns the changes from have to want. It is pure. A nil want means that nothing should exist.
	// Refusals (another cluster's object, a change that cannot be made in place) are errors, before the first
	// change; cloudprovider.ImplementedElsewhere refuses a load balancer that another controller has made. With
	// a nil want, objects of other owners and objects to keep are omitted instead of refused: a
	// Service can always be deleted, and an empty plan means that no objects of it are left.
	Diff(key Key, want *D, have O) (plan.Plan, error)
	// DiffMembers returns only the changes of members from have to the nodes: existing objects of the Service's
	// load balancer keep all settings. An invalid Service needs it: there is no desired state, and that of its last inputs
	// may be unknown or invalid by now, too. So do held changes of whole objects, which Keep cannot keep: their members
	// follow. It is pure. Invalid annotations of in are ignored; while one that selects nodes
	// is invalid, members stay as long as their nodes do, and no others join. Each change has the name of its pool, as
	// the pool's deletion does. Changes that the load balancer does not accept now are in the plan's Held.
	DiffMembers(key Key, in intent.Service, nodes []*v1.Node, shared S, have O) (plan.Plan, error)
	// Status returns the expected status of the Service. It is pure. Invalid annotations of in are ignored.
	Status(in intent.Service, have O) Status
}

// Keeper is implemented by a Cloud that can keep single values of existing objects.
type Keeper[D, O any] interface {
	// Keep returns the desired state with the existing values of these differences, and with what follows from them:
	// its plan has none of the differences that the cloud can keep, and does not prepare for them either. It is pure,
	// and leaves want unchanged.
	Keep(want D, have O, differences []plan.Difference) D
}

// AppliedRecord describes what this manager last applied for a Service.
type AppliedRecord = applied.Record

// RecordKeeper is implemented by a Cloud that stores an AppliedRecord with each load balancer. The record of
// a new load balancer is part of its creation, which the cloud plans; the Controller plans all updates.
type RecordKeeper[D, O any] interface {
	// StoredRecord returns the stored record of the load balancer, and whether one can be stored: not without a
	// load balancer, or with one of another owner. It is pure.
	StoredRecord(key Key, have O) (record AppliedRecord, writable bool)
	// DesiredRecord returns the record to store once the desired state is applied. It is pure.
	DesiredRecord(want D) AppliedRecord
	// StoreRecords returns the changes, of kind KindRecord, that store records, in as few calls as the cloud allows.
	StoreRecords(updates []RecordUpdate[O]) []plan.Change
}

// RecordUpdate is a record to be stored with an existing load balancer.
type RecordUpdate[O any] struct {
	Key    Key
	Have   O
	Record AppliedRecord
}

// Binder is implemented by a Cloud whose plans have steps.
type Binder[O any] interface {
	// Bind returns a plan of Diff or DiffMembers with the functions that make its steps. Have are the objects that the
	// plan was made from.
	Bind(key Key, have O, p plan.Plan) plan.Plan
}

// FinalizerKeeper is implemented by a Cloud with finalizers of its own on Services, beside the framework's: those of
// its previous manager, by which other controllers know whose a Service is.
type FinalizerKeeper[D, O any] interface {
	// Finalizers returns the finalizers of a Service with these existing and desired objects, which it gets before the
	// first change and loses after the last. A nil want means that nothing should exist. It is pure.
	Finalizers(want *D, have O) []string
	// OwnsFinalizer reports whether a finalizer is one of the cloud's.
	OwnsFinalizer(name string) bool
}

// ClassFilter is implemented by a Cloud whose Services may select load balancers of other controllers.
type ClassFilter interface {
	// Handles reports whether this manager reconciles the Service's load balancer. It does no I/O. If not,
	// Ensure and Update return cloudprovider.ImplementedElsewhere and change nothing; GetLoadBalancer still
	// reports a load balancer that this manager created earlier, and EnsureLoadBalancerDeleted deletes it.
	Handles(service *v1.Service) bool
}

// Interface is implemented by the load balancers of every provider.
type Interface interface {
	cloudprovider.LoadBalancer
	Planner
	Auditor
	OrphanRemover
}

// Planner computes plans.
type Planner interface {
	// PlanLoadBalancer returns what EnsureLoadBalancer would change or, with Remove set, what
	// EnsureLoadBalancerDeleted would. It makes no mutating call.
	PlanLoadBalancer(ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node,
		o PlanOptions) (plan.Plan, error)
}

// PlanOptions are options of a plan. The zero value plans a Service as it is in the cluster.
type PlanOptions struct {
	// Remove plans the deletion of the load balancer.
	Remove bool
	// Live is the cluster's Service, if the planned one is an edit of it; may be nil. What differs between the two is an
	// edit, as it will be for the manager.
	Live *v1.Service
}

// Auditor is implemented by every LoadBalancer built by this package.
type Auditor interface {
	// AuditLoadBalancer reads the load balancer of a Service from the cloud, bypassing snapshots unless AuditsTogether,
	// and corrects differences from the desired state. It returns the differences, which are empty in a healthy
	// cluster and if the Service was edited since it was last applied, and the expected status of the Service,
	// nil if it is unknown.
	//
	// Current returns the Service and the nodes at the time of its call, which is once the audit holds the lock
	// of the load balancer: an audit with an older Service would undo later changes. A nil Service means that
	// it no longer needs an audit.
	AuditLoadBalancer(ctx context.Context, clusterName string,
		current CurrentFunc) (drift plan.Plan, status *v1.LoadBalancerStatus, err error)
	// AuditsTogether reports whether one read covers all load balancers. Audits that follow each other share it then, and
	// read again before they correct something.
	AuditsTogether() bool
}

// AllReader is implemented by a Cloud that can read only all load balancers at once.
type AllReader interface {
	// ReadsAll reports whether every observation reads all load balancers.
	ReadsAll() bool
}

// CurrentFunc returns a Service, nil if it needs no load balancer, and the nodes of the cluster.
// Callers do not modify the result.
type CurrentFunc func() (*v1.Service, []*v1.Node)

// OrphanRemover deletes objects of Services that are deleted.
type OrphanRemover interface {
	// RemoveOrphans plans the deletion of all objects of a Service from an authoritative read, and applies the part
	// of the plan that approve returns. Before each deletion it reads the objects again, and calls approve again: a
	// deletion that is not part of the new result is an error of class Conflict, which ends the call. Of the
	// Service, only its namespace, name and UID matter.
	RemoveOrphans(ctx context.Context, clusterName string, service *v1.Service, approve ApproveFunc) (plan.Result, error)
}

// ApproveFunc returns the part of a removal plan to apply, or an error to refuse all of it.
type ApproveFunc func(ctx context.Context, removal plan.Plan) (plan.Plan, error)

// lockName is the key of the lock. It omits the UID, because a Service that is deleted and recreated under
// its name has, on some clouds, the same load balancer.
func lockName(key Key) string { return key.Namespace + "/" + key.Name }

// Kinds of changes with the same meaning on every cloud.
const (
	// KindLoadBalancer is the load balancer itself.
	KindLoadBalancer = "load balancer"
	// KindRecord is the AppliedRecord that is stored with a load balancer.
	KindRecord = "applied record"
)
