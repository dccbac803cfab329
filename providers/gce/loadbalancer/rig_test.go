package loadbalancer

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	testingclock "k8s.io/utils/clock/testing"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/instances"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

const (
	testCluster = "1234567890abcdef"
	webUID      = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	web         = "a0f1e2d3c4b5a69788796a5b4c3d2e1f"
	dbUID       = "1f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	db          = "a1f1e2d3c4b5a69788796a5b4c3d2e1f"
)

// rig is a manager of load balancers over a cloud in memory.
type rig struct {
	*testing.T
	*memory
	clock      *testingclock.FakeClock
	cloud      *Cloud
	controller *lbcommon.Controller
	events     *record.FakeRecorder
	tags       []string
	// partialTags is set while the tags of some nodes are not known.
	partialTags bool
	// untagged are the instances that firewalls cannot select.
	untagged []string
	// cluster is the ID of the cluster.
	cluster string
}

func newRig(t *testing.T, cfg config.Global) *rig {
	t.Helper()
	r := &rig{T: t, memory: newMemory(), tags: []string{"nodes"}, cluster: testCluster,
		clock: testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	r.restart(cfg)
	return r
}

// restart starts a manager with empty memory.
func (r *rig) restart(cfg config.Global) {
	ids := names.NewProviderIDs(func() string { return "p" })
	r.cloud = New(Options{
		API: r.memory, Config: cfg, InstanceID: ids.Parse, Clock: r.clock,
		ClusterID: func(context.Context) (string, error) { return r.cluster, nil },
		NodeTags: func(context.Context, []string) (instances.Tags, error) {
			return instances.Tags{Tags: r.tags, Untagged: r.untagged, Partial: r.partialTags || len(r.untagged) > 0}, nil
		},
	})
	r.events = record.NewFakeRecorder(1000)
	r.controller = lbcommon.New(lbcommon.Options{Provider: names.Scheme, Clock: r.clock,
		Vocabulary: annotation.Vocabulary(names.Scheme)}, r.cloud)
	r.controller.SetRuntime(provider.Runtime{Recorder: r.events, SetCondition: r.setCondition})
}

// setCondition keeps a condition in the Service itself.
func (r *rig) setCondition(_ context.Context, service *v1.Service, c metav1.Condition) error {
	service.Status.Conditions = slices.DeleteFunc(service.Status.Conditions, func(o metav1.Condition) bool {
		return o.Type == c.Type
	})
	service.Status.Conditions = append(service.Status.Conditions, c)
	return nil
}

// ensure syncs a Service, and returns its address.
func (r *rig) ensure(service *v1.Service, nodes ...*v1.Node) string {
	r.Helper()
	status, err := r.controller.EnsureLoadBalancer(r.Context(), "c", service, nodes)
	if err != nil {
		r.Fatal(err)
	}
	service.Status.LoadBalancer = *status
	return status.Ingress[0].IP
}

func (r *rig) update(service *v1.Service, nodes ...*v1.Node) {
	r.Helper()
	if err := r.controller.UpdateLoadBalancer(r.Context(), "c", service, nodes); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) remove(service *v1.Service) {
	r.Helper()
	if err := r.controller.EnsureLoadBalancerDeleted(r.Context(), "c", service); err != nil {
		r.Fatal(err)
	}
	if _, exists, err := r.controller.GetLoadBalancer(r.Context(), "c", service); err != nil || exists {
		r.Errorf("after the deletion: exists %t, %v", exists, err)
	}
}

// plan returns what a sync would change.
func (r *rig) plan(service *v1.Service, nodes ...*v1.Node) plan.Plan {
	r.Helper()
	p, err := r.controller.PlanLoadBalancer(r.Context(), "c", service, nodes, lbcommon.PlanOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// verify fails unless the collections have exactly these objects.
func (r *rig) verify(want map[string][]string) {
	r.Helper()
	for _, collection := range []string{"forwardingRules", "addresses", "targetPools", "backendServices", "httpHealthChecks",
		"healthChecks", "instanceGroups", "firewalls"} {
		if have := r.names(collection); !slices.Equal(have, slices.Sorted(slices.Values(want[collection]))) {
			r.Errorf("%s are %q, want %q", collection, have, want[collection])
		}
	}
}

// verifyChanges fails unless exactly these changes were made since the last check.
func (r *rig) verifyChanges(want ...string) {
	r.Helper()
	_, changes := r.calls()
	slices.Sort(changes)
	if slices.Sort(want); !slices.Equal(changes, want) {
		r.Errorf("changes are %q, want %q", changes, want)
	}
}

// service returns an external Service.
func service(name, uid string, ports ...int32) *v1.Service {
	s := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid), Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster},
	}
	for _, p := range ports {
		s.Spec.Ports = append(s.Spec.Ports, v1.ServicePort{Name: fmt.Sprint("p", p), Protocol: v1.ProtocolTCP, Port: p,
			NodePort: 30000 + p%1000})
	}
	return s
}

// internal makes a Service internal.
func internal(s *v1.Service) *v1.Service {
	s.Annotations[annotation.KeyType] = "Internal"
	return s
}

// local gives a Service a health check of its own.
func local(s *v1.Service) *v1.Service {
	s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 31234
	return s
}

func node(zone, name string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}},
		Spec:       v1.NodeSpec{ProviderID: "gce://p/" + zone + "/" + name},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
}
