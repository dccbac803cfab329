package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

func TestSentinelsPassUnwrapped(t *testing.T) {
	n, svc := node("n", "spy://1"), &v1.Service{}
	methods := map[string]func(f *fixture) error{
		"InstanceExists":   func(f *fixture) error { _, err := f.instances.InstanceExists(t.Context(), n); return err },
		"InstanceShutdown": func(f *fixture) error { _, err := f.instances.InstanceShutdown(t.Context(), n); return err },
		"InstanceMetadata": func(f *fixture) error { _, err := f.instances.InstanceMetadata(t.Context(), n); return err },
		"GetLoadBalancer":  func(f *fixture) error { _, _, err := f.loadBalancer.GetLoadBalancer(t.Context(), "c", svc); return err },
		"EnsureLoadBalancer": func(f *fixture) error {
			_, err := f.loadBalancer.EnsureLoadBalancer(t.Context(), "c", svc, nil)
			return err
		},
		"UpdateLoadBalancer": func(f *fixture) error { return f.loadBalancer.UpdateLoadBalancer(t.Context(), "c", svc, nil) },
		"EnsureLoadBalancerDeleted": func(f *fixture) error {
			return f.loadBalancer.EnsureLoadBalancerDeleted(t.Context(), "c", svc)
		},
		"ListRoutes":  func(f *fixture) error { _, err := f.routes.ListRoutes(t.Context(), "c"); return err },
		"CreateRoute": func(f *fixture) error { return f.routes.CreateRoute(t.Context(), "c", "h", &cloudprovider.Route{}) },
		"DeleteRoute": func(f *fixture) error { return f.routes.DeleteRoute(t.Context(), "c", &cloudprovider.Route{}) },
		"Check":       func(f *fixture) error { return f.Check(t.Context()) },
	}
	sentinels := []error{cloudprovider.InstanceNotFound, cloudprovider.NotImplemented, cloudprovider.ImplementedElsewhere,
		errors.New("other")}
	for name, call := range methods {
		t.Run(name, func(t *testing.T) {
			for _, want := range sentinels {
				f := newFixture(t, Options{})
				f.spy.err = want
				if got := call(f); got != want { //nolint:errorlint // the framework compares with ==
					t.Errorf("got %v, want %v itself", got, want)
				}
			}
		})
	}
}

func TestForeignNodesAreNotChanged(t *testing.T) {
	for name, n := range map[string]*v1.Node{
		"another cloud's provider ID": node("n", "other://1"),
		"opted out by label":          optOut(node("n", "spy://1")),
		"opted out without an ID":     optOut(node("n", "")),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Options{})
			f.spy.exists = false
			f.exists(t, n, true)
			if down, err := f.instances.InstanceShutdown(t.Context(), n); down || err != nil {
				t.Errorf("shutdown = %v, %v", down, err)
			}
			if got, err := f.instances.InstanceMetadata(t.Context(), tainted(n.DeepCopy())); got != nil || err != nil {
				t.Errorf("metadata while uninitialised = %v, %v, want nil: the framework takes anything else as its own node's",
					got, err)
			}
			got, err := f.instances.InstanceMetadata(t.Context(), n)
			if err != nil || got == nil || cmp.Diff(&cloudprovider.InstanceMetadata{}, got) != "" {
				t.Errorf("metadata once initialised = %v, %v, want empty: the framework dereferences it", got, err)
			}
			if len(f.spy.calls) != 0 {
				t.Errorf("unexpected calls to the provider: %v", f.spy.calls)
			}
			if said := f.said(); len(said) != 1 || !strings.Contains(said[0], events.NodeNotOurs.String()) {
				t.Errorf("events = %v, want one", said)
			}
		})
	}
}

func TestUnknownNodes(t *testing.T) {
	f := newFixture(t, Options{})
	n := tainted(node("n", ""))
	if got, err := f.instances.InstanceMetadata(t.Context(), n); err != nil || got.ProviderID != "spy://1" {
		t.Errorf("a joining node is looked up: %v, %v", got, err)
	}
	if down, err := f.instances.InstanceShutdown(t.Context(), n); down || err != nil {
		t.Errorf("shutdown = %v, %v", down, err)
	}
	f.spy.err = cloudprovider.InstanceNotFound
	if _, err := f.instances.InstanceMetadata(t.Context(), n); err != cloudprovider.InstanceNotFound { //nolint:errorlint // the framework compares with ==
		t.Errorf("a joining node that is not found: %v", err)
	}
}

