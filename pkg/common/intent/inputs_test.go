package intent

import (
	"reflect"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func inputsService() *v1.Service {
	dual := v1.IPFamilyPolicyPreferDualStack
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{KeyScheme: "internal", "team": "a"}},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, ClusterIP: "10.0.0.1", IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			IPFamilyPolicy: &dual, ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyLocal, HealthCheckNodePort: 32000,
			LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
			Ports: []v1.ServicePort{
				{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443},
				{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
			},
		},
	}
}

var inputsVocabulary = Vocabulary{Portable: Keys()}

func TestInputsRestoreTheService(t *testing.T) {
	svc := inputsService()
	in := InputsOf(svc, inputsVocabulary)
	later := svc.DeepCopy()
	later.Annotations = map[string]string{KeyScheme: "public", "team": "b"}
	later.Spec.Ports = later.Spec.Ports[1:]
	later.Spec.LoadBalancerSourceRanges, later.Spec.HealthCheckNodePort = nil, 0
	got, err := in.Apply(later, inputsVocabulary)
	if err != nil {
		t.Fatal(err)
	}
	want := svc.DeepCopy()
	want.Annotations["team"] = "b" // no input
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestEditsOfInputs(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*v1.Service)
		want [][]string
	}{
		"nothing":            {func(*v1.Service) {}, nil},
		"another annotation": {func(svc *v1.Service) { svc.Annotations["team"] = "b" }, nil},
		"an annotation":      {func(svc *v1.Service) { svc.Annotations[KeyScheme] = "public" }, [][]string{{KeyScheme}}},
		"a port": {func(svc *v1.Service) { svc.Spec.Ports[1].NodePort = 30081 },
			[][]string{{"spec.ports[TCP/80]"}}},
		"a further port": {func(svc *v1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolUDP, Port: 53})
		}, [][]string{{"spec.ports[UDP/53]"}}},
		"the order": {func(svc *v1.Service) { slices.Reverse(svc.Spec.Ports) }, [][]string{{FieldPorts}}},
		"the traffic policy and its port": {func(svc *v1.Service) {
			svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
		}, [][]string{{FieldExternalTrafficPolicy, FieldHealthCheckNodePort}}},
	} {
		t.Run(name, func(t *testing.T) {
			svc := inputsService()
			before := InputsOf(svc, inputsVocabulary)
			tc.edit(svc)
			if got := InputsOf(svc, inputsVocabulary).Edits(before); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("edits %v, want %v", got, tc.want)
			}
		})
	}
}

// Without the edit of one port, the others stay as they are now.
func TestInputsWithOneEditUndone(t *testing.T) {
	svc := inputsService()
	before := InputsOf(svc, inputsVocabulary)
	svc.Spec.Ports = append(svc.Spec.Ports[1:], v1.ServicePort{Protocol: v1.ProtocolTCP, Port: 8080})
	now := InputsOf(svc, inputsVocabulary)
	got, err := now.With(before, []string{"spec.ports[TCP/443]"}).Apply(svc, inputsVocabulary)
	if err != nil {
		t.Fatal(err)
	}
	var ports []int32
	for _, p := range got.Spec.Ports {
		ports = append(ports, p.Port)
	}
	if !slices.Equal(ports, []int32{80, 8080, 443}) {
		t.Errorf("ports %v", ports)
	}
}
