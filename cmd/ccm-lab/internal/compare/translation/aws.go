package translation

import (
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// awsTranslations are those of both generations.
func awsTranslations() map[string]translation {
	return map[string]translation{
		intent.KeyScheme:                        constantly(annotation.KeyInternal, "true"),
		intent.KeySubnets:                       as(annotation.KeySubnets),
		intent.KeyTags:                          as(annotation.KeyTags),
		intent.KeyTLSCertificate:                as(annotation.KeyCertificates),
		intent.KeyTLSPorts:                      as(annotation.KeyTLSPorts),
		intent.KeyHealthCheckProtocol:           as(annotation.KeyHealthCheckProtocol),
		intent.KeyHealthCheckPort:               as(annotation.KeyHealthCheckPort),
		intent.KeyHealthCheckPath:               as(annotation.KeyHealthCheckPath),
		intent.KeyHealthCheckInterval:           inSeconds(annotation.KeyHealthCheckInterval),
		intent.KeyHealthCheckTimeout:            inSeconds(annotation.KeyHealthCheckTimeout),
		intent.KeyHealthCheckHealthyThreshold:   as(annotation.KeyHealthCheckHealthy),
		intent.KeyHealthCheckUnhealthyThreshold: as(annotation.KeyHealthCheckUnhealthy),
	}
}

func awsNetworkTranslations() map[string]translation {
	return map[string]translation{
		intent.KeyStaticAddresses: as(annotation.KeyAllocations),
		// Only version 2, which is an attribute of target groups.
		intent.KeyProxyProtocol: func(svc *v1.Service, version string) {
			if version == "v2" {
				annotate(svc, annotation.KeyGroupAttributes, "proxy_protocol_v2.enabled=true")
			} else {
				annotate(svc, annotation.KeyProxyProtocol, "*")
			}
		},
	}
}

func awsClassicTranslations() map[string]translation {
	return map[string]translation{
		intent.KeyProxyProtocol:    constantly(annotation.KeyProxyProtocol, "*"),
		intent.KeyForwardedHeaders: constantly(annotation.KeyBackendProtocol, "http"),
		intent.KeyIdleTimeout:      inSeconds(annotation.KeyIdleTimeout),
		intent.KeyConnectionDrainingTimeout: func(svc *v1.Service, value string) {
			annotate(svc, annotation.KeyDraining, "true")
			annotate(svc, annotation.KeyDrainTimeout, seconds(value))
		},
	}
}
