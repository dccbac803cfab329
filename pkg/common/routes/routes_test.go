package routes_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
)

// table is a cloud's route table: one route per destination, deleted by destination.
type table struct {
	mu     sync.Mutex
	routes map[string]routes.Route
	calls  map[string]int
	fail   func(routes.Route) error
}

func newTable(list ...routes.Route) *table {
	t := &table{routes: map[string]routes.Route{}, calls: map[string]int{}}
	for _, r := range list {
		t.routes[r.Destination] = r
	}
	return t
}

func (t *table) List(context.Context, string) ([]routes.Route, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls["list"]++
	var list []routes.Route
	for _, r := range t.routes {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b routes.Route) int {
		return netip.MustParsePrefix(a.Destination).Compare(netip.MustParsePrefix(b.Destination))
	})
	return list, nil
}

func (t *table) Create(_ context.Context, _ string, list []routes.Route) []error {
	return t.bulk("create", list, func(r routes.Route) error {
		if have, ok := t.routes[r.Destination]; ok && have.InstanceID != r.InstanceID {
			return &cloudapi.Error{Class: cloudapi.AlreadyExists, Operation: "CreateRoute",
				Err: errors.New("destination is taken")}
		}
		r.Name = "route-" + r.Destination
		t.routes[r.Destination] = r
		return nil
	})
}

func (t *table) Delete(_ context.Context, _ string, list []routes.Route) []error {
	return t.bulk("delete", list, func(r routes.Route) error {
		delete(t.routes, r.Destination)
		return nil
	})
}

func (t *table) bulk(operation string, list []routes.Route, f func(routes.Route) error) []error {
	time.Sleep(20 * time.Millisecond) // of the bubble's time: the latency of the call
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[operation]++
	errs := make([]error, len(list))
	for i, r := range list {
		if t.fail != nil {
			errs[i] = t.fail(r)
		}
		if errs[i] == nil {
			errs[i] = f(r)
		}
	}
	return errs
}

func (t *table) instances() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := map[string]string{}
	for d, r := range t.routes {
		m[d] = r.InstanceID
	}
	return m
}

// targets names instances after their nodes; node "gone" has no instance.
type targets struct{ err error }

func (n targets) InstanceIDForNode(_ context.Context, name string) (string, error) {
	if name == "gone" {
		return "", cloudprovider.InstanceNotFound
	}
	return "i-" + name, n.err
}

func (n targets) NodeNames(_ context.Context, ids []string) (map[string][]string, error) {
	names := map[string][]string{}
	for _, id := range ids {
		if id != "i-gone" {
			names[id] = []string{id[len("i-"):]}
		}
	}
	return names, n.err
}

func newRoutes(t *table) *routes.Routes {
	return routes.New(routes.Options{Provider: "fake"}, t, targets{})
}

func owned(destination, node string) routes.Route {
	return routes.Route{Name: "route-" + destination, Destination: destination, InstanceID: "i-" + node, Owned: true}
}

func blackhole(destination string) routes.Route {
	return routes.Route{Name: "route-" + destination, Destination: destination, Blackhole: true, Owned: true}
}

func toNode(destination, node string) *cloudprovider.Route {
	return &cloudprovider.Route{TargetNode: types.NodeName(node), DestinationCIDR: destination}
}

func TestListRoutes(t *testing.T) {
	foreign := owned("10.9.0.0/24", "a")
	foreign.Owned = false
	tests := map[string]struct {
		have []routes.Route
		want []*cloudprovider.Route
	}{
		"a route to a node": {
			[]routes.Route{owned("10.0.0.0/24", "a")},
			[]*cloudprovider.Route{{Name: "route-10.0.0.0/24", TargetNode: "a", DestinationCIDR: "10.0.0.0/24"}},
		},
		"another's route is not listed": {[]routes.Route{foreign}, []*cloudprovider.Route{}},
		"a route that lost its target": {
			[]routes.Route{blackhole("10.0.0.0/24")},
			[]*cloudprovider.Route{{Name: "route-10.0.0.0/24", DestinationCIDR: "10.0.0.0/24", Blackhole: true}},
		},
		"a route to an instance that does not exist": {
			[]routes.Route{owned("10.0.0.0/24", "gone")},
			[]*cloudprovider.Route{{Name: "route-10.0.0.0/24", DestinationCIDR: "10.0.0.0/24", Blackhole: true}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := newRoutes(newTable(test.have...)).ListRoutes(t.Context(), "c")
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestListFailsOnUnreadableInstance(t *testing.T) {
	r := routes.New(routes.Options{Provider: "fake"}, newTable(owned("10.0.0.0/24", "a")),
		targets{err: errors.New("denied")})
	if got, err := r.ListRoutes(t.Context(), "c"); err == nil {
		t.Errorf("got %v: the framework would delete the route", got)
	}
}

func TestConcurrentCreationsShareCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tbl := newTable()
		tbl.fail = func(r routes.Route) error {
			if r.InstanceID == "i-n7" {
				return errors.New("refused")
			}
			return nil
		}
		r := newRoutes(tbl)
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() {
				err := r.CreateRoute(t.Context(), "c", "hint", toNode(fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("n%d", i)))
				if (err != nil) != (i == 7) {
					t.Errorf("route %d: %v", i, err)
				}
			})
		}
		group.Wait()
		if tbl.calls["create"] > 2 || len(tbl.routes) != 199 {
			t.Errorf("%d routes in %d calls", len(tbl.routes), tbl.calls["create"])
		}
	})
}

