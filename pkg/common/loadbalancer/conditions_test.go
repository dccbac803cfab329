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
