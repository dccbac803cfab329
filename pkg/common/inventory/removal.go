package inventory

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// OrphanGroup has the deletable orphans of one deleted Service, or those of the whole cluster.
type OrphanGroup struct {
	// Service has the identity of the deleted one: its namespace, name, and the UID, as far as it is known. It is empty
	// for objects of the whole cluster.
	Service *v1.Service
	Orphans []Entry
}

// OrphanGroups groups the deletable orphans by their deleted Service. It omits routes, which have a plan of their own,
// and objects that show a Service without its name.
func (r Report) OrphanGroups() []OrphanGroup {
	type key struct{ service, uid string }
	groups := map[key][]Entry{}
	uids := map[string]string{}
	for _, e := range r.Entries {
		if e.Deletable() && e.Kind != KindRoute && (e.Service() != "" || len(e.Owners) == 0) {
			uid := e.owner().UID
			groups[key{e.Service(), uid}] = append(groups[key{e.Service(), uid}], e)
			uids[e.Service()] = max(uids[e.Service()], uid)
		}
	}
	// Objects without a UID are deleted with those that have one.
	for k, entries := range groups {
		if uid := uids[k.service]; k.uid == "" && uid != "" {
			delete(groups, k)
			groups[key{k.service, uid}] = append(groups[key{k.service, uid}], entries...)
		}
	}
	all := make([]OrphanGroup, 0, len(groups))
	for k, entries := range groups {
		owner := entries[0].owner()
		service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name,
			UID: types.UID(k.uid)}}
		sorting.Func(entries, compareEntries)
		all = append(all, OrphanGroup{Service: service, Orphans: entries})
	}
	sorting.Func(all, func(a, b OrphanGroup) int {
		return slices.Compare([]string{a.Service.Namespace, a.Service.Name, string(a.Service.UID)},
			[]string{b.Service.Namespace, b.Service.Name, string(b.Service.UID)})
	})
	return all
}

// Refusal is an orphan that is not deleted.
type Refusal struct {
	Object Object
	Reason string
}

// Select returns the part of the removal plan of a deleted Service that deletes only orphans, and a refusal for each
// orphan that it does not delete. A deletion is matched by the ID of its object: several objects may have one name.
// kinds are the kinds of the inventory: of these, only orphans are deleted. Updates, such as the detachment of a
// security group from a port, and deletions of other kinds are made only if the deletion of an orphan waits for them.
func Select(removal plan.Plan, orphans []Entry, kinds []Kind) (plan.Plan, []Refusal) {
	dropped := map[plan.Ref]string{}
	matched := map[int]plan.Ref{}
	removal.Changes = slices.Clone(removal.Changes)
	for _, c := range removal.Changes {
		at := slices.IndexFunc(orphans, func(e Entry) bool { return e.RemovedBy(c) })
		switch {
		case at >= 0:
			matched[at] = c.Ref
		case c.Action == plan.Update:
		case c.Action == plan.Create || slices.ContainsFunc(kinds, func(k Kind) bool { return k.Name == c.Kind }):
			dropped[c.Ref] = "is not provably an orphan of this cluster"
		}
	}
	deletePartsFirst(removal, orphans, matched)
	dropDependants(removal, dropped)
	selected := removal
	selected.Changes, selected.Held, selected.HeldID = nil, nil, ""
	needed := neededRefs(removal, matched, dropped)
	for _, c := range removal.Changes {
		if needed[c.Ref] {
			selected.Changes = append(selected.Changes, c)
		}
	}
	var refusals []Refusal
	for i, e := range orphans {
		ref, ok := matched[i]
		switch {
		case e.Parent != "" && !ok:
			// Deleted with its parent, which has a refusal of its own.
		case !ok:
			refusals = append(refusals, Refusal{e.Object, unplannedReason(removal)})
		case dropped[ref] != "":
			refusals = append(refusals, Refusal{e.Object, dropped[ref]})
		}
	}
	return selected, refusals
}

// RemovedBy reports whether a change deletes the object, or removes the tag.
func (o Object) RemovedBy(c plan.Change) bool {
	if o.ID == "" || o.ID != c.ID {
		return false
	}
	return o.Kind == c.Kind && c.Action == plan.Delete || o.Kind == KindTag && c.Action == plan.Update
}

// deletePartsFirst makes the deletion of an orphan wait for those of its parts that the plan deletes by themselves. The
// parent proves their cluster: after an interruption, parts without it could not be identified.
func deletePartsFirst(p plan.Plan, orphans []Entry, matched map[int]plan.Ref) {
	for i, orphan := range orphans {
		part, planned := matched[i]
		parent, ok := matched[slices.IndexFunc(orphans, func(e Entry) bool { return e.ID == orphan.Parent && e.ID != "" })]
		at := slices.IndexFunc(p.Changes, func(c plan.Change) bool { return ok && c.Ref == parent })
		if !planned || at < 0 || slices.Contains(p.Changes[at].After, part) || waitsFor(p, part, parent) {
			continue
		}
		p.Changes[at].After = append(slices.Clone(p.Changes[at].After), part)
	}
}

// waitsFor reports whether a change waits for another one, directly or not.
func waitsFor(p plan.Plan, change, other plan.Ref) bool {
	return slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
		return c.Ref == change && slices.ContainsFunc(c.After, func(before plan.Ref) bool {
			return before == other || waitsFor(p, before, other)
		})
	})
}

// unplannedReason explains why the provider does not delete an orphan.
func unplannedReason(removal plan.Plan) string {
	if len(removal.Warnings) > 0 {
		return "the provider does not delete it: " + strings.Join(removal.Warnings, "; ")
	}
	return "the provider does not find it as an object of its Service"
}

// dropDependants drops changes that wait for a dropped one.
func dropDependants(p plan.Plan, dropped map[plan.Ref]string) {
	for found := true; found; {
		found = false
		for _, c := range p.Changes {
			i := slices.IndexFunc(c.After, func(r plan.Ref) bool { return dropped[r] != "" })
			if i >= 0 && dropped[c.Ref] == "" {
				dropped[c.Ref] = fmt.Sprintf("it waits for: %s, which %s", c.After[i], dropped[c.After[i]])
				found = true
			}
		}
	}
}

// neededRefs returns the deletions of orphans and the changes that they wait for.
func neededRefs(p plan.Plan, matched map[int]plan.Ref, dropped map[plan.Ref]string) map[plan.Ref]bool {
	needed := map[plan.Ref]bool{}
	for _, ref := range matched {
		needed[ref] = dropped[ref] == ""
	}
	for found := true; found; {
		found = false
		for _, c := range p.Changes {
			for _, before := range c.After {
				if needed[c.Ref] && !needed[before] {
					needed[before], found = true, true
				}
			}
		}
	}
	return needed
}
