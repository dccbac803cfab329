package assign

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// rangesCloud has one load balancer with source ranges, whose change disrupts traffic.
type rangesCloud struct {
	mu     sync.Mutex
	ranges string
	exists bool
	err    error
}

func (c *rangesCloud) Name(loadbalancer.Key) string                     { return "lb" }
func (c *rangesCloud) Reference(*v1.Service) (r loadbalancer.Reference) { return r }
func (c *rangesCloud) Validate(intent.Service) error                    { return nil }

func (c *rangesCloud) SharedState(context.Context, []*v1.Node) (string, error) { return "", nil }

func (c *rangesCloud) Desired(_ loadbalancer.Key, in intent.Service, _ []*v1.Node, _ string) (string, error) {
	text := ""
	for _, r := range in.SourceRanges {
		text += r.String()
	}
	return text, nil
}

// Observe returns "-" for no load balancer.
func (c *rangesCloud) Observe(context.Context, loadbalancer.Request[string]) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.exists {
		return "-", c.err
	}
	return c.ranges, c.err
}

func (c *rangesCloud) Diff(_ loadbalancer.Key, want *string, have string) (p plan.Plan, err error) {
	change := plan.Change{Ref: plan.Ref{Kind: loadbalancer.KindLoadBalancer, Name: "lb", Action: plan.Update}}
	switch {
	case want == nil && have == "-" || want != nil && *want == have:
		return p, nil
	case want == nil:
		change.Action, change.Do = plan.Delete, c.set(false, "")
	case have == "-":
		change.Action, change.Do = plan.Create, c.set(true, *want)
	default:
		change.Fields = []plan.Field{{Name: "sourceRanges", Before: have, After: *want, Disrupts: plan.DisruptsTraffic}}
		change.Disrupts, change.Do = plan.DisruptsTraffic, c.set(true, *want)
	}
	p.Changes = append(p.Changes, change)
	return p, nil
}

func (c *rangesCloud) set(exists bool, ranges string) func(context.Context, *plan.Handles) error {
	return func(context.Context, *plan.Handles) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.exists, c.ranges = exists, ranges
		return nil
	}
}

func (c *rangesCloud) DiffMembers(loadbalancer.Key, intent.Service, []*v1.Node, string, string) (p plan.Plan, err error) {
	return p, nil
}

func (c *rangesCloud) Status(_ intent.Service, have string) (s loadbalancer.Status) {
	if have != "-" {
		s.LoadBalancer = &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "192.0.2.1"}}}
	}
	return s
}

func (c *rangesCloud) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

type builder struct{ kubernetes.Interface }

func (b builder) Config(string) (*restclient.Config, error) { return nil, errors.New("none") }
func (b builder) ConfigOrDie(string) *restclient.Config     { return nil }

func (b builder) Client(string) (kubernetes.Interface, error) { return b.Interface, nil }
func (b builder) ClientOrDie(string) kubernetes.Interface     { return b.Interface }

// An edit during a move is a cause in both clouds, also in the one that applies it only after the other has.
func TestEditDuringAMoveIsACauseInBothClouds(t *testing.T) {
	for first, second := range map[string]string{"a": "b", "b": "a"} {
		t.Run(second+" after "+first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServiceTest(t, web(finalized, func(s *v1.Service) {
					s.Spec.Ports = []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}
				}))
				namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "cluster"}}
				if err := s.client.Tracker().Add(namespace); err != nil {
					t.Fatal(err)
				}
				runtime, err := kube.NewRuntime(builder{s.client}, t.Context().Done(), false, func(error) {})
				if err != nil {
					t.Fatal(err)
				}
				clouds := map[string]*rangesCloud{"a": {}, "b": {}}
				for name, b := range map[string]*balancers{"a": s.a, "b": s.b} {
					c := loadbalancer.New(loadbalancer.Options{
						Provider: name, Vocabulary: intent.Vocabulary{Portable: []string{intent.KeySourceRanges}},
					}, clouds[name])
					c.SetRuntime(runtime)
					b.real = c
				}
				s.start("a", "b")
				ensure := func(cloud string) {
					t.Helper()
					if err := s.ensure(cloud); err != nil && !errors.Is(err, cloudprovider.ImplementedElsewhere) {
						t.Fatal(err)
					}
				}
				ensure("a")
				s.edit(selecting("b"))
				s.edit(approving(s.heldID()))
				s.want("a to b", "a", "b")
				ensure("b")
				ensure("a")
				s.edit(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"} })
				clouds[second].fail(errors.New("503"))
				if err := s.ensure(second); err == nil {
					t.Error("no error")
				}
				ensure(first)
				clouds[second].fail(nil)
				ensure(second)
				for name, c := range clouds {
					if c.ranges != "203.0.113.0/24" {
						t.Errorf("%s has the source ranges %q", name, c.ranges)
					}
				}
			})
		})
	}
}
