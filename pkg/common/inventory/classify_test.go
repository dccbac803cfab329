package inventory

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

const (
	ourUID   = "uid-ours"
	theirUID = "uid-theirs"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func address(edits ...func(*Object)) Object {
	o := Object{Kind: "address", ID: "ip-1", Name: "web-ip", Mark: Mark{Cluster: "prod", UID: ourUID},
		Owners: []Owner{{NamespacedName: named("web")}}}
	for _, edit := range edits {
		edit(&o)
	}
	return o
}

func TestClassify(t *testing.T) {
	live := Service{NamespacedName: named("web"), UID: "u-2", LoadBalancer: "lb-web-2", Reconciled: true, Plan: &plan.Plan{}}
	unbalanced := Service{NamespacedName: named("web"), UID: "u-2", LoadBalancer: "lb-web-2"}
	denied := errors.New("denied")
	change := plan.Change{Ref: plan.Ref{Kind: "address", Name: "web-ip", Action: plan.Update}}
	tests := map[string]struct {
		object   Object
		services []Service
		edit     func(*Input)
		state    State
		refused  bool
	}{
		"of a Service":                          {object: address(), services: []Service{live}, state: InSync},
		"of a Service without a plan":           {object: address(), services: []Service{{NamespacedName: named("web"), Reconciled: true}}, state: Owned},
		"of a Service with an error":            {object: address(), services: []Service{{NamespacedName: named("web"), Reconciled: true, Err: denied}}, state: Unknown},
		"changed":                               {object: address(), services: []Service{{NamespacedName: named("web"), Reconciled: true, Plan: &plan.Plan{Changes: []plan.Change{change}}}}, state: Drifted},
		"held":                                  {object: address(), services: []Service{{NamespacedName: named("web"), Reconciled: true, Plan: &plan.Plan{Held: []plan.HeldChange{{Change: change}}}}}, state: Held},
		"of no Service":                         {object: address(), state: Orphaned},
		"of an earlier Service by UID":          {object: address(func(o *Object) { o.Owners[0].UID = "u-1" }), services: []Service{live}, state: Orphaned},
		"of an earlier Service by name":         {object: address(func(o *Object) { o.Owners[0].LoadBalancer = "lb-web-1" }), services: []Service{live}, state: Orphaned},
		"of a Service without a load balancer":  {object: address(), services: []Service{unbalanced}, state: Orphaned, refused: true},
		"of another controller's Service":       {object: address(), services: []Service{{NamespacedName: named("web"), OtherController: true}}, state: Owned},
		"of a second Service":                   {object: address(func(o *Object) { o.Owners = append([]Owner{{NamespacedName: named("old")}}, o.Owners...) }), services: []Service{live}, state: InSync},
		"of another cluster":                    {object: address(func(o *Object) { o.Mark.UID = theirUID }), services: []Service{live}, state: Foreign},
		"of another cluster by name":            {object: address(func(o *Object) { o.Mark = Mark{Cluster: "test"} }), services: []Service{live}, state: Foreign},
		"with the cluster's name only":          {object: address(func(o *Object) { o.Mark.UID = "" }), state: Unidentified},
		"with the cluster's name, of a Service": {object: address(func(o *Object) { o.Mark.UID = "" }), services: []Service{live}, state: InSync},
		"without a mark":                        {object: address(func(o *Object) { o.Mark = Mark{} }), state: Unidentified},
		"in an unknown cluster":                 {object: address(), edit: func(in *Input) { in.ClusterUID = "" }, state: Unknown},
		"without a list of Services":            {object: address(), edit: func(in *Input) { in.ServicesErr = denied }, state: Unknown},
		"of a kind that is not listed":          {object: address(), edit: func(in *Input) { in.Inventory.Kinds[1].Err = denied }, state: Unknown},
		"needing a kind that is not listed":     {object: address(), edit: func(in *Input) { in.Inventory.Kinds[0].Err = denied }, state: Unknown},
		"kept":                                  {object: address(func(o *Object) { o.Keep = "the Service keeps it" }), state: Owned},
		"in use":                                {object: address(func(o *Object) { o.UsedBy = []string{"port-1"} }), state: Orphaned, refused: true},
		"settling":                              {object: address(func(o *Object) { o.Settling = "PENDING" }), state: Orphaned, refused: true},
		"young":                                 {object: address(func(o *Object) { o.Created = now.Add(-time.Minute) }), state: Orphaned, refused: true},
		"old":                                   {object: address(func(o *Object) { o.Created = now.Add(-time.Hour) }), state: Orphaned},
		"part of an unlisted object":            {object: address(func(o *Object) { o.Parent = "lb-1" }), state: Orphaned, refused: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{ClusterUID: ourUID, Services: test.services, Now: now, MinAge: 15 * time.Minute,
				Inventory: Inventory{Cluster: "prod", Objects: []Object{test.object},
					Kinds: []Kind{{Name: "load balancer"}, {Name: "address", Needs: []string{"load balancer"}}}}}
			if test.edit != nil {
				test.edit(&in)
			}
			e := Classify(in).Entries[0]
			if e.State != test.state || (e.Refusal != "") != test.refused {
				t.Errorf("state %s (%s), refusal %q", e.State, e.Reason, e.Refusal)
			}
		})
	}
}

