package loadbalancer

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

func TestEnsureCreatesOnceAndThenChangesNothing(t *testing.T) {
	f, svc := newFixture(t), web()
	before := svc.DeepCopy()
	status := f.mustEnsure(t, svc, node("a"), node("b"))
	if len(status.Ingress) != 1 || status.Ingress[0].IP != "198.51.100.7" {
		t.Errorf("status %+v", status)
	}
	want := objects{
		ref("address", "lb-web"): "", ref("load balancer", "lb-web"): "public",
		ref("pool", "lb-web/80-TCP"): "a,b", ref("listener", "lb-web/80-TCP"): "",
		ref("pool", "lb-web/443-TCP"): "a,b", ref("listener", "lb-web/443-TCP"): "",
	}
	if diff := cmp.Diff(want, f.cloud.have); diff != "" {
		t.Errorf("cloud (-want +got):\n%s", diff)
	}
	mutations, fresh := len(f.cloud.mutations), f.cloud.fresh
	for range 3 {
		f.mustEnsure(t, svc, node("b"), node("a"))
	}
	if n := len(f.cloud.mutations) - mutations; n != 0 {
		t.Errorf("reconciles without a change made %d mutations", n)
	}
	if n := f.cloud.fresh - fresh; n != 0 {
		t.Errorf("reconciles without a change made %d authoritative reads; the snapshot is enough", n)
	}
	if diff := cmp.Diff(before, svc); diff != "" {
		t.Errorf("the Service was changed:\n%s", diff)
	}
}

func TestChangesNeedAuthoritativeRead(t *testing.T) {
	f, svc := newFixture(t), web()
	f.mustEnsure(t, svc, node("a"))
	mutations := len(f.cloud.mutations)
	for _, tc := range []struct {
		name     string
		snapshot objects
	}{
		{"everything seems missing", objects{}},
		{"something seems left over", objects{ref("listener", "lb-web/8080-TCP"): ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.cloud.snapshot = tc.snapshot
			f.mustEnsure(t, svc, node("a"))
			if err := f.UpdateLoadBalancer(t.Context(), "prod", svc, []*v1.Node{node("a")}); err != nil {
				t.Errorf("Update: %v", err)
			}
			if got := f.cloud.mutations[mutations:]; len(got) > 0 {
				t.Errorf("mutations %v", got)
			}
		})
	}
	f.cloud.snapshot = objects{}
	if _, exists, err := f.GetLoadBalancer(t.Context(), "prod", svc); err != nil || !exists {
		t.Errorf("Get on an old snapshot: exists %t, %v", exists, err)
	}
}

func TestEnsureFollowsTheService(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	changed := web(func(svc *v1.Service) {
		svc.Spec.Ports = svc.Spec.Ports[:1]
		svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	})
	mutations := len(f.cloud.mutations)
	f.mustEnsure(t, changed, node("b"))
	want := []string{
		"update pool lb-web/80-TCP", "update listener lb-web/80-TCP",
		"delete listener lb-web/443-TCP", "delete pool lb-web/443-TCP",
	}
	got := f.cloud.mutations[mutations:]
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("mutations (-want +got):\n%s", diff)
	}
	f.converged(t, changed, node("b"))
}

func TestEnsureRefusesBeforeTheFirstChange(t *testing.T) {
	t.Run("an invalid Service", func(t *testing.T) {
		f := newFixture(t)
		_, err := f.EnsureLoadBalancer(t.Context(), "prod", web(annotated(intent.KeyScheme, "pubic")), nil)
		want := `Service default/web: load-balancer.unified-ccm.io/scheme is "pubic": write public or internal (invalid)`
		if err == nil || err.Error() != want || !cloudapi.Is(err, cloudapi.Invalid) {
			t.Errorf("error %v", err)
		}
		if f.cloud.cached+f.cloud.fresh > 0 {
			t.Error("the cloud was called")
		}
	})
	t.Run("another cluster's load balancer", func(t *testing.T) {
		f := newFixture(t)
		f.cloud.have[ref("load balancer", "lb-web")] = "public"
		f.cloud.foreign = true
		_, err := f.EnsureLoadBalancer(t.Context(), "prod", web(), nil)
		if err == nil || !strings.Contains(err.Error(), "another cluster") || len(f.cloud.mutations) > 0 {
			t.Errorf("error %v, mutations %v", err, f.cloud.mutations)
		}
	})
}

