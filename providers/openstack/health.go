package openstack

import (
	"context"
	"errors"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// catalogProbe is how often the catalogue is read again for a service that it lacks and that nothing
// has asked for since.
const catalogProbe = 10 * time.Minute

// needs are what a part of the work cannot be done without.
type needs struct {
	part     string
	services []string
}

// work are the parts that the configuration asks for, and the services that they call.
func (c *Cloud) work() []needs {
	parts := []needs{{provider.PartNodes, []string{api.Identity, api.Compute, api.Network}}}
	if c.config.LoadBalancer.Enabled {
		parts = append(parts, needs{provider.PartLoadBalancers, []string{api.Identity, api.LoadBalancing, api.Network}})
	}
	if c.config.Route.RouterID != "" {
		parts = append(parts, needs{provider.PartRoutes, []string{api.Identity, api.Network}})
	}
	return parts
}

// Health implements provider.HealthReporter.
func (c *Cloud) Health() []provider.PartHealth {
	var out []provider.PartHealth
	for _, n := range c.work() {
		since, err := c.client.health.Err(n.services...)
		out = append(out, provider.PartHealth{Part: n.part, Err: err, Since: since})
	}
	return out
}

// Check implements provider.Checker: it gets a token, looks into the catalogue that comes with it for
// what nodes need, and asks services again that failed. A missing Octavia stops only load balancers,
// so it is no error here.
func (c *Cloud) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.client.timeout)
	defer cancel()
	s, err := c.client.session(ctx)
	if err != nil {
		return err
	}
	if s.missing(api.LoadBalancing) != nil {
		c.client.renewAfter(s, catalogProbe)
	}
	for _, service := range []string{api.Compute, api.Network} {
		if err := s.missing(service); err != nil {
			c.client.renewAfter(s, catalogPause)
			return &cloudapi.Error{Class: cloudapi.Unknown, Operation: tokenRequest().Operation, Err: err}
		}
	}
	return c.probe(ctx, s)
}

// probe asks each service something small that has failed, and that there is.
func (c *Cloud) probe(ctx context.Context, s *session) error {
	var errs []error
	for _, service := range []string{api.Compute, api.Network, api.LoadBalancing} {
		if _, failing := c.client.health.Err(service); failing != nil && s.missing(service) == nil {
			errs = append(errs, tryOut(ctx, api.New(c.client), service))
		}
	}
	return errors.Join(errs...)
}

// tryOut reads something small of a service.
func tryOut(ctx context.Context, clients *api.Clients, service string) error {
	var err error
	switch service {
	case api.Compute:
		_, err = clients.ListServers(ctx, "^$") // no server has an empty name
	case api.Network:
		_, err = clients.ListExtensions(ctx)
	case api.LoadBalancing:
		_, err = clients.ListVersions(ctx)
	}
	return err
}
