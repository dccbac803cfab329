package aws

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// clusterName is the name of the cluster that the framework passes.
const clusterName = "kubernetes"

// webService returns a Service of one port, for a network load balancer if kind is nlb, else for a classic one.
func webService(kind string) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "0123abcd-4567-89ef-0123-456789abcdef", Annotations: map[string]string{}},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}},
	}
	if kind == "nlb" {
		svc.Annotations[annotation.KeyType] = kind
	}
	return svc
}

// TestHostNamesOfAllPartitions pins that what a load balancer is does not hang on how its host name
// ends, which differs between the parts of AWS: a Service with a status goes on to be served after a
// restart, and a change of type is refused all the same.
func TestHostNamesOfAllPartitions(t *testing.T) {
	for region, domain := range map[string]string{
		"us-west-2": "amazonaws.com", "cn-north-1": "amazonaws.com.cn", "us-gov-west-1": "amazonaws.com", "us-iso-east-1": "c2s.ic.gov", "eusc-de-east-1": "amazonaws.eu",
	} {
		for _, kind := range []string{"", "nlb"} {
			t.Run(region+" "+kind, func(t *testing.T) {
				world, node := simtest.WithSelf(t, sim.Options{Region: region})
				node.Spec.ProviderID = "aws:///" + region + "a/" + world.Instance("self")
				nodes := []*v1.Node{node}
				svc := webService(kind)
				manager := func() *Cloud { return newManager(t, world.Front().Transport(), "") }
				status, err := manager().loadBalancer.EnsureLoadBalancer(t.Context(), clusterName, svc, nodes)
				if err != nil {
					t.Fatal(err)
				}
				if len(status.Ingress) != 1 || !strings.HasSuffix(status.Ingress[0].Hostname, ".elb."+region+"."+domain) && !strings.HasSuffix(status.Ingress[0].Hostname, "."+region+".elb."+domain) {
					t.Errorf("status %+v", status)
				}
				svc.Status.LoadBalancer = *status
				world.Front().Log().Reset()
				again := manager()
				if _, err := again.loadBalancer.EnsureLoadBalancer(t.Context(), clusterName, svc, nodes); err != nil {
					t.Errorf("after a restart: %v", err)
				}
				if calls := world.Front().Log().Mutations(); len(calls) > 0 {
					t.Errorf("a restart changes something: %v", calls)
				}
				other := map[string]string{"": "nlb", "nlb": ""}[kind]
				if _, err := again.loadBalancer.EnsureLoadBalancer(t.Context(), clusterName, webService(other), nodes); !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), annotation.KeyType) {
					t.Errorf("a change of type: %v", err)
				}
				if err := again.loadBalancer.EnsureLoadBalancerDeleted(t.Context(), clusterName, svc); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestAddressIsKeptInAllLoadBalancerStates pins that the Service keeps its address in every state that AWS knows
// but one: a load balancer that is impaired still serves.
func TestAddressIsKeptInAllLoadBalancerStates(t *testing.T) {
	for _, state := range elbv2types.LoadBalancerStateEnum("").Values() {
		t.Run(string(state), func(t *testing.T) {
			world, node := simtest.WithSelf(t, sim.Options{})
			node.Spec.ProviderID = "aws:///us-west-2a/" + world.Instance("self")
			svc, nodes := webService("nlb"), []*v1.Node{node}
			if _, err := newManager(t, world.Front().Transport(), "").loadBalancer.EnsureLoadBalancer(t.Context(), clusterName, svc, nodes); err != nil {
				t.Fatal(err)
			}
			world.Front().Log().Reset()
			said := &simtest.Recorder{Base: world.Front().Transport(), ChangeOnly: "DescribeLoadBalancers", Change: func(resp *http.Response) {
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Error(err)
				}
				body = bytes.ReplaceAll(body, []byte("<Code>active</Code>"), []byte("<Code>"+string(state)+"</Code>"))
				resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			}}
			status, err := newManager(t, said, "").loadBalancer.EnsureLoadBalancer(t.Context(), clusterName, svc, nodes)
			if failed := state == elbv2types.LoadBalancerStateEnumFailed; failed != (err != nil) || !failed && len(status.Ingress) != 1 {
				t.Errorf("status %+v, error %v", status, err)
			}
			if err != nil && (!strings.Contains(err.Error(), "AWS could not set it up") || strings.Contains(err.Error(), "still working")) {
				t.Errorf("a load balancer that failed gives the error %v", err)
			}
			if calls := world.Front().Log().Mutations(); len(calls) > 0 {
				t.Errorf("it changes something: %v", calls)
			}
		})
	}
}
