package guard

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// A provider with a defect gets no calls for some time, and others get theirs.
func TestPanicsParkAProvider(t *testing.T) {
	f, other := newFixture(t, Options{}), newFixture(t, Options{})
	n := node("n", "spy://1")
	f.spy.panics = true
	for i := range maxPanics {
		if _, err := f.instances.InstanceExists(t.Context(), n); !errors.As(err, new(*panics.Error)) {
			t.Fatalf("call %d: %v, want the panic", i, err)
		}
	}
	f.spy.panics = false
	calls := len(f.spy.calls)
	if _, err := f.loadBalancer.EnsureLoadBalancer(t.Context(), "c", &v1.Service{}, nil); !errors.Is(err, errPanic) {
		t.Errorf("a call of a parked provider: %v", err)
	}
	if len(f.spy.calls) != calls {
		t.Error("a parked provider was called")
	}
	if parts := f.Health(); len(parts) != 1 || parts[0].Part != partProvider || parts[0].Err == nil {
		t.Errorf("health %v", parts)
	}
	if _, err := other.instances.InstanceExists(t.Context(), n); err != nil {
		t.Errorf("another provider: %v", err)
	}
	f.pass(parkedFor)
	if _, err := f.instances.InstanceExists(t.Context(), n); err != nil {
		t.Errorf("after %s: %v", parkedFor, err)
	}
	if parts := f.Health(); len(parts) > 0 {
		t.Errorf("health %v", parts)
	}
}

func TestRarePanicsParkNothing(t *testing.T) {
	f := newFixture(t, Options{})
	for range 3 * maxPanics {
		f.spy.panics = true
		if _, err := f.instances.InstanceExists(t.Context(), node("n", "spy://1")); err == nil {
			t.Fatal("no error")
		}
		f.spy.panics = false
		f.pass(panicInterval / 2)
		if _, err := f.instances.InstanceExists(t.Context(), node("n", "spy://1")); err != nil {
			t.Fatal(err)
		}
	}
}

// A panic never counts as the answer that a machine does not exist.
func TestPanicDeletesNoNode(t *testing.T) {
	f := newFixture(t, Options{Confirmation: -1})
	f.spy.exists, f.spy.panics = false, true
	if exists, err := f.instances.InstanceExists(t.Context(), node("n", "spy://1")); err == nil {
		t.Errorf("exists %t without an error", exists)
	}
}

// What may be of any cloud counts together with the deletions of all.
func TestBudgetOfSeveralClouds(t *testing.T) {
	b, now := NewBudget(), time.Unix(0, 0)
	take := func(name string, want bool) {
		t.Helper()
		if _, ok := b.take(name, now, time.Minute, 2); ok != want {
			t.Errorf("%s: %t, want %t", name, ok, want)
		}
	}
	take("aws", true)
	take("openstack", true)
	take(unidentified, false) // The two clouds have deleted two Nodes.
	take("aws", true)         // Each cloud has a limit of its own,
	take("aws", false)
	take("openstack", true) // which another one does not use up.
	now = now.Add(time.Minute)
	take(unidentified, true)
	take(unidentified, true)
	take(unidentified, false)
	take("aws", true)
}

// Nodes without a provider ID are deleted after the grace period, and only if all clouds said no without a gap.
func TestUnidentifiedNodesAreKept(t *testing.T) {
	clk := newFixture(t, Options{}).clock
	exists, err := false, error(nil)
	cloud := Unidentified(nil, func(context.Context, *v1.Node) (bool, error) { return exists, err },
		Options{NotFoundGrace: 10 * time.Minute, Clock: clk})
	instances, _ := cloud.InstancesV2()
	n := node("n", "")
	for range 9 {
		if got, err := instances.InstanceExists(t.Context(), n); !got || err != nil {
			t.Fatalf("within the grace period: %t, %v", got, err)
		}
		clk.Step(time.Minute)
	}
	err = errors.New("one cloud does not answer")
	for range 60 {
		if _, err := instances.InstanceExists(t.Context(), n); err == nil {
			t.Fatal("the error was swallowed")
		}
		clk.Step(time.Minute)
	}
	err = nil
	if got, err := instances.InstanceExists(t.Context(), n); !got || err != nil {
		t.Errorf("after an hour without an answer: %t, %v, want another grace period", got, err)
	}
	for range 10 {
		clk.Step(time.Minute)
		if _, err := instances.InstanceExists(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := instances.InstanceExists(t.Context(), n); got || err != nil {
		t.Errorf("after the grace period: %t, %v", got, err)
	}
	if got, _ := instances.InstanceExists(t.Context(), node("m", "aws:///i-1")); !got {
		t.Error("a Node with a provider ID would be deleted")
	}
}

// A provider that has not started says nothing, instead of no.
func TestHasInstanceNeedsAStartedProvider(t *testing.T) {
	f := newFixture(t, Options{})
	f.spy.exists = false
	var finder provider.InstanceFinder = f.guarded
	for name, has := range map[string]existsFunc{"has": finder.HasInstance, "joining": finder.HasJoiningInstance} {
		if _, err := has(t.Context(), node("n", "")); err == nil {
			t.Errorf("%s: no error before the start", name)
		}
	}
	f.Initialize(nil, make(chan struct{}))
	for name, has := range map[string]existsFunc{"has": finder.HasInstance, "joining": finder.HasJoiningInstance} {
		if has, err := has(t.Context(), node("n", "")); has || err != nil {
			t.Errorf("%s after the start: %t, %v", name, has, err)
		}
	}
}
