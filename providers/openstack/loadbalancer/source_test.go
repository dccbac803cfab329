package loadbalancer

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestProblemsNameUserSettings(t *testing.T) {
	const id = "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"
	bad := append(intenttest.InvalidValues(), []intenttest.InvalidValue{
		{Setting: intent.KeyScheme, Value: "internal", Annotations: map[string]string{annotation.KeyInternal: "false"}},
		{Setting: intent.KeyProxyProtocol, Value: "v2", Annotations: map[string]string{annotation.KeyProxyProtocol: "v1"}},
		{Setting: intent.KeyIdleTimeout, Value: "5m", Annotations: map[string]string{annotation.KeyClientTimeout: "1000"}},
		{Setting: intent.KeyStaticAddresses, Value: "web"},
		{Setting: intent.KeyTags, Value: "kube_service_x=1"},
		{Setting: intent.KeyTags, Value: "team=" + strings.Repeat("x", 300)},
		{Setting: intent.KeySubnets, Value: "private"},
		{Setting: intent.KeySubnets, Value: id + "," + strings.Replace(id, "8", "9", 1)},
		{Setting: intent.KeySubnets, Value: id, Annotations: map[string]string{annotation.KeySubnetID: strings.Replace(id, "8", "9", 1)}},
		{Setting: intent.KeyHealthCheckInterval, Value: "9s", Annotations: map[string]string{annotation.KeyMonitor: "false"}},
		{Setting: intent.KeyHealthCheckTimeout, Value: "9s", Annotations: map[string]string{annotation.KeyMonitorTimeout: "8"}},
	}...)
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		intenttest.VerifySources(t, bad, func() *v1.Service { return service() }, func(svc *v1.Service) error {
			_, err := r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
			return err
		}, intent.KeyConnectionDrainingTimeout)
	})
}
