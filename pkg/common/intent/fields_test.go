package intent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadReturnsTheFieldsThatTheUserSet(t *testing.T) {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Annotations: map[string]string{
			KeyScheme: " internal ", KeyTags: "a=b", "cloud/own": "1", "cloud/id": "lb-1", "other/annotation": "x",
		}},
		Spec: v1.ServiceSpec{
			Ports: []v1.ServicePort{{Name: "http", Port: 80, NodePort: 30080},
				{Protocol: v1.ProtocolUDP, Port: 53, NodePort: 30053}},
			IPFamilies:               []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy:    v1.ServiceExternalTrafficPolicyCluster,
			LoadBalancerSourceRanges: []string{"192.0.2.0/24", "10.0.0.0/8"},
		},
	}
	vocabulary := Vocabulary{Provider: "cloud", Portable: []string{KeyScheme}, Own: []string{"cloud/own", "cloud/id"},
		Written: []string{"cloud/id"}}
	in, _, err := Read(svc, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		KeyScheme: "internal", "cloud/own": "1", FieldPorts: "TCP/80/30080/http,UDP/53/30053/", FieldIPFamilies: "IPv4",
		FieldSourceRanges: "10.0.0.0/8,192.0.2.0/24",
	}
	if diff := cmp.Diff(want, in.Fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
