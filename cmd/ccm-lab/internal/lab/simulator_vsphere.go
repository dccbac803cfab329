package lab

import (
	"fmt"
	"net/url"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	vspheresim "github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

// vSphereBudgets are the targets that the provider's tests assert too. Those of Services are for two TCP ports. None
// depends on the number of nodes: a property collection reads all machines of a vCenter.
func vSphereBudgets(_, services int) map[string]Budget {
	const (
		// writes are those of an address, and of a virtual server, a pool and a monitor for each port.
		writes = 1 + 2*3
		// addressReads are those of the state of an allocation, one a second.
		addressReads = 3
		// sharedLists is the maximum number of lists for each Service where many Services share them.
		sharedLists = 2
	)
	// NSX-T answers with up to 1,000 objects at a time: virtual servers, pools and monitors of each port. The other lists
	// are load balancer services, groups, and the addresses of two pools. The names of pools and profiles are read once in
	// ten minutes.
	lists := 3*((2*(services+2)+999)/1000) + 4*((services+2+999)/1000)
	return map[string]Budget{
		PhaseJoin: {Calls: 30, ReadOnly: true},
		// An idle hour has 12 refreshes by default, and its limit is 30 calls.
		PhaseRefresh: {Calls: 2, ReadOnly: true},
		PhaseSilent:  {Calls: 12, ReadOnly: true},
		// One more is for a refresh of nodes.
		PhaseCreateAll: {Calls: (writes+addressReads+sharedLists)*services + 20},
		PhaseCreateOne: {Calls: writes + addressReads + lists + 1},
		PhaseDeleteOne: {Calls: writes + lists + 1},
		PhaseDeleteAll: {Calls: (writes+sharedLists)*services + 20},
		// The pools of two ports for each Service, and the lists that identify them.
		PhaseAddNode: {Calls: 2*services + 10},
		// The applied records are in the lists. The others read machines and their zones.
		PhaseRestart:      {Calls: lists + 15, ReadOnly: true},
		PhaseRestartAgain: {Calls: lists + 15, ReadOnly: true},
		PhaseIdle:         {Calls: 1, ReadOnly: true},
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
// own, and the application profiles, which the vSphere cloud controller manager has no defaults for.
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
tcp-app-profile-name = %s
udp-app-profile-name = %s

[LoadBalancerClass "internal"]
ip-pool-name = %s

[Route]
router-path = %s
`, vspheresim.User, vspheresim.Password, u.Hostname(), u.Port(), vspheresim.CategoryRegion, vspheresim.CategoryZone,
		u.Host, nsxt.User, nsxt.Password, nsxt.Tier1, nsxt.PublicPool, nsxt.TCPProfile, nsxt.UDPProfile,
		nsxt.InternalPool, nsxt.Tier1)
}