func TestDeletionNeedsTwoAnswersApart(t *testing.T) {
	f := newFixture(t, Options{})
	n := node("n", "spy://1")
	f.spy.exists = false
	f.exists(t, n, true)
	f.exists(t, n, true)
	f.pass(DefaultConfirmation - time.Second)
	f.exists(t, n, true)
	f.pass(time.Second)
	f.exists(t, n, false)
	f.exists(t, n, false)
	if said := f.said(); len(said) != 1 || !strings.Contains(said[0], "--node-deletion-confirmation") {
		t.Errorf("events = %v, want one that names the flag", said)
	}
}

func TestInstanceFoundAgainRestartsConfirmation(t *testing.T) {
	f := newFixture(t, Options{})
	n := node("n", "spy://1")
	f.spy.exists = false
	f.exists(t, n, true)
	f.pass(DefaultConfirmation)
	f.spy.exists = true
	f.exists(t, n, true)
	f.spy.exists = false
	f.exists(t, n, true)
	if said := f.said(); len(said) != 3 || !strings.Contains(said[1], events.InstanceFound.String()) {
		t.Errorf("events = %v", said)
	}
}

func TestOldAbsenceExpires(t *testing.T) {
	f := newFixture(t, Options{})
	f.spy.exists = false
	n := node("n", "spy://1")
	f.exists(t, n, true)
	f.pass(forgetAfter + time.Second)
	f.exists(t, n, true)
	f.pass(forgetAfter + time.Second)
	f.exists(t, node("other", "spy://2"), true)
	if absent := f.instances.deletions.absent; len(absent) != 1 {
		t.Errorf("memory holds %d absences, want the live one", len(absent))
	}
}

func TestUnknownNodesHaveGracePeriod(t *testing.T) {
	tests := map[string]struct {
		grace   time.Duration
		after   time.Duration
		deleted bool
	}{
		"within it":    {10 * time.Minute, 9 * time.Minute, false},
		"after it":     {10 * time.Minute, 10 * time.Minute, true},
		"forever":      {-1, 1000 * time.Hour, false},
		"the default":  {0, DefaultNotFoundGrace - time.Minute, false},
		"default over": {0, DefaultNotFoundGrace, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Options{NotFoundGrace: test.grace})
			f.spy.exists = false
			n := node("n", "")
			for since := time.Duration(0); since < test.after; since += time.Minute {
				f.exists(t, n, true)
				f.pass(min(time.Minute, test.after-since))
				if since > 2*time.Hour {
					break
				}
			}
			f.exists(t, n, !test.deleted)
		})
	}
}

func TestDeletionsAreLimited(t *testing.T) {
	f := newFixture(t, Options{MaxDeletions: 2, Confirmation: -1})
	f.spy.exists = false
	a, b, c := node("a", "spy://1"), node("b", "spy://2"), node("c", "spy://3")
	f.exists(t, a, false)
	f.exists(t, a, false) // checked again because the API refused the deletion: counts once
	f.exists(t, b, false)
	f.exists(t, c, true)
	f.exists(t, c, true)
	if said := f.said(); len(said) != 1 || !strings.Contains(said[0], "--max-node-deletions") ||
		!strings.HasPrefix(said[0], v1.EventTypeWarning) {
		t.Errorf("events = %v, want one warning that names the flag", said)
	}
	if down, err := f.instances.InstanceShutdown(t.Context(), c); err != nil || !down {
		t.Errorf("shutdown of a node that exists = %v, %v", down, err)
	}
	f.spy.err = cloudprovider.InstanceNotFound
	if down, err := f.instances.InstanceShutdown(t.Context(), c); err != nil || down {
		t.Errorf("shutdown of a node that is kept = %v, %v, want no answer that taints or alarms", down, err)
	}
	f.spy.err = nil
	f.pass(DefaultDeletionInterval)
	f.exists(t, c, false)
}

func ready(n *v1.Node) *v1.Node {
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	return n
}

