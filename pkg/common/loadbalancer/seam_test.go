package loadbalancer

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// keyOther leaves a Service to another controller.
const keyOther = "toy/other"

// classed is a toy cloud whose Services may select another controller.
type classed struct {
	*toy
	members  []string
	requests []Request[objects]
}

var _ ClassFilter = (*classed)(nil)

func (c *classed) Handles(s *v1.Service) bool { return s.Annotations[keyOther] == "" }

func (c *classed) Reference(s *v1.Service) Reference {
	return Reference{Class: "class of " + s.Name, ID: "id"}
}

func (c *classed) Validate(in intent.Service) error {
	var problems intent.Problems
	if value, set := in.Annotations[keyOther+"-bad"]; set {
		problems.Add(keyOther+"-bad", value, "write something else")
	}
	return problems.Err("Service " + in.Namespace + "/" + in.Name)
}

func (c *classed) SharedState(ctx context.Context, nodes []*v1.Node) (string, error) {
	c.members = nil
	for _, n := range nodes {
		c.members = append(c.members, n.Name)
	}
	return c.toy.SharedState(ctx, nodes)
}

func (c *classed) Observe(ctx context.Context, request Request[objects]) (objects, error) {
	c.requests = append(c.requests, request)
	return c.toy.Observe(ctx, request)
}

func newClassed() (*classed, *Controller) {
	cloud := &classed{toy: &toy{have: objects{}}}
	controller := New(Options{Provider: "toy", Vocabulary: intent.Vocabulary{Portable: intent.Keys()}}, cloud)
	controller.SetRuntime(provider.Runtime{Recorder: record.NewFakeRecorder(100)})
	return cloud, controller
}

func TestServiceOfAnotherController(t *testing.T) {
	cloud, c := newClassed()
	svc := web()
	svc.Annotations = map[string]string{keyOther: "yes"}
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", svc, nil); !errors.Is(err, cloudprovider.ImplementedElsewhere) {
		t.Errorf("ensure: %v", err)
	}
	if err := c.UpdateLoadBalancer(t.Context(), "prod", svc, nil); !errors.Is(err, cloudprovider.ImplementedElsewhere) {
		t.Errorf("update: %v", err)
	}
	if _, exists, err := c.GetLoadBalancer(t.Context(), "prod", svc); exists || err != nil {
		t.Errorf("get: %t, %v", exists, err)
	}
	if p, err := c.PlanLoadBalancer(t.Context(), "prod", svc, nil, PlanOptions{}); err != nil || !p.Empty() ||
		len(p.Warnings) == 0 {
		t.Errorf("plan: %+v, %v", p, err)
	}
	if drift, _, err := c.AuditLoadBalancer(t.Context(), "prod",
		func() (*v1.Service, []*v1.Node) { return svc, nil }); err != nil || !drift.Empty() {
		t.Errorf("audit: %+v, %v", drift, err)
	}
	if len(cloud.mutations) > 0 {
		t.Errorf("mutations %v", cloud.mutations)
	}
}

// What is left from the time before a Service became another controller's is ours to remove.
func TestOrphansOfServiceOfAnotherController(t *testing.T) {
	cloud, c := newClassed()
	svc := web()
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", svc, nil); err != nil {
		t.Fatal(err)
	}
	svc.Annotations = map[string]string{keyOther: "yes"}
	if _, exists, err := c.GetLoadBalancer(t.Context(), "prod", svc); !exists || err != nil {
		t.Errorf("get: %t, %v", exists, err)
	}
	if err := c.EnsureLoadBalancerDeleted(t.Context(), "prod", svc); err != nil || len(cloud.have) > 0 {
		t.Errorf("delete: %v; left are %v", err, cloud.have)
	}
}

func TestEnsurePassesNodesReferenceAndDesiredState(t *testing.T) {
	cloud, c := newClassed()
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a"), node("b")}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(cloud.members, []string{"a", "b"}) {
		t.Errorf("shared state of %v", cloud.members)
	}
	want := Reference{Class: "class of web", ID: "id"}
	if len(cloud.requests) == 0 || !reflect.DeepEqual(cloud.requests[0].Reference, want) || cloud.requests[0].Want == nil {
		t.Errorf("requests %+v", cloud.requests)
	}
}

// How a load balancer is set does not matter to its deletion, which the framework begins by asking for it.
func TestDeletionReadsNoSettings(t *testing.T) {
	cloud, c := newClassed()
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a")}); err != nil {
		t.Fatal(err)
	}
	cloud.requests = nil
	if _, exists, err := c.GetLoadBalancer(t.Context(), "prod", web()); !exists || err != nil {
		t.Fatal(exists, err)
	}
	if err := c.EnsureLoadBalancerDeleted(t.Context(), "prod", web()); err != nil {
		t.Fatal(err)
	}
	var fresh []Freshness
	for _, r := range cloud.requests {
		if r.Depth != Existence || r.Want != nil || r.Reference.ID != "id" {
			t.Errorf("request %+v", r)
		}
		fresh = append(fresh, r.Freshness)
	}
	if want := []Freshness{Cached, Authoritative, Cached}; !slices.Equal(fresh, want) {
		t.Errorf("freshness %v, want %v", fresh, want)
	}
}

// Problems of portable annotations and of the cloud's own are reported together, by syncs and by plans.
func TestAllProblemsInOneError(t *testing.T) {
	cloud, controller := newClassed()
	svc := web(annotated(intent.KeyScheme, "open"), annotated(keyOther+"-bad", "no"))
	_, err := controller.EnsureLoadBalancer(t.Context(), "kubernetes", svc, nil)
	_, planErr := controller.PlanLoadBalancer(t.Context(), "kubernetes", svc, nil, PlanOptions{})
	const want = `Service default/web: load-balancer.unified-ccm.io/scheme is "open": write public or internal; toy/other-bad is "no": write something else (invalid)`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if planErr == nil || planErr.Error() != want {
		t.Errorf("error of a plan %v, want %s", planErr, want)
	}
	if len(cloud.requests) > 0 {
		t.Errorf("an invalid Service causes reads: %v", cloud.requests)
	}
}
