package sim

import (
	"net/netip"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/lb"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

var (
	_ world.Inventory = (*Cloud)(nil)
	_ world.Reserver  = (*Cloud)(nil)
)

// Inventory implements world.Inventory for what clusters have in all projects. A kind is the name of a resource in
// words: target pool. IDs are paths, so that an object that is made again is the same one.
func (c *Cloud) Inventory() []world.Object {
	var out []world.Object
	c.inspect(func(s *lb.State) {
		for _, collection := range []string{"instances", "instanceGroups", "routes", "firewalls", "addresses",
			"forwardingRules", "targetPools", "backendServices", "httpHealthChecks", "healthChecks"} {
			for _, x := range core.All[core.Entity](s.Core(), collection) {
				kind := strings.ReplaceAll(core.SnakeCase(strings.TrimPrefix(x.Base().Kind, "compute#")), "_", " ")
				views := []any{x}
				if g, ok := x.(*vm.Group); ok {
					views = append(views, map[string][]string{"instances": g.Members()})
				}
				out = append(out, world.NewObject(kind, x.Base().Name, x.Ref().String(), views...))
			}
		}
	})
	world.SortObjects(out)
	return out
}

// Reserve implements world.Reserver: it reserves an external address. Services refer to it by its IP address, as the
// forwarding rule does.
func (c *Cloud) Reserve() (names []string, ip string, err error) {
	ip, err = c.ReserveAddress("reserved-address", vpc.TierPremium)
	return []string{ip}, ip, err
}

// otherSubnet is the range of a second subnet.
var otherSubnet = netip.MustParsePrefix("10.200.0.0/20")

// Subnet implements world.Reserver: it adds a subnet to the network.
func (c *Cloud) Subnet() (string, error) {
	_, err := c.AddSubnetwork("second", otherSubnet)
	return "second", err
}

// ReserveAddress reserves an external address of a tier, PREMIUM or STANDARD, under a name.
func (c *Cloud) ReserveAddress(name, tier string) (ip string, err error) {
	return ask(c, func(s *lb.State) (string, error) { return s.Reserve(name, tier) })
}
