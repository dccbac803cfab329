package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
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

// Classify decides the state of every object. It is pure.
func Classify(in Input) Report {
	c := newClassifier(in)
	for _, o := range in.Inventory.Objects {
		c.entries = append(c.entries, c.classify(o))
	}
	c.comparePlans()
	c.refuse()
	sorting.Func(c.entries, compareEntries)
	report := Report{Entries: c.entries}
	for _, k := range in.Inventory.Kinds {
		if k.Err != nil {
			report.Unlisted = append(report.Unlisted, k)
		}
	}
	return report
}

func compareEntries(a, b Entry) int {
	order := States()
	return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)),
		cmp.Compare(a.Service(), b.Service()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.ID, b.ID))
}

// classifier has the input of Classify by key.
type classifier struct {
	in Input
	// byLoadBalancer and byName are the indexes of Services.
	byLoadBalancer, byName map[string]int
	kinds                  map[string]Kind
	entries                []Entry
	// services has the index of the Service of each entry; -1 for entries without one.
	services []int
}

func newClassifier(in Input) *classifier {
	c := &classifier{in: in, byLoadBalancer: map[string]int{}, byName: map[string]int{}, kinds: map[string]Kind{}}
	for i, s := range in.Services {
		c.byLoadBalancer[s.LoadBalancer] = i
		c.byName[s.String()] = i
	}
	for _, k := range in.Inventory.Kinds {
		c.kinds[k.Name] = k
	}
	return c
}

// classify decides without the plans, which may turn Owned into another state.
func (c *classifier) classify(o Object) Entry {
	service := c.findService(o)
	c.services = append(c.services, service)
	e := Entry{Object: o}
	e.State, e.Reason = c.foreignState(o)
	proven := c.in.ClusterUID != "" && o.Mark.UID == c.in.ClusterUID
	switch {
	case e.State != "":
	case o.Kind == KindRoute:
		e.State, e.Reason = c.routeState(o, proven)
	case service >= 0:
		e.State = Owned
	case c.otherController(o) != "":
		e.State, e.Reason = Owned, "the class of Service "+c.otherController(o)+" leaves it to another controller"
	case !proven:
		e.State, e.Reason = Unidentified, unprovenReason(o)
	case c.in.ServicesErr != nil:
		e.State, e.Reason = Unknown, "the cluster's Services cannot be listed"
	case o.Keep != "":
		e.State, e.Reason = Owned, o.Keep
	default:
		e.State, e.Reason = c.orphanState(o)
	}
	return e
}

// foreignState returns the state of an object that may carry another cluster's mark; "" for all others.
func (c *classifier) foreignState(o Object) (State, string) {
	switch {
	case o.Mark.UID != "" && c.in.ClusterUID == "":
		return Unknown, "the UID of this cluster is unknown, and the object has the mark of a cluster"
	case o.Mark.UID != "" && o.Mark.UID != c.in.ClusterUID:
		return Foreign, "of the cluster with the UID " + o.Mark.UID
	case o.Mark.Cluster != "" && o.Mark.UID == "" && o.Mark.Cluster != c.in.Inventory.Cluster:
		return Foreign, fmt.Sprintf("of cluster %q", o.Mark.Cluster)
	default:
		return "", ""
	}
}

// unprovenReason explains why an object without a Service may be another cluster's.
func unprovenReason(o Object) string {
	if o.Note != "" {
		return o.Note
	}
	if o.Mark.Cluster == "" {
		return "it has a name that this manager gives, and no mark of a cluster"
	}
	return "it is marked with the cluster's name only, which another cluster may have too"
}

// orphanState returns the state of an object with our mark and without a Service.
func (c *classifier) orphanState(o Object) (State, string) {
	if missing := c.unlistedKind(o.Kind); missing != "" {
		return Unknown, missing + " cannot be listed, without which nothing proves that it is unused"
	}
	if len(o.Owners) == 0 {
		return Orphaned, "no Service needs it"
	}
	if i, exists := c.byName[o.Service()]; exists {
		if c.in.Services[i].Reconciled {
			return Orphaned, "it was created for an earlier Service " + o.Service()
		}
		return Orphaned, "Service " + o.Service() + " needs no load balancer"
	}
	return Orphaned, "there is no Service " + o.Service()
}

