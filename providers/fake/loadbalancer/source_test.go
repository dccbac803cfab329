package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
)

func TestProblemsNameWhatTheUserWrote(t *testing.T) {
	t.Parallel()
	internal := map[string]string{intent.KeyScheme: "internal"}
	bad := append(intenttest.InvalidValues(),
		intenttest.InvalidValue{Setting: intent.KeyStaticAddresses, Value: "web"},
		intenttest.InvalidValue{Setting: intent.KeyStaticAddresses, Value: "198.51.100.7", Annotations: internal},
		intenttest.InvalidValue{Setting: intent.KeyTags, Value: tagPrefix + "x=1"},
	)
	service := func() *v1.Service {
		return &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: testUID},
			Spec: v1.ServiceSpec{
				IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
				Ports:      []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}},
			},
		}
	}
	intenttest.VerifySources(t, bad, service, func(svc *v1.Service) error {
		in, _, err := intent.Read(svc, annotation.Vocabulary("fake"))
		if err == nil {
			_, err = desire(testKey(), in, nil, sharedState())
		}
		return err
	}, intent.KeyTLSPorts, intent.KeyConnectionDrainingTimeout)
}
