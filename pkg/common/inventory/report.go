package inventory

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// State is the relation of an object to what the cluster needs.
type State string

// The closed set of states.
const (
	// Orphaned: it carries this cluster's mark and belongs to no Service or node.
	Orphaned State = "orphaned"
	// Drifted: the manager would change, create or delete it.
	Drifted State = "drifted"
	// Unknown: a list is missing, without which the state cannot be decided.
	Unknown State = "unknown"
	// Held: the manager holds a change of it until a user approves it.
	Held State = "held"
	// Unidentified: nothing on it proves that it is this cluster's or another one's.
	Unidentified State = "unidentified"
	// Foreign: it carries another cluster's mark.
	Foreign State = "foreign"
	// InSync: the manager would not change it.
	InSync State = "in-sync"
	// Owned: it belongs to a Service or node of the cluster, and was not compared with it.
	Owned State = "owned"
)

// States returns all states, those that need attention first.
func States() []State {
	return []State{Orphaned, Drifted, Unknown, Held, Unidentified, Foreign, InSync, Owned}
}

// KindRoute is the kind of pod routes, which belong to nodes.
const KindRoute = "route"

// Input is what Classify decides from.
type Input struct {
	Inventory Inventory
	// ClusterUID is the UID of this cluster's namespace kube-system; empty if unknown.
	ClusterUID string
	// Services are all Services of the cluster, of every type. They were listed after the inventory, so that an
	// object of the inventory without a Service was created for one that is deleted.
	Services []Service
	// ServicesErr is why the Services could not be listed.
	ServicesErr error
	// Routes is the plan of the pod routes; nil if there is none, for the reason in RoutesErr if it is not nil.
	Routes    *plan.Plan
	RoutesErr error
	// Now and MinAge are for objects with a creation date: younger orphans are not deleted.
	Now    time.Time
	MinAge time.Duration
}

// Service is a Service of the cluster.
type Service struct {
	types.NamespacedName
	UID string
	// LoadBalancer is the name of the Service's load balancer.
	LoadBalancer string
	// Reconciled is set if the Service has or needs a load balancer: this manager reconciles or deletes it.
	Reconciled bool
	// OtherController is set if the Service has a load balancer that its class leaves to another controller.
	OtherController bool
	// Plan is what the manager would change; nil if none was made, for the reason in Err if it is not nil.
	Plan *plan.Plan
	Err  error
}

// Identifies reports whether the owner may be the Service.
func (o Owner) Identifies(s Service) bool {
	if o.LoadBalancer != "" {
		return o.LoadBalancer == s.LoadBalancer
	}
	return o.NamespacedName == s.NamespacedName && (o.UID == "" || o.UID == s.UID)
}

// Entry is a classified object.
type Entry struct {
	Object
	State State
	// Reason explains the state.
	Reason string
	// Refusal is why an orphan is not deleted; empty for one that may be deleted.
	Refusal string
}

// Deletable reports whether the object is an orphan that may be deleted.
func (e Entry) Deletable() bool { return e.State == Orphaned && e.Refusal == "" }

// Report is the result of Classify.
type Report struct {
	// Entries are sorted: by state, Service, kind and name.
	Entries []Entry
	// Unlisted are the kinds that could not be listed.
	Unlisted []Kind
}

// Count returns the number of entries of each state.
func (r Report) Count() map[State]int {
	n := map[State]int{}
	for _, e := range r.Entries {
		n[e.State]++
	}
	return n
}

func compareEntries(a, b Entry) int {
	order := States()
	return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)),
		cmp.Compare(a.Service(), b.Service()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.ID, b.ID))
}