// The framework deletes a stale route and creates its successor side by side, in any order.
func TestRouteIsReplaced(t *testing.T) {
	const cidr = "10.0.0.0/24"
	tests := map[string]struct {
		have        routes.Route
		createFirst bool
		conflict    bool // of the creation, which the framework repeats
	}{
		"blackhole, deletion first": {blackhole(cidr), false, false},
		"blackhole, creation first": {blackhole(cidr), true, false},
		"live, deletion first":      {owned(cidr, "old"), false, false},
		"live, creation first":      {owned(cidr, "old"), true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tbl := newTable(test.have)
				r := newRoutes(tbl)
				listed, err := r.ListRoutes(t.Context(), "c")
				if err != nil || len(listed) != 1 {
					t.Fatal(listed, err)
				}
				var group sync.WaitGroup
				create := func() {
					err := r.CreateRoute(t.Context(), "c", "hint", toNode(cidr, "new"))
					if apierrors.IsConflict(err) != test.conflict || (err != nil) != test.conflict {
						t.Errorf("first creation: %v", err)
					}
					if err != nil {
						time.Sleep(time.Second)
						err = r.CreateRoute(t.Context(), "c", "hint", toNode(cidr, "new"))
					}
					if err != nil {
						t.Errorf("creation: %v", err)
					}
				}
				remove := func() {
					if err := r.DeleteRoute(t.Context(), "c", listed[0]); err != nil {
						t.Errorf("deletion: %v", err)
					}
				}
				first, second := remove, create
				if test.createFirst {
					first, second = create, remove
				}
				group.Go(first)
				synctest.Wait()
				group.Go(second)
				group.Wait()
				if diff := cmp.Diff(map[string]string{cidr: "i-new"}, tbl.instances()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestUndeletableBlackholeIsNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tbl := newTable(blackhole("10.0.0.0/24"))
		denied := errors.New("denied")
		tbl.fail = func(routes.Route) error { return denied }
		r := newRoutes(tbl)
		if _, err := r.ListRoutes(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		if err := r.CreateRoute(t.Context(), "c", "h", toNode("10.0.0.0/24", "new")); !errors.Is(err, denied) {
			t.Errorf("got %v", err)
		}
		if tbl.calls["create"] != 0 {
			t.Error("the creation was tried")
		}
	})
}

func TestCreateRouteRejectsNodeWithoutInstance(t *testing.T) {
	err := newRoutes(newTable()).CreateRoute(t.Context(), "c", "h", toNode("10.0.0.0/24", "gone"))
	if !errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("got %v", err)
	}
}

func node(name string, cidrs ...string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{PodCIDRs: cidrs}}
}