func TestErrorsHaveRetryAfter(t *testing.T) {
	t.Run("throttled", func(t *testing.T) {
		f := newFixture(t)
		f.cloud.fault = func(int, bool) error {
			return &cloudapi.Error{Class: cloudapi.Throttled, Operation: "Create", RetryAfter: 7 * time.Second, Err: errors.New("slow down")}
		}
		_, err := f.EnsureLoadBalancer(t.Context(), "prod", web(), nil)
		expectRetry(t, err, 7*time.Second)
		if !cloudapi.Is(err, cloudapi.Throttled) {
			t.Errorf("class %s", cloudapi.ClassOf(err))
		}
	})
	t.Run("no address yet", func(t *testing.T) {
		f := newFixture(t)
		f.cloud.noAddress = true
		_, err := f.EnsureLoadBalancer(t.Context(), "prod", web(), nil)
		expectRetry(t, err, DefaultRetryAfter)
		if want := "load balancer lb-web has no address yet: the cloud is still working on it"; err.Error() != want {
			t.Errorf("error %v", err)
		}
	})
	t.Run("an address that never comes", func(t *testing.T) {
		f := newFixture(t)
		f.cloud.noAddress, f.cloud.failure = true, "could not be set up (no free address): delete the Service and create it again"
		_, err := f.EnsureLoadBalancer(t.Context(), "prod", web(), nil)
		var retry *api.RetryError
		if want := "load balancer lb-web " + f.cloud.failure; err == nil || err.Error() != want || errors.As(err, &retry) {
			t.Errorf("error %v (said when to come back: %t), want %s", err, retry != nil, want)
		}
	})
	t.Run("denied backs off", func(t *testing.T) {
		f := newFixture(t)
		f.cloud.fault = func(int, bool) error {
			return &cloudapi.Error{Class: cloudapi.Denied, Operation: "Create", Err: errors.New("no")}
		}
		_, err := f.EnsureLoadBalancer(t.Context(), "prod", web(), nil)
		var retry *api.RetryError
		if err == nil || errors.As(err, &retry) {
			t.Errorf("error %v", err)
		}
	})
}

func expectRetry(t *testing.T, err error, after time.Duration) {
	t.Helper()
	var retry *api.RetryError
	if !errors.As(err, &retry) || retry.RetryAfter() != after {
		t.Fatalf("error %v, want a RetryError of %s", err, after)
	}
}

func TestEnsureReportsChangeWithoutEffect(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	f.cloud.sticky = true
	_, err := f.EnsureLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("b")})
	want := "load balancer lb-web still differs from the desired state after all changes; remaining: " +
		"update pool lb-web/443-TCP (value: a → b), pool lb-web/80-TCP (value: a → b)"
	if err == nil || err.Error() != want {
		t.Errorf("error\n got %v\nwant %s", err, want)
	}
}

func TestDeletionIncludesWhatBecomesUnused(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	f.cloud.doing = func(_ context.Context, r plan.Ref) error {
		if r == ref("load balancer", "lb-web") { // Another Service, deleted at the same time, leaves an address.
			f.cloud.have[ref("address", "lb-web/shared")] = ""
		}
		return nil
	}
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", web()); err != nil {
		t.Fatal(err)
	}
	if len(f.cloud.have) > 0 {
		t.Errorf("remaining: %v", f.cloud.have)
	}
}

func TestDeletionReportsChangeWithoutEffect(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	f.cloud.fault = func(_ int, done bool) error {
		if done {
			f.cloud.have[ref("address", "lb-web")] = ""
		}
		return nil
	}
	err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", web())
	want := "load balancer lb-web still differs from the desired state after all changes; remaining: " +
		"delete address lb-web"
	if err == nil || err.Error() != want {
		t.Errorf("error\n got %v\nwant %s", err, want)
	}
}

func TestUpdateChangesMembersOnly(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	f.cloud.have[ref("listener", "lb-web/80-TCP")] = "changed by hand"
	mutations := len(f.cloud.mutations)
	if err := f.UpdateLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a"), node("b")}); err != nil {
		t.Fatal(err)
	}
	want := []string{"update pool lb-web/443-TCP", "update pool lb-web/80-TCP"}
	if diff := cmp.Diff(want, sorted(f.cloud.mutations[mutations:])); diff != "" {
		t.Errorf("mutations (-want +got):\n%s", diff)
	}
	if got := f.cloud.have[ref("listener", "lb-web/80-TCP")]; got != "changed by hand" {
		t.Errorf("the listener is %q; Ensure's business", got)
	}
}

