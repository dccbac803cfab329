package client

import (
	"context"
	"errors"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// catalogProbe is the age at which a catalog that lacks an optional service is read again.
const catalogProbe = 10 * time.Minute

// Health returns the error of the first of the services that fails, and since when it fails.
func (c *Client) Health(services ...string) (time.Time, error) { return c.health.Err(services...) }

// Check verifies that there is a token, that the catalog has the services that nodes need, and probes
// services that have failed. A missing Octavia disables only load balancers, so it is not an error.
func (c *Client) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	if s.checkService(api.LoadBalancing) != nil {
		c.renewAfter(s, catalogProbe)
	}
	for _, service := range []string{api.Compute, api.Network} {
		if err := s.checkService(service); err != nil {
			c.renewAfter(s, catalogRetryAfter)
			return &cloudapi.Error{Class: cloudapi.Unknown, Operation: tokenRequest().Operation, Err: err}
		}
	}
	return c.probe(ctx, s)
}

// probe makes a cheap call to each service that has failed and that the catalog has.
func (c *Client) probe(ctx context.Context, s *session) error {
	var errs []error
	for _, service := range []string{api.Compute, api.Network, api.LoadBalancing} {
		if _, failing := c.health.Err(service); failing != nil && s.checkService(service) == nil {
			errs = append(errs, probeService(ctx, api.New(c), service))
		}
	}
	return errors.Join(errs...)
}

// probeService makes a cheap read of a service.
func probeService(ctx context.Context, clients *api.Clients, service string) error {
	var err error
	switch service {
	case api.Compute:
		_, err = clients.ListServers(ctx, "^$") // matches no server
	case api.Network:
		_, err = clients.ListExtensions(ctx)
	case api.LoadBalancing:
		_, err = clients.ListVersions(ctx)
	}
	return err
}
