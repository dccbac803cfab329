package sim

import (
	"net/netip"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Options of a cloud. The zero value is a project with one region of three zones that is ready for a cluster, without
// latency, limits, faults and settle times.
type Options = core.Options

// Names of quotas, as the metrics of projects and regions.
const (
	QuotaForwardingRules = core.QuotaForwardingRules
	QuotaTargetPools     = core.QuotaTargetPools
	QuotaAddresses       = core.QuotaAddresses
	QuotaBackendServices = core.QuotaBackendServices
	QuotaHealthChecks    = core.QuotaHealthChecks
	QuotaFirewalls       = core.QuotaFirewalls
	QuotaRoutes          = core.QuotaRoutes
	QuotaInstanceGroups  = core.QuotaInstanceGroups
)

type (
	// Outcome is how an operation ends.
	Outcome = core.Outcome
	// OutcomeRule selects operations and their outcome.
	OutcomeRule = core.OutcomeRule
)

// The closed set of outcomes.
const (
	OutcomeDone  = core.OutcomeDone
	OutcomeError = core.OutcomeError
	OutcomeStuck = core.OutcomeStuck
)

// shifted returns the i-th range after a range, of its size.
func shifted(p netip.Prefix, i int) netip.Prefix {
	v4 := p.Addr().As4()
	n := uint32(v4[0])<<24 | uint32(v4[1])<<16 | uint32(v4[2])<<8 | uint32(v4[3])
	n += uint32(i) << (32 - p.Bits()) //nolint:gosec // regions are few
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), p.Bits())
}
