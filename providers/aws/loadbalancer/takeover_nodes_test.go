package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// withLister restarts the manager with a lister of nodes. Relist updates it to the nodes of the rig.
func (r *rig) withLister() (relist func()) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	r.lister = &nodes.LazyLister{}
	r.lister.Set(corelisters.NewNodeLister(indexer), nil)
	relist = func() {
		var items []any
		for _, n := range r.nodes {
			items = append(items, n)
		}
		if err := indexer.Replace(items, ""); err != nil {
			r.t.Fatal(err)
		}
	}
	relist()
	r.restart()
	return relist
}

// classicInstances returns the instances of each classic load balancer, sorted.
func (r *rig) classicInstances() map[string][]string {
	r.t.Helper()
	have := map[string][]string{}
	out := must(r.elb.DescribeLoadBalancers(r.t.Context(), &elb.DescribeLoadBalancersInput{}))(r.t)
	for _, b := range out.LoadBalancerDescriptions {
		for _, i := range b.Instances {
			have[*b.LoadBalancerName] = append(have[*b.LoadBalancerName], *i.InstanceId)
		}
		slices.Sort(have[*b.LoadBalancerName])
	}
	return have
}

// updateAll updates Services side by side, as the framework's workers do.
func (r *rig) updateAll(services []*v1.Service, list []*v1.Node) {
	r.t.Helper()
	var calls sync.WaitGroup
	for _, svc := range services {
		calls.Go(func() {
			if err := r.manager.UpdateLoadBalancer(r.t.Context(), clusterName, svc, list); err != nil {
				r.t.Errorf("%s: %v", svc.Name, err)
			}
		})
	}
	calls.Wait()
}

// TestReplacedNodeLeavesClassicLoadBalancers replaces one node of six classic load balancers by another at one moment.
// Calls with an older list of nodes may come last.
func TestReplacedNodeLeavesClassicLoadBalancers(t *testing.T) {
	for _, tt := range []struct{ terminated, stale bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("terminated %t, stale list %t", tt.terminated, tt.stale), func(t *testing.T) {
			r := newRig(t, sim.Options{})
			relist := r.withLister()
			var services []*v1.Service
			for n := range 6 {
				svc := service(without(annotation.KeyType), func(s *v1.Service) {
					s.Name, s.UID = fmt.Sprintf("web-%d", n), types.UID(fmt.Sprintf("%08d-4567-89ef-0123-456789abcdef", n))
				})
				services = append(services, svc)
				r.ensure(svc)
			}
			older := slices.Clone(r.nodes)
			r.clock.Step(10 * time.Second)
			r.launch("d")
			r.nodes = slices.Delete(r.nodes, 0, 1)
			relist()
			if tt.terminated {
				if err := r.sim.Terminate(older[0].Name); err != nil {
					t.Fatal(err)
				}
			}
			r.updateAll(services, r.nodes)
			if tt.stale {
				r.updateAll(services, older)
			}
			want := slices.Sorted(slices.Values(oldManager{r, t.Context()}.instanceIDs()))
			for name, have := range r.classicInstances() {
				if !slices.Equal(have, want) {
					t.Errorf("%s has instances %v, want %v", name, have, want)
				}
			}
		})
	}
}

// writeRecords writes the deferred records, as Run does after a while.
func (r *rig) writeRecords() {
	r.t.Helper()
	if err := r.manager.WriteRecords(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// TestTakeOverWritesNothing takes over what cloud-provider-aws leaves behind, with restarts and nodes that come and go:
// no call but those for members changes anything.
func TestTakeOverWritesNothing(t *testing.T) {
	members := []string{"RegisterTargets", "DeregisterTargets", "RegisterInstancesWithLoadBalancer",
		"DeregisterInstancesFromLoadBalancer"}
	for _, a := range adoptions() {
		t.Run(a.name, func(t *testing.T) {
			r := a.rig(t)
			a.leave(oldManager{r, t.Context()})
			for _, node := range []string{"d", "e"} {
				r.restart()
				r.ensure(a.svc)
				r.steady(a.svc)
				r.writeRecords()
				r.noMutations("a deferred record")
				r.nodes = r.nodes[1:]
				r.updateTo(a.svc, node)
				r.ensure(a.svc)
				r.writeRecords()
				calls := strings.Fields(r.calls())
				if len(calls) == 0 || slices.ContainsFunc(calls, func(c string) bool { return !slices.Contains(members, c) }) {
					t.Errorf("a node is replaced by %q", calls)
				}
			}
			r.restart()
			r.steady(a.svc)
		})
	}
}