// A cloud that finds no machine of the cluster is another project or region: nothing is deleted because of it.
func TestCloudMustFindReadyNodes(t *testing.T) {
	lost := node("lost", "spy://1")
	for name, test := range map[string]struct {
		others  []*v1.Node
		found   map[string]bool
		deleted bool
		lookups int
	}{
		"none is Ready":              {others: []*v1.Node{node("a", "spy://2")}, deleted: true},
		"no other node":              {deleted: true},
		"one is found":               {others: []*v1.Node{ready(node("a", "spy://2"))}, found: map[string]bool{"a": true}, deleted: true, lookups: 1},
		"one of three is found":      {others: []*v1.Node{ready(node("a", "spy://2")), ready(node("b", "spy://3")), ready(node("c", "spy://4"))}, found: map[string]bool{"a": true}, deleted: true, lookups: 3},
		"one is not found":           {others: []*v1.Node{ready(node("a", "spy://2"))}, lookups: 1},
		"none of many is found":      {others: []*v1.Node{ready(node("a", "spy://2")), ready(node("b", "spy://3")), ready(node("c", "spy://4")), ready(node("d", "spy://5"))}, lookups: 3},
		"others are of other clouds": {others: []*v1.Node{ready(node("a", "other://2")), ready(node("b", "")), ready(optOut(node("c", "spy://4")))}, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Options{Confirmation: -1})
			f.spy.exists, f.spy.found = false, test.found
			f.withNodes(t, append(test.others, lost)...)
			f.exists(t, lost, !test.deleted)
			f.exists(t, lost, !test.deleted)
			if lookups := len(f.spy.calls) - 3; lookups != test.lookups { // without those of the node, and SetInformers
				t.Errorf("%d lookups of other nodes, want %d: %q", lookups, test.lookups, f.spy.calls)
			}
			said := f.said()
			if test.deleted && len(said) > 0 || !test.deleted && (len(said) != 1 || !strings.Contains(said[0], "(")) {
				t.Errorf("events %q", said)
			}
			// The next answers are about the cloud of the corrected configuration.
			f.spy.found = map[string]bool{"a": true, "b": true, "c": true, "d": true}
			f.pass(peersAge + time.Second)
			f.exists(t, lost, false)
		})
	}
}

// The account of the cloud changes once, at any of its calls: to a wrong one, or back. A node whose instance exists in the
// right one is not deleted, whatever else is read meanwhile; one without an instance is.
func TestAccountChangesOnce(t *testing.T) {
	for call := range 41 {
		for _, right := range []bool{true, false} {
			testAccountChange(t, right, call, node("silent", "spy://1"))
			testAccountChange(t, right, call, node("gone", "spy://2"), node("silent", "spy://1"))
		}
	}
}

// testAccountChange checks silent nodes in their order every five seconds, while the account changes at a call.
func testAccountChange(t *testing.T, right bool, call int, silent ...*v1.Node) {
	t.Helper()
	f := newFixture(t, Options{})
	calls := 0
	f.spy.answer = func(name string) bool {
		f.pass(time.Millisecond)
		if calls++; calls == call {
			right = !right
		}
		return right && name != "gone"
	}
	f.withNodes(t, append(silent, ready(node("a", "spy://3")), ready(node("b", "spy://4")))...)
	deleted := map[string]bool{}
	for range 50 {
		for _, n := range silent {
			exists, err := f.instances.InstanceExists(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			deleted[n.Name] = deleted[n.Name] || !exists
		}
		f.pass(5 * time.Second)
	}
	if calls <= call || deleted["silent"] || right && len(silent) > 1 && !deleted["gone"] {
		t.Errorf("changed at call %d of %d, right at the end %v: deleted %v", call, calls, right, deleted)
	}
}

// One cloud of several answers for another account: a node without a provider ID may be its own.
func TestUnidentifiedNodesAreKeptBesideAnotherAccount(t *testing.T) {
	one, two := newFixture(t, Options{}), newFixture(t, Options{})
	for _, f := range []*fixture{one, two} {
		f.spy.exists, f.spy.found = false, map[string]bool{"a": true}
		f.withNodes(t, ready(node("a", "spy://1")))
	}
	has := func(context.Context, *v1.Node) (bool, error) { return false, nil }
	all, ok := Unidentified([]provider.InstanceFinder{one, two}, has, Options{Clock: one.clock}).InstancesV2()
	if !ok {
		t.Fatal("no instances")
	}
	check := func() (exists bool) {
		for range DefaultNotFoundGrace/time.Minute + 1 {
			var err error
			if exists, err = all.InstanceExists(t.Context(), node("joined", "")); err != nil {
				t.Error(err)
			}
			one.pass(time.Minute)
			two.pass(time.Minute)
		}
		return exists
	}
	two.spy.found = nil
	if !check() {
		t.Error("the node is deleted although one cloud does not find its Ready node")
	}
	two.spy.found = map[string]bool{"a": true}
	if check() {
		t.Error("the node is kept although both clouds find their Ready nodes")
	}
}

func TestErrorsNeverDeleteNodes(t *testing.T) {
	f := newFixture(t, Options{Confirmation: 10 * time.Second})
	n := node("n", "spy://1")
	f.spy.exists, f.spy.err = false, errors.New("denied")
	for range 5 {
		if _, err := f.instances.InstanceExists(t.Context(), n); err == nil {
			t.Error("the error was swallowed")
		}
		f.pass(time.Minute)
	}
	f.spy.err = nil
	f.exists(t, n, true)
}

func TestDryRun(t *testing.T) {
	f := newFixture(t, Options{DryRun: true})
	f.spy.plan = plan.Plan{Subject: "Service default/web",
		Changes: []plan.Change{{Ref: plan.Ref{Kind: "listener", Name: "80", Action: plan.Create}}}}
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "198.51.100.1"}}
	mine := node("mine", "spy://1")
	for range 2 {
		status, err := f.loadBalancer.EnsureLoadBalancer(t.Context(), "c", svc, []*v1.Node{mine})
		if diff := cmp.Diff(&svc.Status.LoadBalancer, status); err != nil || diff != "" {
			t.Errorf("Ensure: %v (-want +got):\n%s", err, diff)
		}
	}
	if said := f.said(); len(said) != 1 || !strings.Contains(said[0], events.DryRunPlan.String()) ||
		!strings.Contains(said[0], "listener") {
		t.Errorf("events = %v, want the plan once", said)
	}
	if err := f.loadBalancer.EnsureLoadBalancerDeleted(t.Context(), "c", svc); err == nil ||
		!strings.Contains(err.Error(), "dry run") {
		t.Errorf("Deleted = %v, want an error that keeps the finalizer", err)
	}
	_ = f.routes.CreateRoute(t.Context(), "c", "h", &cloudprovider.Route{TargetNode: "mine"})
	_ = f.routes.DeleteRoute(t.Context(), "c", &cloudprovider.Route{Name: "r"})
	f.spy.exists = false
	f.exists(t, mine, true)
	f.pass(time.Minute)
	f.exists(t, mine, true)
	if down, err := f.instances.InstanceShutdown(t.Context(), mine); down || err != nil {
		t.Errorf("shutdown = %v, %v", down, err)
	}
	if got, err := f.instances.InstanceMetadata(t.Context(), tainted(mine.DeepCopy())); got != nil || err != nil {
		t.Errorf("metadata of a tainted node = %v, %v", got, err)
	}
	if got, err := f.instances.InstanceMetadata(t.Context(), mine); got == nil || err != nil {
		t.Errorf("metadata of an initialised node = %v, %v", got, err)
	}
	want := []string{"PlanLoadBalancer [mine] false", "PlanLoadBalancer [mine] false", "PlanLoadBalancer [] true",
		"InstanceExists mine", "InstanceExists mine"}
	if diff := cmp.Diff(want, f.spy.calls); diff != "" {
		t.Errorf("what reached the provider (-want +got):\n%s", diff)
	}
	f.spy.plan = plan.Plan{}
	if err := f.loadBalancer.EnsureLoadBalancerDeleted(t.Context(), "c", svc); err != nil {
		t.Errorf("nothing to delete: %v", err)
	}
}

