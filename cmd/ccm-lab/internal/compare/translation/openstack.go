package translation

import (
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

func openStackTranslations() map[string]translation {
	return map[string]translation{
		intent.KeyScheme:                        constantly(annotation.KeyInternal, "true"),
		intent.KeySubnets:                       as(annotation.KeySubnetID),
		intent.KeyTLSCertificate:                as(annotation.KeyTLSContainer),
		intent.KeyProxyProtocol:                 as(annotation.KeyProxyProtocol),
		intent.KeyAlgorithm:                     constantly(annotation.KeyMethod, "LEAST_CONNECTIONS"),
		intent.KeyForwardedHeaders:              constantly(annotation.KeyXForwardedFor, "true"),
		intent.KeyHealthCheckInterval:           inSeconds(annotation.KeyMonitorDelay),
		intent.KeyHealthCheckTimeout:            inSeconds(annotation.KeyMonitorTimeout),
		intent.KeyHealthCheckHealthyThreshold:   as(annotation.KeyMonitorRetries),
		intent.KeyHealthCheckUnhealthyThreshold: as(annotation.KeyMonitorDown),
		intent.KeyStaticAddresses:               inSpec,
		intent.KeyIdleTimeout: func(svc *v1.Service, value string) {
			annotate(svc, annotation.KeyClientTimeout, seconds(value)+"000")
			annotate(svc, annotation.KeyMemberTimeout, seconds(value)+"000")
		},
	}
}
