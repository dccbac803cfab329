package compare

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// places are what exists in the cloud for Services to name.
type places struct {
	// reserved are static addresses for one load balancer, and address is one for spec.loadBalancerIP.
	reserved []string
	address  string
	// subnet is one for load balancers, not the default one.
	subnet string
	// certificate is the reference of one; a cloud without certificates refuses any.
	certificate string
}

func newPlaces(cloud world.World) (p places, err error) {
	p.certificate = "certificate"
	if c, ok := cloud.(world.Certificates); ok {
		p.certificate = c.Certificate()
	}
	place, ok := cloud.(world.Place)
	if !ok {
		return p, nil
	}
	if p.reserved, p.address, err = place.Reserve(); err != nil {
		return p, fmt.Errorf("reserving addresses: %w", err)
	}
	if p.subnet, err = place.Subnet(); err != nil {
		return p, fmt.Errorf("adding a subnet: %w", err)
	}
	return p, nil
}
