package client

import (
	"context"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// serviceCall makes one call to a service.
type serviceCall = func(context.Context, *gophercloud.ServiceClient) error

// Call implements api.Caller.
func (c *Client) Call(ctx context.Context, r cloudapi.Request, call serviceCall) error {
	// The call is not sent before there is a token, so that issuing one can be repeated even where the
	// call cannot.
	err := c.retry.Do(ctx, tokenRequest(), func(ctx context.Context) error {
		_, err := c.session(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return c.retry.Do(ctx, r, func(ctx context.Context) error { return c.attempt(ctx, r, call) })
}

// attempt makes the call once, and once more with a new token if the service rejects the current one: it has done
// nothing in that case.
func (c *Client) attempt(ctx context.Context, r cloudapi.Request, call serviceCall) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var err error
	for range 2 {
		s, sessionErr := c.session(ctx)
		if sessionErr != nil {
			return sessionErr
		}
		service, serviceErr := s.service(r)
		if serviceErr != nil {
			c.renewAfter(s, catalogRetryAfter)
			return serviceErr
		}
		err = call(withRequest(ctx, r), service)
		switch oserr.Status(err) {
		case http.StatusUnauthorized:
			c.discard(s)
			continue
		case http.StatusNotAcceptable:
			if r.Service == api.Compute && s.disableMicroversion() {
				continue
			}
		}
		break
	}
	return oserr.Wrap(r.Service, r.Operation, c.options.Clock.Now(), err)
}
