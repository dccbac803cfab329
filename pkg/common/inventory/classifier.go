package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

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

// changeReason describes a change on one line.
func changeReason(change plan.Change) string {
	text := string(change.Action)
	if len(change.Fields) > 0 && change.Action == plan.Update {
		names := make([]string, len(change.Fields))
		for i, f := range change.Fields {
			names[i] = f.Name
		}
		text += " " + strings.Join(names, ", ")
	}
	if change.Reason != "" {
		text += ": " + change.Reason
	}
	return change.Kind + " " + change.Name + ": " + text
}
