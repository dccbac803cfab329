package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestProblemsNameTheUsersField(t *testing.T) {
	internal := map[string]string{intent.KeyScheme: "internal"}
	shared := []intenttest.InvalidValue{
		{Setting: intent.KeySubnets, Value: "nosuchsubnet"},
		{Setting: intent.KeyTags, Value: "aws:x=1"},
		{Setting: intent.KeyTags, Value: "unified-ccm.io/x=1", Annotations: map[string]string{annotation.KeyTags: "team=web"}},
		{Setting: intent.KeyHealthCheckTimeout, Value: "9s", Annotations: map[string]string{annotation.KeyHealthCheckInterval: "8"}},
	}
	for kind, own := range map[annotation.Type][]intenttest.InvalidValue{
		onClassic: {
			{Setting: intent.KeyStaticAddresses, Value: "192.0.2.1"},
			{Setting: intent.KeyProxyProtocol, Value: "v2"},
			{Setting: intent.KeyHealthCheckTimeout, Value: "70s", Annotations: map[string]string{intent.KeyHealthCheckInterval: "80s"}},
		},
		onNetwork: {
			{Setting: intent.KeyStaticAddresses, Value: "192.0.2.1"},
			{Setting: intent.KeyStaticAddresses, Value: "web"},
			{Setting: intent.KeyStaticAddresses, Value: "eipalloc-1"},
			{Setting: intent.KeyStaticAddresses, Value: "eipalloc-1", Annotations: internal},
			{Setting: intent.KeyStaticAddresses, Value: "192.0.2.1", Annotations: internal},
			{Setting: intent.KeyStaticAddresses, Value: "eipalloc-1", Annotations: map[string]string{annotation.KeyAllocations: "eipalloc-2,eipalloc-3,eipalloc-4"}},
			{Setting: intent.KeyProxyProtocol, Value: "v1"},
			{Setting: intent.KeyIdleTimeout, Value: "10s"},
			{Setting: intent.KeyHealthCheckInterval, Value: "2s"},
			{Setting: intent.KeyHealthCheckHealthyThreshold, Value: "1"},
		},
	} {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, sim.Options{}, managed)
			bad := append(append(intenttest.InvalidValues(), shared...), own...)
			intenttest.VerifySources(t, bad, func() *v1.Service { return service(generation(kind)) }, func(svc *v1.Service) error {
				_, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes)
				return err
			}, intent.KeyAlgorithm)
		})
	}
}
