package intent_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
)

var vocabulary = intent.Vocabulary{
	Provider: "test", Portable: intent.Keys(), Own: []string{"own.example.org/internal", "own.example.org/size"},
	OwnPrefixes: []string{"own.example.org/"}, ForeignPrefixes: map[string]string{"other.example.org/": "other"},
}

func readTexts(svc *v1.Service) (texts []string) {
	_, warnings, err := intent.Read(svc, vocabulary)
	for _, w := range warnings {
		texts = append(texts, w.Message)
	}
	if err != nil {
		texts = append(texts, err.Error())
	}
	return texts
}

// Whoever may write one Service must not stop the manager for all others.
func TestReadIsBounded(t *testing.T) { intenttest.VerifyBounded(t, vocabulary, readTexts) }

// FuzzReadIsBounded repeats a text until an annotation is as large as Kubernetes allows.
func FuzzReadIsBounded(f *testing.F) {
	keys := intent.Keys()
	for i := range keys {
		f.Add(uint8(i), "a,", "80=10.0.0.0/8;")
	}
	f.Fuzz(func(t *testing.T, index uint8, once, repeated string) {
		svc := &v1.Service{}
		for port := range int32(400) {
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: port + 1, NodePort: port + 1})
		}
		value := once
		if repeated != "" {
			value += intenttest.Fill(200<<10, func(int) string { return repeated })
		}
		svc.Annotations = map[string]string{keys[int(index)%len(keys)]: value}
		intenttest.VerifyCost(t, keys[int(index)%len(keys)], func() []string { return readTexts(svc) })
	})
}

func TestProblemsAndWarningsOfServiceAreLimited(t *testing.T) {
	svc := &v1.Service{}
	for i := range int32(100) {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: fmt.Sprint("p", i), Protocol: v1.ProtocolTCP, Port: i + 1})
	}
	svc.Annotations = map[string]string{intent.KeyIdleTimeout: "soon"}
	_, warnings, err := intent.Read(svc, vocabulary)
	if n := len(warnings); n != 21 || warnings[20].Message != "and 80 more settings of the Service without effect" {
		t.Errorf("%d warnings, the last one %q", n, warnings[n-1].Message)
	}
	if !intent.HasProblem(err, intent.KeyIdleTimeout) {
		t.Errorf("error %v", err)
	}
	for i := range svc.Spec.Ports {
		svc.Spec.Ports[i].Protocol = "QUIC"
	}
	_, _, err = intent.Read(svc, vocabulary)
	if text := fmt.Sprint(err); strings.Count(text, "write TCP or UDP") != 20 || !strings.HasSuffix(text, "; and 81 more (invalid)") {
		t.Errorf("error %q", text)
	}
	if !intent.HasProblem(err, intent.KeyIdleTimeout) {
		t.Error("a problem that is not shown is not known")
	}
}

// Larger Services than any cloud has load balancers for get one clear problem.
func TestReadRefusesTooMany(t *testing.T) {
	ports := func(n int) (list []v1.ServicePort) {
		for i := range n {
			list = append(list, v1.ServicePort{Name: fmt.Sprint("p", i), Protocol: v1.ProtocolTCP, Port: int32(i + 1), NodePort: 1})
		}
		return list
	}
	ranges := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255))
		}
		return list
	}
	for name, tc := range map[string]struct {
		svc  v1.Service
		want string
	}{
		"ports":  {v1.Service{Spec: v1.ServiceSpec{Ports: ports(5001)}}, "spec.ports: there are 5001 ports, and a load balancer can have 5000"},
		"ranges": {v1.Service{Spec: v1.ServiceSpec{Ports: ports(1), LoadBalancerSourceRanges: ranges(5001)}}, "there are 5001 ranges: write at most 5000"},
		"ranges of all ports": {v1.Service{Spec: v1.ServiceSpec{Ports: ports(51), LoadBalancerSourceRanges: ranges(1000)}},
			"spec.ports: the ports have 51000 source ranges together, and a load balancer can have 50000"},
		"entries": {v1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			intent.KeyTags: strings.Repeat("a=b,", 5000)}}, Spec: v1.ServiceSpec{Ports: ports(1)}}, "it has 5001 entries: write at most 5000"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := intent.Read(&tc.svc, vocabulary); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
