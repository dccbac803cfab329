package inventory

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

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

// comparePlans replaces Owned by the state in the Service's plan, and adds an entry for each object that is missing.
func (c *classifier) comparePlans() {
	entriesOf := make([][]int, len(c.in.Services))
	for i, index := range c.services {
		if index >= 0 && c.entries[i].State == Owned {
			entriesOf[index] = append(entriesOf[index], i)
		}
	}
	for index, s := range c.in.Services {
		switch {
		case s.Err != nil:
			for _, i := range entriesOf[index] {
				c.entries[i].State, c.entries[i].Reason = Unknown, "no plan: "+cloudapi.OneLine(s.Err)
			}
		case s.Plan != nil:
			for _, i := range entriesOf[index] {
				c.entries[i].State = InSync
			}
			for _, h := range s.Plan.Held {
				c.mark(s, entriesOf[index], h.Change, Held)
			}
			for _, change := range s.Plan.Changes {
				c.mark(s, entriesOf[index], change, Drifted)
			}
		}
	}
	c.addMissingRoutes()
}

// mark sets the state of the entry that a change is for: the one of its kind and ID or name, else a part of its name,
// else the Service's first object. Without any, the change creates an object that is missing.
func (c *classifier) mark(s Service, entries []int, change plan.Change, state State) {
	found := -1
	for _, matches := range []func(Object) bool{
		func(o Object) bool { return o.Kind == change.Kind && o.ID == change.ID },
		func(o Object) bool { return o.Kind == change.Kind && o.Name == change.Name },
		func(o Object) bool { return change.Action != plan.Create && o.Name == change.Name },
		func(o Object) bool { return change.Action != plan.Create && o.Parent == "" },
	} {
		if i := slices.IndexFunc(entries, func(i int) bool { return matches(c.entries[i].Object) }); i >= 0 {
			found = entries[i]
			break
		}
	}
	if found < 0 {
		c.entries = append(c.entries, Entry{State: state, Reason: "missing: " + changeReason(change),
			Object: Object{Kind: change.Kind, Name: change.Name, Owners: []Owner{{NamespacedName: s.NamespacedName}}}})
		return
	}
	e := &c.entries[found]
	reason := changeReason(change)
	if e.State == InSync || e.State == Held && state == Drifted {
		e.State, e.Reason = state, reason
	} else if e.State == state {
		e.Reason += "; " + reason
	}
}

// addMissingRoutes adds an entry for each route that is created and does not replace another one.
func (c *classifier) addMissingRoutes() {
	if c.in.Routes == nil {
		return
	}
	for _, change := range c.in.Routes.Changes {
		replaces := slices.ContainsFunc(c.entries, func(e Entry) bool {
			return e.Kind == KindRoute && e.Name == change.Name && e.State == Drifted
		})
		if change.Action == plan.Create && !replaces {
			c.entries = append(c.entries, Entry{State: Drifted, Reason: "missing: " + changeReason(change),
				Object: Object{Kind: change.Kind, Name: change.Name}})
		}
	}
}
