package loadbalancer

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// What is held, and what is refused, is a condition of the Service until it is over.
func TestConditions(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	expect := func(when, conditionType, status, text string) {
		t.Helper()
		condition := meta.FindStatusCondition(c.conditions, conditionType)
		switch {
		case condition == nil && status != "":
			t.Errorf("%s: no condition %s", when, conditionType)
		case condition != nil && (string(condition.Status) != status || !strings.Contains(condition.Message, text)):
			t.Errorf("%s: condition %+v, want %s with %q", when, condition, status, text)
		}
	}
	expect("healthy", ConditionHeld, "", "")
	expect("healthy", ConditionRefused, "", "")
	c.wantByConfiguration()
	c.sync(t)
	expect("held", ConditionHeld, "True", c.planned(t, c.service(), node("a")).HeldID)
	c.writes = 0
	c.sync(t)
	if c.writes > 0 {
		t.Errorf("an idle sync of a Service with held changes writes %d times", c.writes)
	}
	c.cloud.discovered = ""
	c.sync(t)
	expect("no longer held", ConditionHeld, "False", "")
	invalid := c.service(annotated(intent.KeyScheme, "neither"))
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("a")}); err == nil {
		t.Fatal("an invalid Service passed")
	}
	expect("refused", ConditionRefused, "True", "neither")
	c.sync(t)
	expect("corrected", ConditionRefused, "False", "")
}

// Updates of members get the Service as it was before its last sync. They write no conditions.
func TestUpdatesOfMembersWriteNoConditions(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	c.wantByConfiguration()
	before := c.service()
	c.ensure(t, before, node("a"))
	c.writes = 0
	for _, joining := range []string{"b", "c"} {
		if err := c.UpdateLoadBalancer(t.Context(), "prod", before, []*v1.Node{node("a"), node(joining)}); err != nil {
			t.Fatal(err)
		}
	}
	if c.writes > 0 {
		t.Errorf("%d writes", c.writes)
	}
}

// A problem that is solved before the Service has its condition is over, too.
func TestConditionThatTheServiceStillLacks(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	before := c.service()
	invalid := before.DeepCopy()
	invalid.Annotations[intent.KeyScheme] = "neither"
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("a")}); err == nil {
		t.Fatal("an invalid Service passed")
	}
	c.ensure(t, before, node("a"))
	if meta.IsStatusConditionTrue(c.conditions, ConditionRefused) {
		t.Error("the corrected Service is still refused")
	}
}

// A Service that stays without a load balancer has no problem with one, and no history.
func TestConditionsEndWithTheLoadBalancer(t *testing.T) {
	for name, created := range map[string]bool{"deleted": true, "never created": false} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			if created {
				c.sync(t)
			}
			invalid := c.service(annotated(intent.KeyScheme, "neither"))
			if _, err := c.EnsureLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("a")}); err == nil {
				t.Fatal("an invalid Service passed")
			}
			// What the framework calls for a Service of another type.
			internal := c.service(func(svc *v1.Service) { svc.Spec.Type = v1.ServiceTypeClusterIP })
			if _, exists, err := c.GetLoadBalancer(t.Context(), "prod", internal); err != nil || exists != created {
				t.Fatalf("exists %t, error %v", exists, err)
			}
			if created {
				if err := c.EnsureLoadBalancerDeleted(t.Context(), "prod", internal); err != nil {
					t.Fatal(err)
				}
			}
			if meta.IsStatusConditionTrue(c.conditions, ConditionRefused) {
				t.Error("a Service without a load balancer is refused")
			}
			if h, ok := storedHistory(c.service()); ok {
				t.Errorf("history %v", h)
			}
		})
	}
}

// An audit restores the history that another client has removed, and is idle otherwise.
func TestAuditRestoresTheHistory(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	audit := func(want int) {
		t.Helper()
		c.writes = 0
		current := func() (*v1.Service, []*v1.Node) { return c.service(), []*v1.Node{node("a")} }
		if _, _, err := c.AuditLoadBalancer(t.Context(), "prod", current); err != nil {
			t.Fatal(err)
		}
		if c.writes != want {
			t.Errorf("%d writes, want %d", c.writes, want)
		}
	}
	audit(0)
	c.conditions = nil
	audit(1)
	if _, ok := storedHistory(c.service()); !ok {
		t.Error("no history is stored")
	}
	audit(0)
}