func TestPlanRoutes(t *testing.T) {
	tests := map[string]struct {
		have     []routes.Route
		nodes    []*v1.Node
		want     []string
		warnings int
	}{
		"nothing to do":        {have: []routes.Route{owned("10.0.0.0/24", "a")}, nodes: []*v1.Node{node("a", "10.0.0.0/24")}},
		"a new node":           {nodes: []*v1.Node{node("a", "10.0.0.0/24", "fd00::/64")}, want: []string{"create route 10.0.0.0/24", "create route fd00::/64"}},
		"a node that left":     {have: []routes.Route{owned("10.0.0.0/24", "b")}, want: []string{"delete route 10.0.0.0/24"}},
		"outside our ranges":   {have: []routes.Route{owned("192.0.2.0/24", "b")}},
		"a range that moved":   {have: []routes.Route{owned("10.0.0.0/24", "b")}, nodes: []*v1.Node{node("a", "10.0.0.0/24")}, want: []string{"delete route 10.0.0.0/24", "create route 10.0.0.0/24"}},
		"a blackhole":          {have: []routes.Route{blackhole("10.0.0.0/24")}, nodes: []*v1.Node{node("a", "10.0.0.0/24")}, want: []string{"delete route 10.0.0.0/24", "create route 10.0.0.0/24"}},
		"one range, two nodes": {have: []routes.Route{owned("10.0.0.0/24", "a")}, nodes: []*v1.Node{node("a", "10.0.0.0/24"), node("b", "10.0.0.0/24")}, warnings: 1},
		"an unreadable range":  {nodes: []*v1.Node{node("a", "10.0.0.0")}, warnings: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tbl := newTable(test.have...)
			r := newRoutes(tbl)
			ranges := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/16")}
			p, err := r.PlanRoutes(t.Context(), "c", test.nodes, ranges)
			if err != nil || len(p.Warnings) != test.warnings {
				t.Errorf("warnings %q, %v", p.Warnings, err)
			}
			var got []string
			for _, c := range p.Changes {
				got = append(got, c.Ref.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
			if tbl.calls["create"]+tbl.calls["delete"] != 0 {
				t.Errorf("planning made calls: %v", tbl.calls)
			}
			if _, err := p.Apply(t.Context(), plan.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
			if again, err := r.PlanRoutes(t.Context(), "c", test.nodes, ranges); err != nil || !again.Empty() {
				t.Errorf("after applying it, the plan is %v, %v", again.Changes, err)
			}
		})
	}
}

// foreign returns a route of others, to an instance or, without one, to a gateway.
func foreign(destination, instanceID string) routes.Route {
	return routes.Route{Name: "theirs", Destination: destination, InstanceID: instanceID}
}

func TestForeignRouteAtPodCIDRIsRejected(t *testing.T) {
	const destination = "10.0.1.0/24"
	for name, tt := range map[string]struct {
		foreign routes.Route
		options routes.Options
		creates int
		class   cloudapi.Class
	}{
		"to a gateway":           {foreign: foreign(destination, ""), class: cloudapi.AlreadyExists},
		"to another instance":    {foreign: foreign(destination, "i-b"), class: cloudapi.AlreadyExists},
		"to the same instance":   {foreign: foreign(destination, "i-a"), creates: 1},
		"to another destination": {foreign: foreign("10.0.2.0/24", ""), creates: 1},
		"rejected by the source": {
			foreign: foreign(destination, ""), options: routes.Options{RejectsForeign: true}, creates: 1,
			class: cloudapi.AlreadyExists,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newTable(tt.foreign)
				tt.options.Provider = "test"
				r := routes.New(tt.options, table, targets{})
				if list, err := r.ListRoutes(t.Context(), "c"); len(list) != 0 || err != nil {
					t.Fatalf("routes %v, %v", list, err)
				}
				err := r.CreateRoute(t.Context(), "c", "", toNode(destination, "a"))
				if cloudapi.ClassOf(err) != tt.class || table.calls["create"] != tt.creates {
					t.Errorf("error %v, %d creations; want class %q and %d", err, table.calls["create"], tt.class, tt.creates)
				}
				if have := table.routes[tt.foreign.Destination]; tt.class != "" && have != tt.foreign {
					t.Errorf("the foreign route is %+v", have)
				}
			})
		})
	}
}

func TestPlanWarnsAboutForeignRouteAtPodCIDR(t *testing.T) {
	r := newRoutes(newTable(foreign("10.0.1.0/24", ""), foreign("10.0.9.0/24", "")))
	nodes := []*v1.Node{node("a", "10.0.1.0/24"), node("b", "10.0.2.0/24")}
	p, err := r.PlanRoutes(t.Context(), "c", nodes, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"node a: there is a route to 10.0.1.0/24 that does not belong to this cluster (theirs): remove it, or " +
		"give the node another pod CIDR"}
	if diff := cmp.Diff(want, p.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if len(p.Changes) != 1 || p.Changes[0].Name != "10.0.2.0/24" {
		t.Errorf("changes %v, want the route of node b alone", p.Changes)
	}
}
