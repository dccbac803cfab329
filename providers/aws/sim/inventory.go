package sim

import "github.com/unified-ccm/unified-ccm/pkg/common/sim/world"

var _ world.Inventory = (*Cloud)(nil)

// Inventory implements world.Inventory. Like Objects, it omits terminated instances and network interfaces.
func (c *Cloud) Inventory() []world.Object {
	var out []world.Object
	c.inspect(func(t *tx) {
		out = t.Inventory()
		for _, g := range t.generations() {
			out = append(out, g.Inventory()...)
		}
	})
	world.SortObjects(out)
	return out
}

var _ world.Reserver = (*Cloud)(nil)

// Reserve implements world.Reserver: it allocates one Elastic IP for each public subnet.
func (c *Cloud) Reserve() (names []string, ip string, err error) {
	subnets := c.Subnets(false)
	err = c.console(func(t *tx) error {
		for range subnets {
			id, err := t.AllocateElasticIP()
			if err != nil {
				return err
			}
			names, ip = append(names, id), t.Addresses[id].IP.String()
		}
		return nil
	})
	return names, ip, err
}

// Subnet implements world.Reserver. It returns one of the public subnets; by default a load balancer is in all of them.
func (c *Cloud) Subnet() (string, error) { return c.Subnets(false)[0], nil }

var _ world.Certificates = (*Cloud)(nil)

// Certificate implements world.Certificates: unless Options lists some, every ARN of ACM and IAM is one.
func (c *Cloud) Certificate() string {
	return "arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012"
}