// unlistedKind returns the first of a kind and the kinds that it needs that could not be listed, or "".
func (c *classifier) unlistedKind(kind string) string {
	for _, name := range append([]string{kind}, c.kinds[kind].Needs...) {
		if c.kinds[name].Err != nil {
			return name
		}
	}
	return ""
}

// findService returns the index of the Service with a load balancer that an object belongs to, or -1.
func (c *classifier) findService(o Object) int {
	for _, owner := range o.Owners {
		if i := c.serviceIndex(owner); i >= 0 && c.in.Services[i].Reconciled {
			return i
		}
	}
	return -1
}

// otherController returns the Service of another controller that an object belongs to, or "".
func (c *classifier) otherController(o Object) string {
	for _, owner := range o.Owners {
		if i := c.serviceIndex(owner); i >= 0 && c.in.Services[i].OtherController {
			return c.in.Services[i].String()
		}
	}
	return ""
}

// serviceIndex returns the index of the Service, or -1.
func (c *classifier) serviceIndex(owner Owner) int {
	i, ok := c.byName[owner.String()]
	if owner.LoadBalancer != "" {
		i, ok = c.byLoadBalancer[owner.LoadBalancer]
	}
	if ok && owner.Identifies(c.in.Services[i]) {
		return i
	}
	return -1
}

// routeState returns the state of a route of this cluster, by the plan of the routes.
func (c *classifier) routeState(o Object, proven bool) (State, string) {
	if c.in.Routes == nil {
		if c.in.RoutesErr != nil {
			return Unknown, "the routes cannot be planned: " + cloudapi.OneLine(c.in.RoutesErr)
		}
		return Owned, ""
	}
	created, needed := routeChange(*c.in.Routes, func(r plan.Change) bool {
		return r.Action == plan.Create && r.Name == o.Name
	})
	deleted, replaced := routeChange(*c.in.Routes, func(r plan.Change) bool {
		return r.Action == plan.Delete && r.ID == o.ID
	})
	switch {
	case replaced && !needed && proven:
		return Orphaned, deleted.Reason
	case replaced:
		return Drifted, changeReason(deleted)
	case needed:
		return Drifted, changeReason(created)
	default:
		return InSync, ""
	}
}

// routeChange returns the first change of a route that matches.
func routeChange(p plan.Plan, match func(plan.Change) bool) (plan.Change, bool) {
	i := slices.IndexFunc(p.Changes, func(c plan.Change) bool { return c.Kind == KindRoute && match(c) })
	if i < 0 {
		return plan.Change{}, false
	}
	return p.Changes[i], true
}

// refuse sets the refusals of orphans that are not provably unused.
func (c *classifier) refuse() {
	byID := map[string]*Entry{}
	for i := range c.entries {
		byID[c.entries[i].ID] = &c.entries[i]
	}
	for i := range c.entries {
		e := &c.entries[i]
		if e.State != Orphaned {
			continue
		}
		switch {
		case len(e.Owners) > 0 && c.serviceIndex(e.Owners[0]) >= 0:
			e.Refusal = "Service " + e.Service() + " exists: make its type LoadBalancer and back, and the manager deletes it"
		case e.Settling != "":
			e.Refusal = "the cloud is still changing it (" + e.Settling + ")"
		case !e.Created.IsZero() && c.in.Now.Sub(e.Created) < c.in.MinAge:
			e.Refusal = fmt.Sprintf("it is younger than %s: a manager may still be creating it", c.in.MinAge)
		default:
			e.Refusal = usedBy(e.Object, byID)
		}
	}
	// A part is deleted with its parent or not at all.
	for i := range c.entries {
		e := &c.entries[i]
		if !e.Deletable() || e.Parent == "" {
			continue
		}
		if parent := byID[e.Parent]; parent == nil {
			e.Refusal = "it is part of " + e.Parent + ", which is not in the inventory"
		} else if !parent.Deletable() {
			e.Refusal = fmt.Sprintf("it is part of %s %s, which stays", parent.Kind, parent.Name)
		}
	}
}

// usedBy returns the refusal of an orphan that an object uses which is not an orphan of the same Service.
func usedBy(o Object, byID map[string]*Entry) string {
	for _, id := range o.UsedBy {
		user, known := byID[id]
		if known && user.State == Orphaned && user.Service() == o.Service() {
			continue
		}
		if known {
			return fmt.Sprintf("it is in use by %s %s (%s)", user.Kind, user.Name, user.State)
		}
		return "it is in use by " + id
	}
	return ""
}
