package lab

import (
	"fmt"
	"net/url"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	vspheresim "github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

// vSphereBudgets are the targets that the provider's tests assert too.
func vSphereBudgets(int, int) map[string]Budget {
	return map[string]Budget{
		PhaseRefresh: {Calls: 6, ReadOnly: true},
		PhaseIdle:    {Calls: 1, ReadOnly: true},
	}
}

// newVSphere has NSX-T, and no data plane and no state file: these options have no effect.
func newVSphere(o SimulatorOptions) (conformance.World, func() error, error) {
	options := vspheresim.Options{Latency: o.Latency, Seed: o.Seed, ErrorRate: o.ErrorRate, NSXT: true}
	if o.LoadBalancers > 0 {
		options.Public = largePool
	}
	cloud, err := vspheresim.New(options)
	if err != nil {
		return nil, nil, err
	}
	return cloud, cloud.Close, nil
}

// vSphereConfig contains the accounts of the simulated vCenter and its NSX-T manager, which have a certificate of their
// own.
func vSphereConfig(endpoint string, _ conformance.World, _ SimulatorOptions) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`[Global]
user = %s
password = %q
insecure-flag = true

[VirtualCenter "simulated"]
server = %s
port = %s

[Labels]
region = %s
zone = %s

[NSXT]
host = %s
user = %s
password = %q
insecure-flag = true

[LoadBalancer]
size = XLARGE
tier1-gateway-path = %s
ip-pool-name = %s

[LoadBalancerClass "internal"]
ip-pool-name = %s

[Route]
router-path = %s
`, vspheresim.User, vspheresim.Password, u.Hostname(), u.Port(), vspheresim.CategoryRegion, vspheresim.CategoryZone,
		u.Host, nsxt.User, nsxt.Password, nsxt.Tier1, nsxt.PublicPool, nsxt.InternalPool, nsxt.Tier1)
}
