package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
)

// TestRestartChangesNothing: a manager that starts on a converged cluster reads every Service
// and every node again, and does not touch the cloud.
func TestRestartChangesNothing(t *testing.T) {
	t.Parallel()
	const services, nodes = 50, 100
	c := newCluster(t, setup{})
	c.must(c.session.JoinN(t.Context(), nodes))
	for i := range services {
		c.must(c.session.Put(t.Context(), service(fmt.Sprintf("web-%d", i), 80, 443)))
	}
	c.start()
	c.converge()
	c.live.Stop(t.Context())
	c.must(c.wipeEvents(t.Context()))

	restart := c.lastCall()
	c.start()
	c.eventually("every Service to be ensured again", func(ctx context.Context) error {
		events, err := c.plane.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=EnsuredLoadBalancer"})
		if err != nil {
			return err
		}
		ensured := map[string]bool{}
		for _, e := range events.Items {
			ensured[e.InvolvedObject.Name] = true
		}
		if len(ensured) != services {
			return fmt.Errorf("%d of %d Services have an Event EnsuredLoadBalancer", len(ensured), services)
		}
		return nil
	})
	untouched := func(context.Context) error {
		var errs []error
		for _, call := range c.calls(restart) {
			if call.Mutating {
				errs = append(errs, fmt.Errorf("mutating call %s, status %d", call.Name, call.Status))
			}
		}
		return errors.Join(errs...)
	}
	c.unchangedFor(calm, untouched)
	c.converge(untouched)
	made := c.calls(restart)
	for _, read := range []string{"ListInstances", "ListLoadBalancers", "ListRoutes"} {
		if !called(made, read) {
			t.Errorf("no call %s since the restart: the manager cannot have looked", read)
		}
	}
	t.Logf("restart with %d Services and %d nodes: %d cloud calls, 0 mutating: %s", services, nodes, len(made), tally(made))
}

// TestThousandNodesJoin registers a thousand nodes in random order after their machines were launched together. A few
// calls to the cloud initialise all of them.
func TestThousandNodesJoin(t *testing.T) {
	t.Parallel()
	const nodes, registrars, maxCalls = 1000, 16, 20
	c := newCluster(t, setup{noRoutes: true})
	kubelets := make(chan *v1.Node, nodes)
	for i := range nodes {
		node, err := c.world.Launch(conformance.Machine{Name: fmt.Sprintf("node-%d", i+1)})
		c.must(err)
		kubelets <- node
	}
	close(kubelets)
	c.start()
	started := time.Now()
	c.must(c.register(kubelets, registrars))
	registered := time.Since(started)
	c.eventually("every node to be initialised", func(ctx context.Context) error {
		// From the API server's cache: a thousand nodes are read often here.
		list, err := c.plane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		ready := 0
		for i := range list.Items {
			if initialised(&list.Items[i]) {
				ready++
			}
		}
		if ready < nodes {
			return fmt.Errorf("%d of %d nodes are initialised", ready, nodes)
		}
		return nil
	})
	took, calls := time.Since(started), c.calls(0)
	t.Logf("%d nodes joined with %d cloud calls in %s (registered in %s): %s", nodes, len(calls), took.Round(time.Second), registered.Round(time.Second), tally(calls))
	if len(calls) > maxCalls {
		t.Errorf("%d nodes took %d cloud calls, want at most %d", nodes, len(calls), maxCalls)
	}
}

// TestTrimmedFieldsStayInAPIServer: the manager's caches hold Nodes without these fields, and a cached Node is what the
// framework initialises a node with.
func TestTrimmedFieldsStayInAPIServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, setup{noRoutes: true})
	registered, err := c.world.Launch(conformance.Machine{Name: "node-1"})
	c.must(err)
	registered.Status.Images = []v1.ContainerImage{{Names: []string{"registry.k8s.io/pause:3.10"}, SizeBytes: 1}}
	registered.Status.VolumesInUse = []v1.UniqueVolumeName{"kubernetes.io/csi/volume-1"}
	c.must(lab.RegisterNode(t.Context(), c.plane.Client, registered))
	c.start()
	c.eventually("the node to be initialised with its fields", func(ctx context.Context) error {
		node, err := c.plane.Client.CoreV1().Nodes().Get(ctx, registered.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !initialised(node) {
			return errors.New("the node is not initialised")
		}
		managers := map[string]bool{}
		for _, entry := range node.ManagedFields {
			managers[entry.Manager] = true
		}
		if len(node.Status.Images) != 1 || len(node.Status.VolumesInUse) != 1 || len(managers) < 2 {
			t.Errorf("images %v, volumes %v, field managers %v", node.Status.Images, node.Status.VolumesInUse, managers)
		}
		return nil
	})
}

// register lets kubelets register their nodes, some at a time.
func (c *cluster) register(kubelets <-chan *v1.Node, atOnce int) error {
	config := rest.CopyConfig(c.plane.Config)
	config.QPS = -1 // A thousand kubelets do not share a rate limit.
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	errs := make([]error, atOnce)
	var done sync.WaitGroup
	for i := range atOnce {
		done.Go(func() {
			for node := range kubelets {
				errs[i] = errors.Join(errs[i], lab.RegisterNode(c.t.Context(), client, node))
			}
		})
	}
	done.Wait()
	return errors.Join(errs...)
}

// initialised reports whether a cloud controller manager has done all that it does to a new node.
func initialised(node *v1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == cloudproviderapi.TaintExternalCloudProvider {
			return false
		}
	}
	hasAddress := false
	for _, address := range node.Status.Addresses {
		hasAddress = hasAddress || address.Type == v1.NodeInternalIP
	}
	return node.Spec.ProviderID != "" && node.Labels[v1.LabelTopologyZone] != "" && hasAddress
}
