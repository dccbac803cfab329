package openstack

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// clientOptions say how to reach the cloud.
type clientOptions struct {
	// Global is the section of the configuration at start.
	Global Global
	// ConfigFile is read again when it changes; "" for a configuration without a file.
	ConfigFile string
	// Transport sends the requests; nil is a transport of our own.
	Transport http.RoundTripper
	Clock     clock.Clock
	// UserAgent is what the user wants to stand before our own name.
	UserAgent []string
}

// client calls the services: it holds the token, and finds each service in the catalogue. It makes
// no call before it is used, so that a service that is missing fails only what needs it. It is safe
// for concurrent use.
type client struct {
	options   clientOptions
	transport *switchable
	http      http.Client
	retry     cloudapi.Retry
	timeout   time.Duration
	// health is that of the services: Keystone's is whether there is a token, the others' whether the
	// catalogue has them and they answer.
	health *cloudapi.Health
	legacy *legacyMetrics

	mu      sync.Mutex
	current *session
	// renewing is the authentication that is under way.
	renewing *renewal
	refused  refusal
	// global and files are the credentials in use, and what they were read from.
	global    Global
	files     []stamp
	checkedAt time.Time
}

var _ api.Caller = (*client)(nil)

func newClient(o clientOptions) *client {
	o.Clock = clocks.OrReal(o.Clock)
	c := &client{
		options: o, global: o.Global, timeout: o.Global.RequestTimeout.Duration,
		transport: &switchable{fixed: o.Transport}, retry: cloudapi.Retry{Clock: o.Clock},
		health: cloudapi.NewHealth(o.Clock),
	}
	if c.timeout == 0 {
		c.timeout = defaultRequestTimeout
	}
	if o.Global.LegacyMetrics {
		c.legacy = newLegacyMetrics()
	}
	c.http = http.Client{
		Transport: cloudapi.NewTransport(cloudapi.TransportOptions{
			Provider: ProviderName,
			Base:     c.transport,
			Describe: describe,
			Clock:    o.Clock,
			Classify: classify,
			Limits:   cloudapi.Limits{ObeyRetryAfter: true},
			// Every service answers with it, and its logs have it.
			RequestIDHeader: "X-Openstack-Request-Id",
			Observe: func(call cloudapi.Call) {
				c.legacy.answered(call)
				if call.Service != api.Identity {
					c.health.Observe(call)
				}
			},
		}),
		// A redirect would carry the token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// requestKey is how a request carries its description to the transport.
type requestKey struct{}

// describe names a request for metrics and rate limits.
func describe(r *http.Request) cloudapi.Request {
	described, _ := r.Context().Value(requestKey{}).(cloudapi.Request)
	return described
}

func describedAs(ctx context.Context, r cloudapi.Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// errorBodyLimit is how much of an answer is looked at for an error: messages are short.
const errorBodyLimit = 64 << 10

// classify is the transport's view of an answer. Keystone's list of versions is a success of status 300.
func classify(resp *http.Response, err error) cloudapi.Class {
	if err != nil {
		return cloudapi.ClassifyStatus(nil, err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return ""
	}
	return oserr.ClassOfAnswer(resp.StatusCode, resp.Header, cloudapi.PeekResponse(resp, errorBodyLimit))
}

// Call implements api.Caller.
func (c *client) Call(ctx context.Context, r cloudapi.Request, call func(context.Context, *gophercloud.ServiceClient) error) error {
	// Nothing of the call is sent before there is a token, so that getting one can be repeated even
	// where the call cannot.
	err := c.retry.Do(ctx, tokenRequest(), func(ctx context.Context) error {
		_, err := c.session(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return c.retry.Do(ctx, r, func(ctx context.Context) error { return c.attempt(ctx, r, call) })
}

// attempt makes the call once, and once more with a new token if the service does not know ours: it
// has done nothing then.
func (c *client) attempt(ctx context.Context, r cloudapi.Request, call func(context.Context, *gophercloud.ServiceClient) error) error {
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
			c.renewAfter(s, catalogPause)
			return serviceErr
		}
		err = call(describedAs(ctx, r), service)
		switch oserr.Status(err) {
		case http.StatusUnauthorized:
			c.discard(s)
			continue
		case http.StatusNotAcceptable:
			if r.Service == api.Compute && s.forgoMicroversion() {
				continue
			}
		}
		break
	}
	return oserr.Wrap(r.Service, r.Operation, c.options.Clock.Now(), err)
}

// userAgent names the program, and what the user calls it.
func (c *client) userAgent() gophercloud.UserAgent {
	var agent gophercloud.UserAgent
	agent.Prepend("unified-ccm/" + version.Get().GitVersion + " provider/" + ProviderName)
	for _, name := range c.options.UserAgent {
		agent.Prepend(name)
	}
	return agent
}
