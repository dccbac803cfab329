package loadbalancer

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

func TestWarningsAreSentOnceUntilTheyChange(t *testing.T) {
	f := newFixture(t)
	const changed = "Normal LoadBalancerChanged create address lb-web, load balancer lb-web, " +
		"pool lb-web/443-TCP, pool lb-web/80-TCP, listener lb-web/443-TCP, listener lb-web/80-TCP"
	const slip = "Warning UnknownAnnotation " + intent.Prefix + "schem: no such annotation, so it has no effect; did you mean " + intent.KeyScheme + "?"
	const loose = "Warning IgnoredSetting " + intent.KeySourceRanges + `: "10.1.0.0/8" is read as 10.0.0.0/8; write it so`
	wrong := annotated(intent.Prefix+"schem", "internal")
	step := func(name string, want []string, act func()) {
		t.Helper()
		act()
		if diff := cmp.Diff(want, f.eventsNow()); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
	}
	step("first", []string{slip, changed}, func() { f.mustEnsure(t, web(wrong)) })
	step("nothing new", nil, func() { f.mustEnsure(t, web(wrong)) })
	step("one more", []string{loose, "Normal LoadBalancerChanged update listener lb-web/443-TCP (value: (none) → 10.0.0.0/8), listener lb-web/80-TCP (value: (none) → 10.0.0.0/8)"},
		func() { f.mustEnsure(t, web(wrong, annotated(intent.KeySourceRanges, "10.1.0.0/8"))) })
	step("all well", nil, func() { f.mustEnsure(t, web(annotated(intent.KeySourceRanges, "10.0.0.0/8"))) })
	step("wrong again", []string{slip}, func() {
		f.mustEnsure(t,
			web(wrong, annotated(intent.KeySourceRanges, "10.0.0.0/8")))
	})
}

func TestPlanWarningsAreSentOnceAndAgainForNewService(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web())
	f.eventsNow()
	f.cloud.warnings = []string{"the address was made by hand and is kept"}
	want := []string{"Warning LoadBalancerWarning the address was made by hand and is kept"}
	for _, expected := range [][]string{want, nil} {
		f.mustEnsure(t, web())
		if diff := cmp.Diff(expected, f.eventsNow()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", web()); err != nil {
		t.Fatal(err)
	}
	f.eventsNow()
	f.mustEnsure(t, web())
	if got := f.eventsNow(); len(got) == 0 || got[0] != want[0] {
		t.Errorf("events of the new Service: %q", got)
	}
}

func TestFailedApplyReportsAppliedChanges(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Parallel = 1 })
	f.cloud.fault = func(n int, _ bool) error {
		if n == 3 {
			return &cloudapi.Error{Class: cloudapi.Quota, Operation: "CreatePool", Err: errors.New("no room")}
		}
		return nil
	}
	_, err := f.EnsureLoadBalancer(t.Context(), "prod", web(), nil)
	if want := "create pool lb-web/443-TCP: CreatePool: no room (quota)"; err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	want := []string{"Normal LoadBalancerChanged create address lb-web, load balancer lb-web"}
	if diff := cmp.Diff(want, f.eventsNow()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The reason that a load balancer outlives its Service must reach the owner before the Service is deleted.
func TestPlanWarningsAreSentAtDeletion(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web())
	f.eventsNow()
	f.cloud.warnings = []string{"the load balancer is another cluster's and is left alone"}
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", web()); err != nil {
		t.Fatal(err)
	}
	want := "Warning LoadBalancerWarning the load balancer is another cluster's and is left alone"
	if got := f.eventsNow(); len(got) == 0 || got[0] != want {
		t.Errorf("events %q, want %q first", got, want)
	}
}

// A provider keeps the reasons that its users' alerts look for.
func TestPlanWarningsWithReasonsOfTheirOwn(t *testing.T) {
	f := newFixture(t)
	f.cloud.warnings = []string{"it is internal all the same", "something else"}
	f.cloud.reasons = map[string]events.Reason{
		"it is internal all the same": events.LoadBalancerForcedInternal}
	f.mustEnsure(t, web())
	want := []string{"Warning LoadBalancerForcedInternal it is internal all the same",
		"Warning LoadBalancerWarning something else"}
	if diff := cmp.Diff(want, f.eventsNow()[:2]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestLongEventsAreCut(t *testing.T) {
	f := newFixture(t)
	f.cloud.warnings = []string{strings.Repeat("ü", 2000)}
	f.mustEnsure(t, web())
	message := strings.TrimPrefix(f.eventsNow()[0], "Warning LoadBalancerWarning ")
	if len(message) > 1024 || !utf8.ValidString(message) || !strings.HasSuffix(message, "… (more in the log)") {
		t.Errorf("%d bytes, valid %t", len(message), utf8.ValidString(message))
	}
}

func TestEventsWithoutRuntimeAreDropped(t *testing.T) {
	cloud := &toy{have: objects{}}
	c := New(Options{Provider: "toy"}, cloud)
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", web(annotated(intent.Prefix+"x", "y")), nil); err != nil {
		t.Fatal(err)
	}
}

// An Event about a change of nodes is sent with that change, and not again with the next sync.
func TestPlanWarningsAreSentOnChangeOfNodes(t *testing.T) {
	f := newFixture(t)
	svc := web()
	f.mustEnsure(t, svc, node("a"))
	f.eventsNow()
	f.cloud.warnings = []string{"nodes in zone-b receive no traffic"}
	for _, nodes := range [][]*v1.Node{{node("a"), node("b")}, {node("a"), node("b"), node("c")},
		{node("a"), node("b"), node("c")}} {
		if err := f.UpdateLoadBalancer(t.Context(), "prod", svc, nodes); err != nil {
			t.Fatal(err)
		}
	}
	f.mustEnsure(t, svc, node("a"), node("b"), node("c"))
	events := 0
	for _, event := range f.eventsNow() {
		if strings.Contains(event, "zone-b") {
			events++
		}
	}
	if events != 1 {
		t.Errorf("got %d Events, want 1", events)
	}
}
