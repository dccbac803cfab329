package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// everyFault reports whether each call is interrupted, as in make test-faults, instead of a sample.
func everyFault() bool { return os.Getenv("EVERY_FAULT") != "" }

// sampledFaults is the number of calls that are interrupted without everyFault, for each kind of fault.
const sampledFaults = 2

// TestFaultsOfOneCloud interrupts the calls of one cloud while nodes and Services of two clouds come, change and go: the
// other cloud makes the same changes as without the fault, and both end with what they have to have.
func TestFaultsOfOneCloud(t *testing.T) {
	t.Parallel()
	kinds := []sim.FaultKind{sim.FaultError, sim.FaultThrottle, sim.FaultDenied, sim.FaultLostReply}
	for i, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			// Audits would change members at any time: those of a terminated machine, as long as its Node exists.
			c := newClouds(t, fakeAndAWS, "--load-balancer-audit-period=0")
			c.start()
			kept := c.keep()
			c.lives("clean", kept)
			calls := c.worlds[aws.ProviderName].Front().Log().Len()
			want := c.changes(fake.ProviderName)

			step := 1
			if !everyFault() {
				step = calls / sampledFaults
			}
			injected := 0
			// Each kind has its own sample.
			for call := 1 + i*step/len(kinds); call <= calls; call += step {
				c.reset(sim.Fault{Kind: kind, Call: call})
				c.lives(fmt.Sprintf("%s-%d", kind, call), kept)
				if got := c.changes(fake.ProviderName); !cmp.Equal(got, want) {
					t.Errorf("with a fault at call %d of aws, fake changes\n%v, want\n%v", call, got, want)
				}
				injected += c.worlds[aws.ProviderName].Front().Injected()
			}
			if injected == 0 {
				t.Error("no fault was injected")
			}
			t.Logf("%d calls of aws, %d faults", calls, injected)
		})
	}
}

// keep creates a node and a Service in each cloud that stay, and returns the names of the nodes.
func (c *clouds) keep() (nodes []string) {
	c.t.Helper()
	for _, cloud := range c.names {
		nodes = append(nodes, c.join(cloud, 1)...)
		c.create("kept-"+cloud, cloud)
	}
	for i, cloud := range c.names {
		c.eventually("the node that stays", c.initialized(cloud, nodes[i]))
		c.eventually("the Service that stays", c.served(cloud, "kept-"+cloud))
		c.eventually("its member", c.balancers(cloud, 1, 1))
	}
	c.must(c.live.Settle(c.t.Context()))
	c.reset()
	return nodes
}

// reset starts the logs of all clouds again, and sets the faults of aws.
func (c *clouds) reset(faults ...sim.Fault) {
	for _, world := range c.worlds {
		world.Front().Log().Reset()
	}
	c.worlds[aws.ProviderName].Front().SetFaults(faults...)
}

// changes returns the names of the mutating calls of a cloud, sorted: nodes and Services of one cloud may change in any
// order.
func (c *clouds) changes(cloud string) (names []string) {
	for _, call := range c.worlds[cloud].Front().Log().Mutations() {
		names = append(names, call.Name)
	}
	slices.Sort(names)
	return names
}

// lives has a node and a Service in each cloud come, change and go. What is kept must exist all the time.
func (c *clouds) lives(name string, kept []string) {
	c.t.Helper()
	ctx := c.t.Context()
	safe := func(check func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, cloud := range c.names {
				if len(c.worlds[cloud].LoadBalancers()) == 0 {
					c.t.Fatalf("%s: the load balancer of %s that stays is gone", name, cloud)
				}
			}
			if err := c.exist(ctx, kept...); err != nil {
				c.t.Fatal(err)
			}
			return check(ctx)
		}
	}
	nodes := map[string]string{}
	for _, cloud := range c.names {
		nodes[cloud] = c.join(cloud, 1, func(n *v1.Node) {
			metav1.SetMetaDataLabel(&n.ObjectMeta, provider.ProviderLabel, cloud)
		})[0]
	}
	for _, cloud := range c.names {
		c.eventually(name+": the node of "+cloud, safe(c.initialized(cloud, nodes[cloud])))
	}
	for _, cloud := range c.names {
		c.create(name+"-"+cloud, cloud)
	}
	for _, cloud := range c.names {
		c.eventually(name+": the Service of "+cloud, safe(func(ctx context.Context) error {
			return errors.Join(c.served(cloud, name+"-"+cloud)(ctx), c.balancers(cloud, 2, 2)(ctx))
		}))
		c.patch(name+"-"+cloud, `{"spec":{"ports":[{"name":"a","port":80},{"name":"b","port":443}]}}`)
	}
	for _, cloud := range c.names {
		c.eventually(name+": the second listener of "+cloud, safe(func(ctx context.Context) error {
			return errors.Join(c.listeners(cloud, 3), c.balancers(cloud, 2, 2)(ctx))
		}))
	}
	// A sync that has not read its result yet would add the members of a terminated machine again, while its Node exists.
	c.must(c.live.Settle(ctx))
	for _, cloud := range c.names {
		c.must(c.worlds[cloud].Terminate(nodes[cloud]), lab.SetReady(ctx, c.plane.Client, nodes[cloud], false))
	}
	for _, cloud := range c.names {
		c.eventually(name+": the deletion of the node of "+cloud, safe(func(ctx context.Context) error {
			_, err := c.plane.Client.CoreV1().Nodes().Get(ctx, nodes[cloud], metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("it exists"), err)
			}
			return c.balancers(cloud, 2, 1)(ctx)
		}))
		c.must(c.plane.Client.CoreV1().Services(namespace).Delete(ctx, name+"-"+cloud, metav1.DeleteOptions{}))
	}
	for _, cloud := range c.names {
		c.eventually(name+": the deletion of the Service of "+cloud, safe(func(ctx context.Context) error {
			return errors.Join(c.balancers(cloud, 1, 1)(ctx), c.noneTerminating(ctx))
		}))
	}
	c.must(c.live.Settle(ctx))
}

// listeners checks the number of listeners of all load balancers of a cloud.
func (c *clouds) listeners(cloud string, want int) error {
	got := 0
	for _, lb := range c.worlds[cloud].LoadBalancers() {
		got += len(lb.Listeners)
	}
	if got != want {
		return fmt.Errorf("%s has %d listeners, want %d", cloud, got, want)
	}
	return nil
}
