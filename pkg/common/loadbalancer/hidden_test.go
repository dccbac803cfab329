package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// hiding is a toy cloud that replaces load balancers with their listeners, of which its plans then have no changes.
type hiding struct{ preserving }

func (c *hiding) Diff(key Key, want *kept, have kept) (plan.Plan, error) {
	p, err := c.preserving.Diff(key, want, have)
	i := slices.IndexFunc(p.Changes, func(change plan.Change) bool {
		return change.Kind == KindLoadBalancer && change.Action == plan.Update
	})
	if i < 0 {
		return p, err
	}
	replace := p.Changes[i].Do
	p.Changes[i].Do = func(ctx context.Context, ids *plan.Handles) error {
		if err := replace(ctx, ids); err != nil {
			return err
		}
		for r, value := range want.objects {
			if r.Kind == "listener" {
				c.have[r] = value
			}
		}
		return nil
	}
	p.Changes = slices.DeleteFunc(p.Changes, func(change plan.Change) bool { return change.Kind == "listener" })
	return p, err
}

// newHiding returns a cluster whose cloud replaces load balancers for another scheme.
func newHiding(t *testing.T) *cluster {
	t.Helper()
	f := newKeeping(false)
	f.Controller = New(f.options, &hiding{preserving{f.cloud}})
	c := newClusterOf(t, f)
	listeners := c.cloud.declare
	c.cloud.declare = func(change *plan.Change) {
		if listeners(change); change.Kind == KindLoadBalancer && change.Action == plan.Update {
			change.Disrupts = plan.DisruptsLoadBalancer
		}
	}
	c.sync(t)
	return c
}

// An edit stays the cause of its difference while another one hides that.
func TestHiddenDifferenceKeepsItsCause(t *testing.T) {
	edit, replace := ranges("10.0.0.0/8"), annotated(intent.KeyScheme, "internal")
	fails := func(t *testing.T, c *cluster, kind string, edits ...func(*v1.Service)) {
		t.Helper()
		c.cloud.doing = func(_ context.Context, r plan.Ref) error {
			if r.Kind == kind {
				return errors.New("refused")
			}
			return nil
		}
		if _, err := c.EnsureLoadBalancer(t.Context(), "prod", c.service(edits...), []*v1.Node{node("a")}); err == nil {
			t.Fatalf("the change of the %s is not refused", kind)
		}
		c.cloud.doing = nil
		c.restart()
	}
	for name, prepare := range map[string]func(*testing.T, *cluster){
		"by a replacement that is held, with hold-all": func(t *testing.T, c *cluster) {
			c.cloud.have[balancerRef] = "by hand"
			c.policy(provider.HoldAllDisruption)
			c.sync(t, edit)
			c.policy(provider.HoldDisruption)
		},
		"by a replacement that fails, and is taken back": func(t *testing.T, c *cluster) {
			fails(t, c, "listener", edit)
			fails(t, c, KindLoadBalancer, edit, replace)
		},
		"by a replacement of the same edit that fails, and is taken back": func(t *testing.T, c *cluster) {
			fails(t, c, KindLoadBalancer, edit, replace)
		},
		"by a replacement that fails twice, and is taken back": func(t *testing.T, c *cluster) {
			c.policy(provider.HoldAllDisruption)
			c.sync(t, edit)
			c.policy(provider.HoldDisruption)
			fails(t, c, KindLoadBalancer, edit, replace)
			fails(t, c, KindLoadBalancer, edit, replace)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newHiding(t)
			prepare(t, c)
			clear(c.cloud.records) // which would prove drift
			c.sync(t, edit)
			if got := c.listener(); got != "10.0.0.0/8" {
				t.Errorf("listener %q", got)
			}
			if h, _ := storedHistory(c.service()); len(h.Caused) > 0 {
				t.Errorf("causes are left: %+v", h.Caused)
			}
		})
	}
}

// Hidden causes are stored in one order: syncs that change nothing write nothing.
func TestHiddenCausesAreWrittenOnce(t *testing.T) {
	c := newHiding(t)
	c.policy(provider.HoldAllDisruption)
	edits := []func(*v1.Service){ranges("10.0.0.0/8"), annotated(intent.KeyScheme, "internal")}
	c.sync(t, edits...)
	c.writes = 0
	for range 10 {
		c.restart()
		c.sync(t, edits...)
	}
	if c.writes > 0 {
		t.Errorf("%d writes", c.writes)
	}
}

// A cause that is kept while a plan fails ends with the edit.
func TestCauseEndsWithItsEdit(t *testing.T) {
	c := newHiding(t)
	c.policy(provider.HoldAllDisruption)
	c.sync(t, ranges("10.0.0.0/8"))
	c.policy(provider.HoldDisruption)
	c.sync(t)
	if h, _ := storedHistory(c.service()); len(h.Caused) > 0 {
		t.Errorf("causes are left: %+v", h.Caused)
	}
	clear(c.cloud.records)
	c.cloud.discovered = "10.0.0.0/8"
	c.sync(t)
	if got := c.listener(); got != "" {
		t.Errorf("listener %q", got)
	}
}

// A change whose causes cannot be stored has not started: nothing else is applied in its place.
func TestChangeWithoutStoredCauseIsNotStarted(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	edit := ranges("10.0.0.0/8")
	c.fail = errors.New("conflict")
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", c.service(edit), []*v1.Node{node("a")}); err == nil {
		t.Fatal("the change has started")
	}
	c.fail = nil
	c.wantByConfiguration()
	c.sync(t, edit)
	if got := c.listener(); got != "" {
		t.Errorf("listener %q", got)
	}
}