func TestInitializePassesRuntimeFirst(t *testing.T) {
	f := newFixture(t, Options{})
	f.Initialize(nil, make(chan struct{}))
	if diff := cmp.Diff([]string{"SetRuntime", "Initialize"}, f.spy.calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f.spy.runtime.Recorder == nil {
		t.Error("the recorder is nil")
	}
}

func TestConcurrentAnswersAreCountedOnce(t *testing.T) {
	f := newFixture(t, Options{MaxDeletions: 3, Confirmation: -1})
	f.spy.exists = false
	var mu sync.Mutex
	deleted := map[string]bool{}
	var group sync.WaitGroup
	for i := range 64 {
		name := fmt.Sprintf("n%d", i%16)
		group.Go(func() {
			exists, err := f.instances.InstanceExists(t.Context(), node(name, "spy://"+name))
			mu.Lock()
			defer mu.Unlock()
			if err == nil && !exists {
				deleted[name] = true
			}
		})
	}
	group.Wait()
	if len(deleted) != 3 {
		t.Errorf("%d nodes were deleted, want the limit of 3", len(deleted))
	}
}

func TestFlags(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string // part of the error; "" for none
	}{
		"defaults":            {},
		"switched off":        {args: []string{"--max-node-deletions=-1", "--node-not-found-grace=-1s", "--node-deletion-confirmation=-1s"}},
		"zero is ambiguous":   {args: []string{"--max-node-deletions=0"}, want: "or -1 for no limit"},
		"interval of nothing": {args: []string{"--node-deletion-interval=0s"}, want: "--node-deletion-interval"},
		"disruption":          {args: []string{"--load-balancer-disruption=hold-all"}},
		"unknown disruption":  {args: []string{"--load-balancer-disruption=never"}, want: "use hold, allow or hold-all"},
		"selector":            {args: []string{"--node-filter-requirements=zone=a,!edge"}},
		"broken selector":     {args: []string{"--node-filter-requirements=zone in a"}, want: "is not a label selector"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var o Options
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.AddFlags(fs)
			if err := fs.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			err := o.Validate()
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Validate = %v, want %q", err, test.want)
			}
			fs.VisitAll(func(f *pflag.Flag) {
				if len(f.Usage) < 40 {
					t.Errorf("--%s does not give its reason: %q", f.Name, f.Usage)
				}
			})
		})
	}
}
