package compare

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// fixtures are the objects in the cloud that the Services of scenarios refer to.
type fixtures struct {
	// reserved are the static addresses of one load balancer, address is an address for spec.loadBalancerIP.
	reserved []string
	address  string
	// subnet is a subnet for load balancers that is not the default.
	subnet string
	// ipv6Subnet is a subnet for load balancers with IPv6; empty if the default one is.
	ipv6Subnet string
	// certificate is the reference of a certificate; a placeholder on a cloud without certificates.
	certificate string
}

func newFixtures(cloud world.World) (f fixtures, err error) {
	f.certificate = "certificate"
	if c, ok := cloud.(world.Certificates); ok {
		f.certificate = c.Certificate()
	}
	reserver, ok := cloud.(world.Reserver)
	if !ok {
		return f, nil
	}
	if f.reserved, f.address, err = reserver.Reserve(); err != nil {
		return f, fmt.Errorf("reserving addresses: %w", err)
	}
	if f.subnet, err = reserver.Subnet(); err != nil {
		return f, fmt.Errorf("adding a subnet: %w", err)
	}
	if families, ok := cloud.(world.FamilySubnets); ok {
		f.ipv6Subnet = families.IPv6Subnet()
	}
	return f, nil
}
