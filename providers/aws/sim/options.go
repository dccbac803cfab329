package sim

import (
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// Options of a cloud. The zero value is one region with three zones and a VPC that is ready for a
// cluster, without latency, limits, faults and settle times.
type Options = core.Options

// PublishedLimits returns the token buckets that AWS publishes.
func PublishedLimits() map[string]kit.Bucket { return core.PublishedLimits() }

// Names of quotas.
const (
	QuotaRulesPerGroup      = core.QuotaRulesPerGroup
	QuotaGroupsPerInterface = core.QuotaGroupsPerInterface
	QuotaGroups             = core.QuotaGroups
	QuotaRoutesPerTable     = core.QuotaRoutesPerTable
	QuotaAddresses          = core.QuotaAddresses
	QuotaNetworkBalancers   = core.QuotaNetworkBalancers
	QuotaClassicBalancers   = core.QuotaClassicBalancers
	QuotaTargetGroups       = core.QuotaTargetGroups
	QuotaListeners          = core.QuotaListeners
	QuotaTargetsPerBalancer = core.QuotaTargetsPerBalancer
	QuotaTargetsPerGroup    = core.QuotaTargetsPerGroup
	QuotaCertificates       = core.QuotaCertificates
)
