package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/unified-ccm/unified-ccm/pkg/common/assign"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// withService starts a manager of two clouds, with a node in each, and a Service of the first one.
func withService(t *testing.T, moveDelay string) *clouds {
	t.Helper()
	c := newClouds(t, fakeAndAWS, "--load-balancer-move-delay="+moveDelay)
	c.start()
	c.join(fake.ProviderName, 1)
	c.join(aws.ProviderName, 1)
	c.create("web", "")
	c.eventually("the Service", c.served(fake.ProviderName, "web"))
	return c
}

// selectCloud makes the Service select a cloud, and returns the ID that approves the move.
func (c *clouds) selectCloud(cloud string) (id string) {
	c.t.Helper()
	c.patch("web", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, intent.KeyProvider, cloud))
	c.eventually("a held move", func(ctx context.Context) error {
		svc, err := c.get(ctx, "web")
		if err != nil {
			return err
		}
		for _, condition := range svc.Status.Conditions {
			if condition.Type == assign.ConditionMoveHeld && condition.Status == metav1.ConditionTrue {
				id = condition.Message[strings.LastIndex(condition.Message, " ")+1:]
				return nil
			}
		}
		return fmt.Errorf("conditions %v", svc.Status.Conditions)
	})
	return id
}

func (c *clouds) approve(id string) {
	c.t.Helper()
	c.patch("web", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, intent.KeyApprove, id))
}

// moving checks that a move to a cloud has started.
func (c *clouds) moving(cloud string) conformance.Check {
	return func(ctx context.Context) error {
		svc, err := c.get(ctx, "web")
		if err != nil {
			return err
		}
		if r, _ := assign.StoredRecord(svc); r.Owner != cloud || r.From == "" {
			return fmt.Errorf("the record is %+v", r)
		}
		return nil
	}
}

// moved checks that the Service has its only load balancer in the second cloud. The old one must exist until the new
// one does.
func (c *clouds) moved() conformance.Check {
	created := false
	return func(ctx context.Context) error {
		created = created || len(c.worlds[aws.ProviderName].LoadBalancers()) > 0
		if !created && len(c.worlds[fake.ProviderName].LoadBalancers()) == 0 {
			c.t.Fatal("the old load balancer is deleted before the new one exists")
		}
		return errors.Join(c.served(aws.ProviderName, "web")(ctx), c.balancers(fake.ProviderName, 0, 0)(ctx),
			c.balancers(aws.ProviderName, 1, 1)(ctx))
	}
}

// TestServiceMovesBetweenClouds: a changed annotation moves nothing until the move is approved. Then the new load
// balancer exists before the old one is deleted.
func TestServiceMovesBetweenClouds(t *testing.T) {
	t.Parallel()
	c := withService(t, "2s")
	before, err := c.get(t.Context(), "web")
	c.must(err)
	id := c.selectCloud(aws.ProviderName)
	c.unchangedFor(calm, func(ctx context.Context) error {
		return errors.Join(c.served(fake.ProviderName, "web")(ctx), c.balancers(aws.ProviderName, 0, 0)(ctx))
	})
	c.approve(id)
	c.eventually("the move", c.moved())
	after, err := c.get(t.Context(), "web")
	c.must(err)
	if equality.Semantic.DeepEqual(before.Status.LoadBalancer, after.Status.LoadBalancer) ||
		!servicehelper.HasLBFinalizer(after) || after.Annotations[intent.KeyApprove] != "" {
		t.Errorf("after the move: %v, finalizers %v, annotations %v", after.Status.LoadBalancer.Ingress, after.Finalizers,
			after.Annotations)
	}
}

// TestLeaderKilledDuringAMove: the next manager continues a move from wherever the last one was killed, and ends with one
// load balancer.
func TestLeaderKilledDuringAMove(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]func(c *clouds) conformance.Check{
		"at its beginning": func(c *clouds) conformance.Check { return c.moving(aws.ProviderName) },
		"once the new load balancer exists": func(c *clouds) conformance.Check {
			return c.balancers(aws.ProviderName, 1, 1)
		},
		"while the old load balancer is deleted": func(c *clouds) conformance.Check {
			return c.balancers(fake.ProviderName, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withService(t, "3s")
			c.approve(c.selectCloud(aws.ProviderName))
			c.eventually("the moment of the kill", until(c))
			c.live.Manager().Kill()
			c.live.Stop(t.Context())
			if len(c.worlds[fake.ProviderName].LoadBalancers())+len(c.worlds[aws.ProviderName].LoadBalancers()) == 0 {
				t.Fatal("the Service has no load balancer")
			}
			c.start()
			c.eventually("the move", c.moved())
		})
	}
}

// TestCanceledMove: a Service that selects its old cloud again, before the new one has an address for it, stays, without
// an approval. What the new one has is deleted.
func TestCanceledMove(t *testing.T) {
	t.Parallel()
	c := withService(t, "2s")
	before, err := c.get(t.Context(), "web")
	c.must(err)
	id := c.selectCloud(aws.ProviderName)
	c.gates[aws.ProviderName].with(http.StatusServiceUnavailable)
	c.approve(id)
	c.eventually("the beginning of the move", c.moving(aws.ProviderName))
	c.patch("web", fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, intent.KeyProvider))
	c.eventually("the move back", c.moving(fake.ProviderName))
	c.gates[aws.ProviderName].with(0)
	c.eventually("the end", func(ctx context.Context) error {
		if err := c.balancers(fake.ProviderName, 1, 1)(ctx); err != nil {
			t.Fatal(err)
		}
		return errors.Join(c.served(fake.ProviderName, "web")(ctx), c.balancers(aws.ProviderName, 0, 0)(ctx))
	})
	after, err := c.get(t.Context(), "web")
	c.must(err)
	if !equality.Semantic.DeepEqual(before.Status.LoadBalancer, after.Status.LoadBalancer) {
		t.Errorf("the address was %v and is %v", before.Status.LoadBalancer.Ingress, after.Status.LoadBalancer.Ingress)
	}
}