// When a port and a node are added at the same time, the framework may update the members of the Service as it
// was before the port.
func TestUpdateWithOlderServiceReachesNewListeners(t *testing.T) {
	f, changed := newFixture(t), web()
	f.mustEnsure(t, web(), node("a"))
	changed.Spec.Ports = append(changed.Spec.Ports, v1.ServicePort{
		Name: "added", Protocol: v1.ProtocolTCP, Port: 8080, NodePort: 30999,
	})
	f.mustEnsure(t, changed, node("a"))
	if err := f.UpdateLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a"), node("b")}); err != nil {
		t.Fatal(err)
	}
	f.converged(t, changed, node("a"), node("b"))
}

// The framework drops an Update's error when Get reports that there is no load balancer, so Get reports one for
// that call; otherwise nothing would recreate it.
func TestUpdateOfDeletedLoadBalancerLeadsToEnsure(t *testing.T) {
	f, svc := newFixture(t), web()
	f.mustEnsure(t, svc, node("a"))
	clear(f.cloud.have)
	mutations := len(f.cloud.mutations)

	err := f.UpdateLoadBalancer(t.Context(), "prod", svc, []*v1.Node{node("b")})
	if !cloudapi.Is(err, cloudapi.NotFound) || !strings.Contains(err.Error(), "lb-web") {
		t.Errorf("Update: %v", err)
	}
	if _, exists, err := f.GetLoadBalancer(t.Context(), "prod", svc); err == nil || exists {
		t.Errorf("the framework's Get: exists %t, error %v; want an error", exists, err)
	}
	if _, exists, err := f.GetLoadBalancer(t.Context(), "prod", svc); err != nil || exists {
		t.Errorf("another Get: exists %t, error %v", exists, err)
	}
	if got := f.cloud.mutations[mutations:]; len(got) > 0 {
		t.Errorf("mutations %v", got)
	}
	f.mustEnsure(t, svc, node("b"))
	f.converged(t, svc, node("b"))
}

// One node that joins many load balancers costs the changes of their members, not reads before them.
func TestUpdateUsesSnapshotForMembers(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	reads := f.cloud.fresh
	if err := f.UpdateLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a"), node("b")}); err != nil {
		t.Fatal(err)
	}
	if f.cloud.fresh != reads {
		t.Errorf("%d authoritative reads", f.cloud.fresh-reads)
	}
	f.converged(t, web(), node("a"), node("b"))
}

func TestUpdateDetectsDeletionBehindSnapshot(t *testing.T) {
	f, svc := newFixture(t), web()
	f.mustEnsure(t, svc, node("a"))
	f.cloud.snapshot = maps.Clone(f.cloud.have)
	clear(f.cloud.have)
	f.cloud.fault = func(int, bool) error {
		return &cloudapi.Error{Class: cloudapi.NotFound, Operation: "UpdatePool", Err: errors.New("no such pool")}
	}

	err := f.UpdateLoadBalancer(t.Context(), "prod", svc, []*v1.Node{node("b")})
	if !cloudapi.Is(err, cloudapi.NotFound) || !strings.Contains(err.Error(), "does not exist, but") {
		t.Errorf("Update: %v", err)
	}
	if _, exists, err := f.GetLoadBalancer(t.Context(), "prod", svc); err == nil || exists {
		t.Errorf("the framework's Get: exists %t, error %v; want an error", exists, err)
	}
}

func TestUpdateReportsMembersThatMustWait(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	delete(f.cloud.have, ref("address", "lb-web")) // every pool now waits for a new address
	err := f.UpdateLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("b")})
	if err == nil || !strings.Contains(err.Error(), "2 changes of its members wait for other changes") {
		t.Errorf("error %v", err)
	}
}

