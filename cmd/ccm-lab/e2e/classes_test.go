package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"
)

// TestOwnLoadBalancerClass shares a cluster with a controller that handles Services without a class and uses the
// finalizer of the framework.
func TestOwnLoadBalancerClass(t *testing.T) {
	t.Parallel()
	const own, flag = "unified-ccm.io/fake", "--load-balancer-classes=own"
	c := newCluster(t, setup{noRoutes: true, flags: []string{flag}})
	services := c.plane.Client.CoreV1().Services(namespace)
	mine, other := service("mine", 80), service("other", 80)
	mine.Spec.LoadBalancerClass = ptr.To(own)
	other.Finalizers = []string{servicehelper.LoadBalancerCleanupFinalizer}
	c.must(c.session.JoinN(t.Context(), 1))
	c.start()
	for _, s := range []*v1.Service{other, mine} {
		_, err := services.Create(t.Context(), s, metav1.CreateOptions{})
		c.must(err)
	}

	balancers := func(want int) error {
		if have := len(c.world.LoadBalancers()); have != want {
			return fmt.Errorf("%d load balancers, want %d", have, want)
		}
		return nil
	}
	c.eventually("the Service with our class to be ready", func(ctx context.Context) error {
		s, err := services.Get(ctx, "mine", metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case ptr.Deref(s.Spec.LoadBalancerClass, "") != own:
			return fmt.Errorf("its class is now %v", s.Spec.LoadBalancerClass)
		case len(s.Status.LoadBalancer.Ingress) == 0 || !servicehelper.HasLBFinalizer(s):
			return fmt.Errorf("status %v, finalizers %v", s.Status.LoadBalancer, s.Finalizers)
		default:
			return balancers(1)
		}
	})
	c.plan(t, exitOK, "--all", "--configure-cloud-routes=false", flag)

	c.must(services.Delete(t.Context(), "other", metav1.DeleteOptions{}))
	c.unchangedFor(calm, func(ctx context.Context) error {
		s, err := services.Get(ctx, "other", metav1.GetOptions{})
		if err == nil && !slices.Contains(s.Finalizers, servicehelper.LoadBalancerCleanupFinalizer) {
			err = fmt.Errorf("another controller's finalizer was removed: %v", s.Finalizers)
		}
		return err
	})
	_, err := services.Patch(t.Context(), "other", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
		metav1.PatchOptions{})
	c.must(err)

	c.must(services.Delete(t.Context(), "mine", metav1.DeleteOptions{}))
	c.eventually("the load balancer to be deleted", func(ctx context.Context) error {
		switch _, err := services.Get(ctx, "mine", metav1.GetOptions{}); {
		case err == nil:
			return errors.New("the Service still exists")
		case !apierrors.IsNotFound(err):
			return err
		default:
			return balancers(0)
		}
	})
}
