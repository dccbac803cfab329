package aws_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// disruptedZone is a scenario in which a zone is disrupted while the manager is replaced. Then DescribeInstances works
// for the IDs of instances in other zones only:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
func disruptedZone() conformance.Scenario {
	const bad, good = "us-west-2a", "us-west-2b"
	return conformance.Scenario{
		Name: "disrupted zone", Needs: provider.Capabilities{InstancesV2: true, LoadBalancer: true, Routes: true},
		Doc: "While a zone is disrupted, nodes of the other zones join and leave, and those of the zone keep their traffic " +
			"and their routes.",
		Steps: func(ctx context.Context, r *conformance.Session) error {
			disrupt := func(zones ...string) error {
				r.World.(*sim.Cloud).SetDisruption(sim.Disruption{Zones: zones})
				return nil
			}
			for _, step := range []func() error{
				func() error {
					return r.Join(ctx, conformance.Machine{Name: "a", Zone: bad}, conformance.Machine{Name: "b", Zone: good},
						conformance.Machine{Name: "leaves", Zone: good})
				},
				func() error { return r.Put(ctx, webService()) },
				func() error { return r.Converge(ctx, hasMembers(r, "a", "b", "leaves")) },
				func() error { return disrupt(bad) },
				func() error { return r.Restart(ctx, conformance.ManagerOptions{}) },
				func() error {
					return r.Join(ctx, conformance.Machine{Name: "late-a", Zone: bad}, conformance.Machine{Name: "late-b", Zone: good})
				},
				func() error { return r.Terminate(ctx, "leaves", true) },
				func() error {
					return settleLater(ctx, r, hasMembers(r, "a", "b", "late-b"), initialized(r, "late-b", true),
						initialized(r, "late-a", false))
				},
				func() error { return disrupt() },
				func() error {
					return settleLater(ctx, r, r.Verify, hasMembers(r, "a", "b", "late-a", "late-b"), initialized(r, "late-a", true),
						hasRoutes(r, "a", "b", "late-a", "late-b"))
				},
			} {
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func webService() *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: conformance.Namespace, Name: "web"},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{
			{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
		}},
	}
}

// settleLater settles again and again for some minutes, in which the manager retries.
func settleLater(ctx context.Context, r *conformance.Session, checks ...conformance.Check) error {
	var err error
	for range 20 {
		if err = r.Settled(ctx, checks...); err == nil || errors.Is(err, conformance.ErrUnsettled) {
			return err
		}
		skipper, ok := r.Cluster.(conformance.TimeSkipper)
		if !ok {
			return err
		}
		if skipErr := skipper.SkipTime(ctx, 30*time.Second); skipErr != nil {
			return skipErr
		}
	}
	return err
}

func hasMembers(r *conformance.Session, want ...string) conformance.Check {
	return func(ctx context.Context) error {
		balancer, err := r.Balancer(ctx, "web")
		if err != nil {
			return err
		}
		for _, l := range balancer.Listeners {
			if !slices.Equal(l.Members, want) {
				err = errors.Join(err, fmt.Errorf("port %d has the members %v, want %v", l.Port, l.Members, want))
			}
		}
		return err
	}
}

func initialized(r *conformance.Session, name string, want bool) conformance.Check {
	return func(ctx context.Context) error {
		node, err := r.Cluster.Node(ctx, name)
		if err != nil || node == nil {
			return fmt.Errorf("node %s: %v, %w", name, node, err)
		}
		tainted := slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool {
			return t.Key == cloudproviderapi.TaintExternalCloudProvider
		})
		if tainted == want {
			return fmt.Errorf("node %s is initialized: %t, want %t", name, !tainted, want)
		}
		return nil
	}
}

// hasRoutes checks the routes in the world and the conditions of nodes that follow from them.
func hasRoutes(r *conformance.Session, nodes ...string) conformance.Check {
	return func(ctx context.Context) error {
		for _, name := range nodes {
			node, err := r.Cluster.Node(ctx, name)
			if err != nil || node == nil {
				return fmt.Errorf("node %s: %v, %w", name, node, err)
			}
			reachable := slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
				return c.Type == v1.NodeNetworkUnavailable && c.Status == v1.ConditionFalse
			})
			if !reachable {
				return fmt.Errorf("node %s has no route: %v", name, node.Status.Conditions)
			}
		}
		return nil
	}
}