// The manager replaces a route that a node needs, also if it is a blackhole: only routes that no node needs are orphans.
func TestClassifyRoutes(t *testing.T) {
	remove := func(name, id string) plan.Change {
		return plan.Change{Ref: plan.Ref{Kind: KindRoute, Name: name, Action: plan.Delete}, ID: id, Reason: "no node has this pod CIDR"}
	}
	create := plan.Change{Ref: plan.Ref{Kind: KindRoute, Name: "10.244.1.0/24", Action: plan.Create}}
	route := func(id string) Object {
		return Object{Kind: KindRoute, ID: id, Name: "10.244.1.0/24", Mark: Mark{UID: ourUID}}
	}
	unmarked := route("r-1")
	unmarked.Mark = Mark{}
	tests := map[string]struct {
		objects []Object
		changes []plan.Change
		want    []State
	}{
		"needed":              {objects: []Object{route("r-1")}, want: []State{InSync}},
		"not needed":          {[]Object{route("r-1")}, []plan.Change{remove("10.244.1.0/24", "r-1")}, []State{Orphaned}},
		"not provably ours":   {[]Object{unmarked}, []plan.Change{remove("10.244.1.0/24", "r-1")}, []State{Drifted}},
		"replaced":            {[]Object{route("r-1")}, []plan.Change{remove("10.244.1.0/24", "r-1"), create}, []State{Drifted}},
		"incomplete":          {[]Object{route("r-1")}, []plan.Change{create}, []State{Drifted}},
		"missing":             {nil, []plan.Change{create}, []State{Drifted}},
		"one of two needless": {[]Object{route("r-1"), route("r-2")}, []plan.Change{remove("10.244.1.0/24", "r-2")}, []State{Orphaned, InSync}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := Classify(Input{ClusterUID: ourUID, Routes: &plan.Plan{Changes: test.changes},
				Inventory: Inventory{Cluster: "prod", Kinds: []Kind{{Name: KindRoute}}, Objects: test.objects}})
			var got []State
			for _, e := range report.Entries {
				got = append(got, e.State)
				if e.State == Orphaned && e.ID != test.changes[0].ID {
					t.Errorf("%s is called an orphan", e.ID)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

func deletion(kind, id string, after ...plan.Ref) plan.Change {
	return plan.Change{Ref: plan.Ref{Kind: kind, Name: id, Action: plan.Delete}, ID: id, After: after}
}

func TestSelectDeletesOnlyOrphans(t *testing.T) {
	kinds := []Kind{{Name: "load balancer"}, {Name: "address"}, {Name: "group"}}
	orphan := func(kind, id, parent string) Entry {
		return Entry{Object: Object{Kind: kind, ID: id, Name: id, Parent: parent}, State: Orphaned}
	}
	detach := plan.Change{Ref: plan.Ref{Kind: "port", Name: "p", Action: plan.Update}}
	unneeded := plan.Change{Ref: plan.Ref{Kind: "port", Name: "q", Action: plan.Update}}
	lb := deletion("load balancer", "lb")
	tests := map[string]struct {
		removal  []plan.Change
		orphans  []Entry
		want     []string
		refusals int
	}{
		"all": {[]plan.Change{lb, deletion("address", "ip", lb.Ref)},
			[]Entry{orphan("load balancer", "lb", ""), orphan("address", "ip", "")},
			[]string{"delete load balancer lb", "delete address ip"}, 0},
		"the load balancer is not proven": {[]plan.Change{lb, deletion("address", "ip", lb.Ref)},
			[]Entry{orphan("address", "ip", "")}, nil, 1},
		"another object of the name": {[]plan.Change{deletion("address", "other")}, []Entry{orphan("address", "ip", "")}, nil, 1},
		"updates that a deletion needs": {[]plan.Change{detach, unneeded, deletion("group", "sg", detach.Ref)},
			[]Entry{orphan("group", "sg", "")}, []string{"update port p", "delete group sg"}, 0},
		"parts go first": {[]plan.Change{lb, deletion("group", "sg")},
			[]Entry{orphan("load balancer", "lb", ""), orphan("group", "sg", "lb")},
			[]string{"delete group sg", "delete load balancer lb"}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, refusals := Select(plan.Plan{Changes: test.removal}, test.orphans, kinds)
			sorted, err := got.Sorted()
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range sorted.Changes {
				names = append(names, c.String())
			}
			if diff := cmp.Diff(test.want, names); diff != "" || len(refusals) != test.refusals {
				t.Errorf("refusals %v, changes (-want +got):\n%s", refusals, diff)
			}
		})
	}
}

func TestSelectDeletesPartsInTheirOrder(t *testing.T) {
	parent := plan.Ref{Kind: "pool", Name: "web", Action: plan.Delete}
	orphans := []Entry{{Object: Object{Kind: "pool", ID: "pool"}, State: Orphaned}}
	removal := plan.Plan{Changes: []plan.Change{{Ref: parent, ID: "pool"}}}
	var want []plan.Ref
	for i := range 8 {
		id := fmt.Sprintf("part-%d", i)
		ref := plan.Ref{Kind: "member", Name: id, Action: plan.Delete}
		orphans = append(orphans, Entry{Object: Object{Kind: "member", ID: id, Parent: "pool"}, State: Orphaned})
		removal.Changes = append(removal.Changes, plan.Change{Ref: ref, ID: id})
		want = append(want, ref)
	}
	got, _ := Select(removal, orphans, []Kind{{Name: "pool"}, {Name: "member"}})
	if diff := cmp.Diff(want, got.Changes[0].After); diff != "" {
		t.Errorf("what the deletion of the pool waits for (-want +got):\n%s", diff)
	}
}
