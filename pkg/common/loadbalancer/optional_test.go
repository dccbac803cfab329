package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// keyElsewhere leaves a Service to another controller.
const keyElsewhere = "toy/elsewhere"

// choosy is a toy with everything that a Cloud may have besides.
type choosy struct {
	*toy
	hints   []string
	members []string
	// inventories, and observations beside them, by the freshness that was asked for.
	inventories, observed []Freshness
}

var (
	_ Chooser                  = (*choosy)(nil)
	_ Hinter                   = (*choosy)(nil)
	_ NodeSurroundings[string] = (*choosy)(nil)
	_ Inventory[objects]       = (*choosy)(nil)
	_ Validator                = (*choosy)(nil)
)

func (c *choosy) Elsewhere(s *v1.Service) bool { return s.Annotations[keyElsewhere] != "" }

func (c *choosy) Validate(in intent.Service) error {
	var problems intent.Problems
	if value, set := in.Annotations[keyElsewhere+"-bad"]; set {
		problems.Add(keyElsewhere+"-bad", value, "write something else")
	}
	return problems.Err("Service " + in.Namespace + "/" + in.Name)
}

func (c *choosy) Hint(s *v1.Service) string { return "hint of " + s.Name }

func (c *choosy) SurroundingsOf(ctx context.Context, nodes []*v1.Node) (string, error) {
	c.members = nil
	for _, n := range nodes {
		c.members = append(c.members, n.Name)
	}
	return c.Surroundings(ctx)
}

func (c *choosy) Inventory(ctx context.Context, key Key, fresh Freshness) (objects, error) {
	c.inventories = append(c.inventories, fresh)
	return c.toy.Observe(ctx, key, fresh)
}

func (c *choosy) Observe(ctx context.Context, key Key, fresh Freshness) (objects, error) {
	c.hints, c.observed = append(c.hints, key.Hint), append(c.observed, fresh)
	return c.toy.Observe(ctx, key, fresh)
}

func newChoosy() (*choosy, *Controller[string, objects, objects]) {
	cloud := &choosy{toy: &toy{have: objects{}}}
	controller := New(Options{Provider: "toy", Vocabulary: intent.Vocabulary{Portable: intent.Keys()}}, cloud)
	controller.SetRuntime(provider.Runtime{Recorder: record.NewFakeRecorder(100)})
	return cloud, controller
}

func TestServiceOfAnotherController(t *testing.T) {
	cloud, c := newChoosy()
	svc := web()
	svc.Annotations = map[string]string{keyElsewhere: "yes"}
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", svc, nil); !errors.Is(err, cloudprovider.ImplementedElsewhere) {
		t.Errorf("ensure: %v", err)
	}
	if err := c.UpdateLoadBalancer(t.Context(), "prod", svc, nil); !errors.Is(err, cloudprovider.ImplementedElsewhere) {
		t.Errorf("update: %v", err)
	}
	if _, exists, err := c.GetLoadBalancer(t.Context(), "prod", svc); exists || err != nil {
		t.Errorf("get: %t, %v", exists, err)
	}
	if p, err := c.PlanLoadBalancer(t.Context(), "prod", svc, nil, false); err != nil || !p.Empty() || len(p.Warnings) == 0 {
		t.Errorf("plan: %+v, %v", p, err)
	}
	if drift, _, err := c.AuditLoadBalancer(t.Context(), "prod", func() (*v1.Service, []*v1.Node) { return svc, nil }); err != nil || !drift.Empty() {
		t.Errorf("audit: %+v, %v", drift, err)
	}
	if len(cloud.mutations) > 0 {
		t.Errorf("mutations %v", cloud.mutations)
	}
}

// What is left from the time before a Service became another controller's is ours to remove.
func TestLeftoversOfAServiceOfAnotherController(t *testing.T) {
	cloud, c := newChoosy()
	svc := web()
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", svc, nil); err != nil {
		t.Fatal(err)
	}
	svc.Annotations = map[string]string{keyElsewhere: "yes"}
	if _, exists, err := c.GetLoadBalancer(t.Context(), "prod", svc); !exists || err != nil {
		t.Errorf("get: %t, %v", exists, err)
	}
	if err := c.EnsureLoadBalancerDeleted(t.Context(), "prod", svc); err != nil || len(cloud.have) > 0 {
		t.Errorf("delete: %v; left are %v", err, cloud.have)
	}
}

func TestCloudIsToldNodesAndHints(t *testing.T) {
	cloud, c := newChoosy()
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a"), node("b")}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(cloud.members, []string{"a", "b"}) {
		t.Errorf("surroundings of %v", cloud.members)
	}
	if len(cloud.hints) == 0 || cloud.hints[0] != "hint of web" {
		t.Errorf("hints %v", cloud.hints)
	}
}

// How a load balancer is set does not matter to its deletion, which the framework begins by asking for it.
func TestDeletionReadsNoSettings(t *testing.T) {
	cloud, c := newChoosy()
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a")}); err != nil {
		t.Fatal(err)
	}
	cloud.observed = nil
	if _, exists, err := c.GetLoadBalancer(t.Context(), "prod", web()); !exists || err != nil {
		t.Fatal(exists, err)
	}
	if err := c.EnsureLoadBalancerDeleted(t.Context(), "prod", web()); err != nil {
		t.Fatal(err)
	}
	if want := []Freshness{Cached, Authoritative, Cached}; len(cloud.observed) > 0 || !slices.Equal(cloud.inventories, want) {
		t.Errorf("inventories %v, want %v; settings are read %d times", cloud.inventories, want, len(cloud.observed))
	}
}

// What is wrong with portable annotations and with the cloud's own is said at once.
func TestAllProblemsInOneError(t *testing.T) {
	cloud, controller := newChoosy()
	svc := web(annotated(intent.KeyScheme, "open"), annotated(keyElsewhere+"-bad", "no"))
	_, err := controller.EnsureLoadBalancer(t.Context(), "kubernetes", svc, nil)
	const want = `Service default/web: load-balancer.unified-ccm.io/scheme is "open": write public or internal; toy/elsewhere-bad is "no": write something else (invalid)`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if len(cloud.hints) > 0 {
		t.Errorf("the cloud is read for a Service that is refused: %v", cloud.hints)
	}
}
