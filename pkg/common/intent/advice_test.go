package intent

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Without the advice, the prefix would make the key a typo.
func TestAdviceOverridesPrefixes(t *testing.T) {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"toy/scheme": "internal"}},
		Spec:       v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 80, NodePort: 30080}}},
	}
	_, warnings, err := Read(svc, Vocabulary{
		Provider: "toy", Own: []string{"toy/schema"}, OwnPrefixes: []string{"toy/"},
		Advice: map[string]string{"toy/scheme": "write toy/internal"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || warnings[0].Reason != Unsupported ||
		!strings.Contains(warnings[0].Message, "toy/scheme: write toy/internal") {
		t.Errorf("warnings %+v", warnings)
	}
}
