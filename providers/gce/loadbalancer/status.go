package loadbalancer

import (
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

// Status implements loadbalancer.Cloud.
func (c *Cloud) Status(_ intent.Service, have Observed) lbcommon.Status {
	if have.Rule == nil || have.Rule.IPAddress == "" {
		return lbcommon.Status{}
	}
	status := lbcommon.Status{LoadBalancer: &v1.LoadBalancerStatus{
		Ingress: []v1.LoadBalancerIngress{{IP: have.Rule.IPAddress}},
	}}
	switch {
	case !c.options.Annotate:
	case have.isExternal():
		status.Annotations = map[string]string{annotation.KeyTargetPool: api.Last(have.Rule.Target)}
	default:
		status.Annotations = map[string]string{annotation.KeyBackendService: api.Last(have.Rule.BackendService)}
	}
	return status
}