func TestDeletion(t *testing.T) {
	everything := func(t *testing.T, f *fixture) { f.mustEnsure(t, web(), node("a")) }
	for _, tc := range []struct {
		name    string
		prepare func(*testing.T, *fixture)
		svc     *v1.Service
	}{
		{"of everything", everything, web()},
		{"of nothing", func(*testing.T, *fixture) {}, web()},
		{"of orphans", func(t *testing.T, f *fixture) {
			everything(t, f)
			delete(f.cloud.have, ref("load balancer", "lb-web"))
		}, web()},
		{"with annotations that are wrong", everything, web(annotated(intent.KeyScheme, "?"), func(svc *v1.Service) { svc.Spec.Ports = nil })},
		{"with a snapshot that knows nothing", func(t *testing.T, f *fixture) {
			everything(t, f)
			f.cloud.snapshot = objects{}
		}, web()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t)
			tc.prepare(t, f)
			left := len(f.cloud.have)
			if _, exists, err := f.GetLoadBalancer(t.Context(), "prod", tc.svc); err != nil || exists != (left > 0) {
				t.Errorf("before: exists %t, %v, want %t", exists, err, left > 0)
			}
			if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", tc.svc); err != nil {
				t.Fatal(err)
			}
			if len(f.cloud.have) > 0 {
				t.Errorf("left over: %v", f.cloud.have)
			}
			if _, exists, err := f.GetLoadBalancer(t.Context(), "prod", tc.svc); err != nil || exists {
				t.Errorf("after: exists %t, %v", exists, err)
			}
		})
	}
}

func TestDeletionKeepsObjectsOfOtherClusters(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web())
	f.cloud.foreign = true
	count := len(f.cloud.have)
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", web()); err != nil {
		t.Fatal(err)
	}
	if len(f.cloud.have) != count {
		t.Errorf("%d of %d objects left", len(f.cloud.have), count)
	}
}

func TestPlanMakesNoMutation(t *testing.T) {
	f := newFixture(t)
	p, err := f.PlanLoadBalancer(t.Context(), "prod", web(annotated(intent.Prefix+"schem", "internal")), []*v1.Node{node("a")},
		PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Count()[plan.Create]; n != 6 || p.Subject != "Service default/web" {
		t.Errorf("%d creations about %q", n, p.Subject)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "did you mean") {
		t.Errorf("warnings %q", p.Warnings)
	}
	if len(f.cloud.mutations) > 0 {
		t.Errorf("mutations %v", f.cloud.mutations)
	}
	if events := f.eventsNow(); len(events) > 0 {
		t.Errorf("events %q", events)
	}

	f.mustEnsure(t, web(), node("a"))
	mutations := len(f.cloud.mutations)
	p, err = f.PlanLoadBalancer(t.Context(), "prod", web(annotated(intent.KeyScheme, "?")), nil, PlanOptions{Remove: true})
	if err != nil || p.Count()[plan.Delete] != 6 || len(f.cloud.mutations) != mutations {
		t.Errorf("removal: %v, %s, %d mutations", err, plan.Summary(p), len(f.cloud.mutations)-mutations)
	}
}

func TestOnlyOurNodesBecomeTargets(t *testing.T) {
	owns := func(o *Options) {
		o.OwnsNode = func(n *v1.Node) provider.Ownership {
			switch {
			case n.Spec.ProviderID == "":
				return provider.Unknown
			case strings.HasPrefix(n.Spec.ProviderID, "toy://"):
				return provider.Mine
			}
			return provider.Foreign
		}
	}
	with := func(name, id string, labels map[string]string) *v1.Node {
		n := node(name)
		n.Spec.ProviderID, n.Labels = id, labels
		return n
	}
	f := newFixture(t, owns)
	f.mustEnsure(t, web(),
		node("mine"), with("foreign", "other://x", nil), with("unknown", "", nil),
		with("opted-out", "toy://x", map[string]string{provider.ManagedLabel: "false"}),
		with("opted-in", "toy://y", map[string]string{provider.ManagedLabel: "true"}),
	)
	if got := f.cloud.have[ref("pool", "lb-web/80-TCP")]; got != "mine,opted-in" {
		t.Errorf("members %q", got)
	}
}

func TestCallEndsAtTimeout(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Timeout = time.Millisecond })
	f.cloud.ready = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	_, err := f.EnsureLoadBalancer(t.Context(), "prod", web(), nil)
	if !errors.Is(err, context.DeadlineExceeded) || !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Errorf("error %v", err)
	}
}

func TestNameDependsOnServiceOnly(t *testing.T) {
	f := newFixture(t)
	if got := f.GetLoadBalancerName(t.Context(), "prod", web()); got != "lb-web" || f.cloud.cached+f.cloud.fresh > 0 {
		t.Errorf("name %q", got)
	}
}
