package loadbalancer

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

var balancerRef = ref(KindLoadBalancer, "lb-web")

// preserving is a toy cloud that can keep each existing value.
type preserving struct{ *keeping }

var _ Keeper[kept, kept] = (*preserving)(nil)

// Keep implements Keeper.
func (c *preserving) Keep(want, have kept, differences []plan.Difference) kept {
	want.objects = maps.Clone(want.objects)
	for r, value := range have.objects {
		if slices.ContainsFunc(differences, func(d plan.Difference) bool { return d.Kind == r.Kind && d.Object == r.Name }) {
			want.objects[r] = value
		}
	}
	return want
}

// newPreserving returns a cluster whose cloud can keep each existing value.
func newPreserving(t *testing.T) *cluster {
	t.Helper()
	f := newKeeping(false)
	f.Controller = New(f.options, &preserving{f.cloud})
	return newClusterOf(t, f)
}

// takenOverWith returns a cluster whose load balancer another manager has made, with another value that disrupts nothing.
func takenOverWith(t *testing.T, value string) *cluster {
	t.Helper()
	c := newPreserving(t)
	c.sync(t)
	takeOver(c.keepingFixture)
	c.conditions = nil
	c.cloud.have[balancerRef] = value
	return c
}

// What was only seen is written once an edit causes it, or once it is approved: not beside another change, not after a
// restart, and not because the load balancer has got a record.
func TestSeenValueIsNotWritten(t *testing.T) {
	const theirs = "another manager's"
	c := takenOverWith(t, theirs)
	keeps := func(when string) {
		t.Helper()
		if got := c.cloud.have[balancerRef]; got != theirs {
			t.Fatalf("%s: the load balancer is %q", when, got)
		}
	}
	c.sync(t)
	keeps("taken over")
	edit := ranges("10.0.0.0/8")
	c.sync(t, edit)
	keeps("beside an edit")
	if got := c.listener(); got != "10.0.0.0/8" || len(c.cloud.records) == 0 {
		t.Errorf("the edit: listener %q, records %v", got, c.cloud.records)
	}
	c.sync(t, edit)
	c.restart()
	c.sync(t, edit)
	keeps("after a restart")
	if err := c.UpdateLoadBalancer(t.Context(), "prod", c.service(edit), []*v1.Node{node("b")}); err != nil {
		t.Fatal(err)
	}
	if got := c.cloud.have[ref("pool", "lb-web/80-TCP")]; got != "b" {
		t.Errorf("members %q", got)
	}
	writes := c.writes
	c.sync(t, edit)
	if keeps("after an update of members"); c.writes != writes {
		t.Errorf("%d writes of an idle sync", c.writes-writes)
	}
	c.sync(t, edit, annotated(intent.KeyScheme, "internal"))
	if got := c.cloud.have[balancerRef]; got != "internal" {
		t.Errorf("an edit of it: the load balancer is %q", got)
	}
}

func TestSeenValueIsWrittenOnceApproved(t *testing.T) {
	c := takenOverWith(t, "another manager's")
	c.sync(t)
	p := c.planned(t, c.service(), node("a"))
	if len(p.Held) != 1 || p.HeldID == "" {
		t.Fatalf("held %v", p.Held)
	}
	approved := annotated(intent.KeyApprove, p.HeldID)
	c.sync(t, approved)
	if got := c.cloud.have[balancerRef]; got == "another manager's" {
		t.Errorf("the load balancer is %q", got)
	}
	if held := c.heldNow(t, approved); len(held) > 0 {
		t.Errorf("held %v", held)
	}
	if h, _ := storedHistory(c.service()); len(h.SeenOnly) > 0 {
		t.Errorf("history %+v", h)
	}
}

// What is missing is created, and with the policy allow everything is written.
func TestSeenLoadBalancerGetsWhatIsMissing(t *testing.T) {
	c := takenOverWith(t, "another manager's")
	missing := ref("listener", "lb-web/443-TCP")
	delete(c.cloud.have, missing)
	c.sync(t)
	if _, exists := c.cloud.have[missing]; !exists {
		t.Error("the listener is still missing")
	}
	if got := c.cloud.have[balancerRef]; got != "another manager's" {
		t.Errorf("beside it: the load balancer is %q", got)
	}
	c.policy(provider.AllowDisruption)
	c.sync(t)
	if got := c.cloud.have[balancerRef]; got == "another manager's" {
		t.Errorf("allowed: the load balancer is %q", got)
	}
}

// What the cloud cannot keep by itself is written: held as a whole, it would hold what waits for it.
func TestSeenValueThatCannotBeKeptIsWritten(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	takeOver(c.keepingFixture)
	c.conditions = nil
	c.cloud.have[balancerRef] = "another manager's"
	c.sync(t)
	if got := c.cloud.have[balancerRef]; got == "another manager's" {
		t.Errorf("the load balancer is %q", got)
	}
	if held := c.heldNow(t); len(held) > 0 {
		t.Errorf("held %v", held)
	}
}

// A changed configuration is applied to a load balancer that this manager has made, if it disrupts nothing.
func TestAppliedLoadBalancerFollowsTheConfiguration(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	c.cloud.have[balancerRef] = "before the configuration changed"
	c.sync(t)
	if got := c.cloud.have[balancerRef]; got == "before the configuration changed" {
		t.Errorf("the load balancer is %q", got)
	}
}

// Too many places are all places.
func TestManySeenPlaces(t *testing.T) {
	held := func(n int) []plan.HeldChange {
		update := plan.Change{Ref: plan.Ref{Kind: "listener", Name: "tcp-80", Action: plan.Update}}
		for i := range n {
			update.Fields = append(update.Fields, plan.Field{Name: fmt.Sprint(i), After: "x"})
		}
		return []plan.HeldChange{{Change: update}}
	}
	if h := (history{}).withSeen(held(maxHeld), seenOnly{all: true}); len(h.SeenOnly) != maxHeld {
		t.Errorf("%d places", len(h.SeenOnly))
	}
	if h := (history{}).withSeen(held(1), seenOnly{}); len(h.SeenOnly) > 0 {
		t.Errorf("what waits for a held change of an applied load balancer counts as seen only: %v", h.SeenOnly)
	}
	h := history{}.withSeen(held(maxHeld+1), seenOnly{all: true})
	if seen := (seenOnly{places: h.SeenOnly}); len(h.SeenOnly) != 1 || !seen.has(held(1)[0].Harmless()[0]) {
		t.Errorf("places %v", h.SeenOnly)
	}
}
