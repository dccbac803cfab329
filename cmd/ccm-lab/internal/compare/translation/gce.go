package translation

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

func gceTranslations() map[string]translation {
	return map[string]translation{
		intent.KeyScheme:          constantly(annotation.KeyType, "Internal"),
		intent.KeySubnets:         as(annotation.KeySubnet),
		intent.KeyStaticAddresses: inSpec,
	}
}
