package aws

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/client"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// badCloud is a cloud that answers in some way that must never be taken for "gone".
type badCloud struct {
	name string
	// wrong makes the cloud bad.
	wrong func(*sim.Cloud, *simtest.Recorder)
	// conf is the manager's region, where that is the trouble.
	conf string
}

func badClouds() []badCloud {
	every := func(kind kit.FaultKind) func(*sim.Cloud, *simtest.Recorder) {
		return func(world *sim.Cloud, _ *simtest.Recorder) {
			world.Front().SetFaults(kit.Fault{Kind: kind, Times: kit.Always})
		}
	}
	return []badCloud{
		{name: "denied", wrong: func(_ *sim.Cloud, w *simtest.Recorder) {
			w.Change = answer(http.StatusForbidden, `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors></Response>`)
		}},
		{name: "throttled", wrong: every(kit.FaultThrottle)},
		{name: "broken", wrong: every(kit.FaultError)},
		{name: "unparsable", wrong: func(_ *sim.Cloud, w *simtest.Recorder) {
			w.Change = answer(http.StatusOK, "<html>maintenance</html>")
		}},
		{name: "a proxy's 404", wrong: func(_ *sim.Cloud, w *simtest.Recorder) {
			w.Change = answer(http.StatusNotFound, "<html>not found</html>")
		}},
		{name: "wrong region", conf: "us-east-1", wrong: func(*sim.Cloud, *simtest.Recorder) {}},
	}
}

// answer replaces what the cloud says.
func answer(status int, body string) func(*http.Response) {
	return func(resp *http.Response) {
		resp.StatusCode, resp.Header, resp.ContentLength = status, http.Header{}, int64(len(body))
		resp.Body = io.NopCloser(strings.NewReader(body))
	}
}

// No Node is ever deleted on the word of such a cloud: InstanceExists fails, or a node of another
// region is not ours to judge.
func TestNodeIsNotDeletedOnCloudErrors(t *testing.T) {
	for _, bad := range badClouds() {
		t.Run(bad.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world, node := simtest.WithSelf(t, sim.Options{})
				node.Spec.ProviderID = "aws:///us-west-2a/" + world.Instance("self")
				w := &simtest.Recorder{Base: world.Front().Transport()}
				conf := simtest.Located
				if bad.conf != "" {
					conf = strings.Replace(simtest.Located, "us-west-2", bad.conf, 1)
				}
				m := newManager(t, w, conf)
				bad.wrong(world, w)
				unnamed := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Spec: v1.NodeSpec{ProviderID: node.Spec.ProviderID}}
				for range 2 {
					exists, err := m.instances.InstanceExists(t.Context(), unnamed)
					if err == nil && !exists {
						t.Errorf("the node is gone: %v, %v", exists, err)
					}
					if down, err := m.instances.InstanceShutdown(t.Context(), unnamed); err == nil && down {
						t.Errorf("the node is shut down: %v, %v", down, err)
					}
				}
			})
		})
	}
}

// No target is ever removed on the word of such a cloud: neither when all nodes stay, nor when the
// list of instances comes back empty.
func TestTargetsAreNotRemovedOnCloudErrors(t *testing.T) {
	bad := append(badClouds(), badCloud{name: "empty list", wrong: func(_ *sim.Cloud, w *simtest.Recorder) {
		w.ChangeOnly = "DescribeInstances"
		w.Change = answer(http.StatusOK, `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>1</requestId><reservationSet/></DescribeInstancesResponse>`)
	}})
	for _, bad := range slices.DeleteFunc(bad, func(b badCloud) bool { return b.conf != "" }) {
		t.Run(bad.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world, node := simtest.WithSelf(t, sim.Options{})
				other, err := world.Launch(conformance.Machine{Name: "other"})
				if err != nil {
					t.Fatal(err)
				}
				nodes := []*v1.Node{node, other}
				for _, n := range nodes {
					n.Spec.ProviderID = "aws:///us-west-2a/" + world.Instance(n.Name)
				}
				w := &simtest.Recorder{Base: world.Front().Transport()}
				svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "0123abcd-4567-89ef-0123-456789abcdef", Annotations: map[string]string{annotation.KeyType: "nlb"}},
					Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}}}
				first := newManager(t, w, "")
				if _, err := first.loadBalancer.EnsureLoadBalancer(t.Context(), "kubernetes", svc, nodes); err != nil {
					t.Fatal(err)
				}
				good := newManager(t, world.Front().Transport(), "")
				for _, m := range []*Cloud{first, newManager(t, w, "")} {
					bad.wrong(world, w)
					_ = m.loadBalancer.UpdateLoadBalancer(t.Context(), "kubernetes", svc, nodes)
					_, _ = m.loadBalancer.EnsureLoadBalancer(t.Context(), "kubernetes", svc, nodes)
					world.Front().SetFaults()
					w.Change = nil
					clients := good.mustConnect(t)
					groups, err := clients.ELBV2.DescribeTargetGroups(t.Context(), &elbv2.DescribeTargetGroupsInput{})
					if err != nil {
						t.Fatal(err)
					}
					health, err := clients.ELBV2.DescribeTargetHealth(t.Context(), &elbv2.DescribeTargetHealthInput{TargetGroupArn: groups.TargetGroups[0].TargetGroupArn})
					if err != nil || len(health.TargetHealthDescriptions) != len(nodes) {
						t.Errorf("targets %d, %v", len(health.TargetHealthDescriptions), err)
					}
					for _, call := range world.Front().Log().Calls() {
						if call.Operation.Name == "DeregisterTargets" {
							t.Error("targets are removed")
						}
					}
				}
			})
		})
	}
}

func (c *Cloud) mustConnect(t *testing.T) *client.Clients {
	t.Helper()
	p, err := c.connection.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.clients
}
