package fake

import (
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// The numbers of this file are the provider's budget of API calls. More calls are a regression.

func TestCallsOfOneService(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sim.Options{})
	c := f.manager("")
	nodes := f.launch(c, 1, 2)
	f.ensure(c, service(1), nodes) // reads what Services share

	// Two reads confirm that nothing is there before the creation; what the cloud answers to it says the rest.
	f.wantCalls(map[string]int{
		"ListLoadBalancers": 1, "ListAddresses": 1, "AllocateAddress": 1, "CreateLoadBalancer": 1, "CreatePool": 1, "CreateListener": 1,
	}, func() { f.ensure(c, service(2), nodes) })

	f.wantCalls(map[string]int{}, func() { f.ensure(c, service(2), nodes) })

	f.wantCalls(map[string]int{
		"ListLoadBalancers": 1, "ListAddresses": 1, "DeleteLoadBalancer": 1, "ReleaseAddress": 1,
	}, func() {
		if err := c.loadBalancer.EnsureLoadBalancerDeleted(f.Context(), clusterName, service(2)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCallsOfFiftyServices(t *testing.T) {
	t.Parallel()
	const services = 50
	f := newFixture(t, sim.Options{})
	c := f.manager("")
	nodes := f.launch(c, 1, 100)
	each := func(do func(*v1.Service)) {
		var group sync.WaitGroup
		for i := range services {
			group.Go(func() { do(service(i + 1)) })
		}
		group.Wait()
	}
	each(func(svc *v1.Service) { f.ensure(c, svc, nodes) })

	restarted := f.manager("")
	got := f.calls(func() { each(func(svc *v1.Service) { f.ensure(restarted, svc, nodes) }) })
	if n := len(f.world.Front().Log().Mutations()); n > 0 {
		t.Errorf("a restart made %d mutating calls: %v", n, got)
	}
	if got["ListLoadBalancers"] != 1 || got["ListAddresses"] != 1 {
		t.Errorf("a restart read %v, want one list of load balancers and one of addresses", got)
	}

	joined := append(nodes, f.launch(restarted, 101, 101)...)
	got = f.calls(func() {
		each(func(svc *v1.Service) {
			if err := restarted.loadBalancer.UpdateLoadBalancer(f.Context(), clusterName, svc, joined); err != nil {
				t.Error(err)
			}
		})
	})
	if got["SetMembers"] != services || len(f.world.Front().Log().Mutations()) != services {
		t.Errorf("one node more made the changes %v, want %d SetMembers and nothing else", got, services)
	}
	for _, lb := range f.world.LoadBalancers() {
		if n := len(lb.Listeners[0].Members); n != 101 {
			t.Fatalf("load balancer %s has %d members, want 101", lb.Name, n)
		}
	}
}

func TestCallsOfAThousandNodes(t *testing.T) {
	t.Parallel()
	const nodes, workers, most = 1000, 16, 20
	f := newFixture(t, sim.Options{})
	for i := range nodes {
		if _, err := f.world.Launch(conformance.Machine{Name: fmt.Sprintf("node-%04d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for name, config := range map[string]string{"instances": "adopt-unknown-nodes = false\n",
		"instances that could be adopted": ""} {
		c := f.manager(config)
		got := f.calls(func() {
			initialise(t, c, workers, nodes, func(i int) *v1.Node { return joining(fmt.Sprintf("node-%04d", i), "") })
		})
		if n := f.world.Front().Log().Len(); n > most {
			t.Errorf("%s: %d nodes took %d calls, want at most %d: %v", name, nodes, n, most, got)
		}
	}
}

// initialise requests the metadata of n nodes with the given number of workers, as the node controller does.
func initialise(t *testing.T, c *Cloud, workers, n int, node func(int) *v1.Node) {
	t.Helper()
	queue := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range queue {
				if _, err := c.instances.InstanceMetadata(t.Context(), node(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		queue <- i
	}
	close(queue)
	group.Wait()
}
