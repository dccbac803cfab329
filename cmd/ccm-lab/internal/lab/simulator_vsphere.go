package lab

import (
	"fmt"
	"net/url"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	vspheresim "github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// vSphereBudgets are the targets that the provider's tests assert too.
func vSphereBudgets(int, int) map[string]Budget {
	return map[string]Budget{
		PhaseRefresh: {Calls: 6, ReadOnly: true},
		PhaseIdle:    {Calls: 1, ReadOnly: true},
	}
}

// newVSphere has no load balancers, no data plane and no state file: these options have no effect.
func newVSphere(o SimulatorOptions) (conformance.World, func() error, error) {
	cloud, err := vspheresim.New(vspheresim.Options{Latency: o.Latency, Seed: o.Seed, ErrorRate: o.ErrorRate})
	if err != nil {
		return nil, nil, err
	}
	return cloud, cloud.Close, nil
}

// vSphereConfig contains the account of the simulated vCenter, which has a certificate of its own.
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
`, vspheresim.User, vspheresim.Password, u.Hostname(), u.Port(), vspheresim.CategoryRegion, vspheresim.CategoryZone)
}
