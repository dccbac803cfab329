package sim

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// checker collects the inconsistencies of a state.
type checker struct {
	*state
	problems []error
}

// check verifies the invariants of the state: no dangling references, unique names and keys, and consistent
// ends of each relation.
func (s *state) check() error {
	c := &checker{state: s}
	c.instances()
	c.addresses()
	c.loadBalancers()
	c.routes()
	return errors.Join(c.problems...)
}

func (c *checker) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// unique fails if a name of a kind was seen before.
func (c *checker) unique(seen map[string]string, kind, name, id string) {
	if previous, ok := seen[name]; ok {
		c.fail("%s %q exists twice: %s and %s", kind, name, min(id, previous), max(id, previous))
	}
	seen[name] = id
}

func (c *checker) instances() {
	names := map[string]string{}
	for id, i := range c.Instances {
		if i == nil || i.ID != id {
			c.fail("instance %s is stored under another ID", id)
			continue
		}
		c.unique(names, "instance", i.Name, id)
		for _, ip := range slices.Concat(i.InternalAddresses, i.ExternalAddresses) {
			if _, err := netip.ParseAddr(ip); err != nil {
				c.fail("instance %s has the address %q", id, ip)
			}
		}
	}
}

func (c *checker) addresses() {
	names, ips := map[string]string{}, map[string]string{}
	for id, a := range c.Addresses {
		if a == nil || a.ID != id {
			c.fail("address %s is stored under another ID", id)
			continue
		}
		c.unique(names, "address", a.Name, id)
		c.unique(ips, "IP address", a.IP, id)
		if a.LoadBalancer == "" {
			continue
		}
		if lb := c.LoadBalancers[a.LoadBalancer]; lb == nil || !slices.Contains(lb.AddressIDs, id) {
			c.fail("address %s belongs to load balancer %s, which does not use it", id, a.LoadBalancer)
		}
	}
}

func (c *checker) loadBalancers() {
	names, ips := map[string]string{}, map[string]string{}
	for id, lb := range c.LoadBalancers {
		if lb == nil || lb.ID != id {
			c.fail("load balancer %s is stored under another ID", id)
			continue
		}
		c.unique(names, "load balancer", lb.Name, id)
		for _, ip := range lb.Addresses {
			c.unique(ips, "load balancer's address", ip, id)
		}
		c.loadBalancerAddresses(lb)
		c.pools(lb)
		c.listeners(lb)
	}
}

func (c *checker) loadBalancerAddresses(lb *loadBalancer) {
	if len(lb.Addresses) == 0 {
		c.fail("load balancer %s has no address", lb.ID)
	}
	if lb.Scheme == schemeInternal {
		if len(lb.AddressIDs) > 0 {
			c.fail("internal load balancer %s has public addresses", lb.ID)
		}
		return
	}
	if len(lb.AddressIDs) != len(lb.Addresses) {
		c.fail("load balancer %s has %d addresses and %d address IDs", lb.ID, len(lb.Addresses), len(lb.AddressIDs))
		return
	}
	for i, id := range lb.AddressIDs {
		if a := c.Addresses[id]; a == nil || a.LoadBalancer != lb.ID || a.IP != lb.Addresses[i] {
			c.fail("load balancer %s uses address %s, which does not belong to it", lb.ID, id)
		}
	}
}

func (c *checker) pools(lb *loadBalancer) {
	names := map[string]string{}
	for _, p := range lb.Pools {
		c.unique(names, "pool of "+lb.ID, p.Name, p.Name)
		if err := validPool(p); err != nil {
			c.fail("load balancer %s: %w", lb.ID, err)
		}
		seen := map[api.Member]bool{}
		for _, m := range p.Members {
			if c.Instances[m.InstanceID] == nil {
				c.fail("pool %s of load balancer %s has member %s, which does not exist", p.Name, lb.ID, m.InstanceID)
			}
			if seen[m] {
				c.fail("pool %s of load balancer %s has member %s twice", p.Name, lb.ID, m.InstanceID)
			}
			seen[m] = true
		}
	}
}

func (c *checker) listeners(lb *loadBalancer) {
	names, ports := map[string]string{}, map[string]string{}
	for _, l := range lb.Listeners {
		c.unique(names, "listener of "+lb.ID, l.Name, l.Name)
		c.unique(ports, "port of "+lb.ID, fmt.Sprintf("%s %d", l.Protocol, l.Port), l.Name)
		if err := validListener(lb, l); err != nil {
			c.fail("load balancer %s: %w", lb.ID, err)
		}
	}
}

func (c *checker) routes() {
	for key, r := range c.Routes {
		if r == nil || key != routeKey(r.Cluster, r.Destination) {
			c.fail("route %q is stored under another key", key)
			continue
		}
		if r.Cluster != "" && r.InstanceID == "" {
			c.fail("route %s of cluster %s has no target", r.Destination, r.Cluster)
		}
	}
}
