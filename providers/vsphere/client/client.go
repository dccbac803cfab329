// Package client calls vCenters: sessions of the SOAP and REST APIs, credentials that are reloaded, TLS, deadlines,
// and a circuit breaker for each vCenter.
package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// callTimeout bounds one call with its retries and, if necessary, a login. A property collection of ten thousand
// machines takes less.
const callTimeout = time.Minute

// Options configure New. VCenter is required.
type Options struct {
	VCenter config.VCenter
	// Credentials returns the credentials to log in with, in the order in which they are tried; nil uses those of
	// VCenter.
	Credentials CredentialSource
	// Transport sends all requests; nil builds one from the TLS settings of VCenter.
	Transport http.RoundTripper
	Clock     clock.Clock
	// Retry repeats failed calls; the zero value has the defaults. Its clock is Clock.
	Retry cloudapi.Retry
	// UserAgent is the header of requests.
	UserAgent string
}

// Client calls one vCenter. It makes no call before it is used. It is safe for concurrent use.
type Client struct {
	options Options
	// base sends the requests to the vCenter, and others those to a session manager, which has a certificate of its own.
	base, others cloudapi.SwitchableTransport
	http, shared http.Client
	retry        cloudapi.Retry
	// inventory and tagging are the circuits of the two APIs. Tags matter only to joining nodes.
	inventory, tagging *circuit
	health             *cloudapi.Health

	// login is held while a session is created.
	login locks.Mutex

	mu      sync.Mutex
	current *session
	denied  denial
	tls     fileStamp
}

var _ api.VCenter = (*Client)(nil)

// New returns a Client. It makes no call.
func New(o Options) *Client {
	o.Clock = clocks.OrReal(o.Clock)
	if o.Credentials == nil {
		configured := []config.Credentials{o.VCenter.Credentials}
		o.Credentials = func(context.Context) ([]config.Credentials, error) { return configured, nil }
	}
	c := &Client{
		options: o, retry: o.Retry, health: cloudapi.NewHealth(o.Clock),
		inventory: newCircuit(o.VCenter.Name, o.Clock), tagging: newCircuit(o.VCenter.Name, o.Clock),
	}
	c.retry.Clock = o.Clock
	if o.Transport != nil {
		c.base.Set(o.Transport)
		c.others.Set(o.Transport)
	}
	c.http, c.shared = c.newHTTP(&c.base), c.newHTTP(&c.others)
	return c
}

// newHTTP returns the HTTP client over a transport.
func (c *Client) newHTTP(base http.RoundTripper) http.Client {
	return http.Client{
		Transport: cloudapi.NewTransport(cloudapi.TransportOptions{
			Provider: names.Scheme, Base: base, Describe: describe, Clock: c.options.Clock,
			Limits: cloudapi.Limits{ObeyRetryAfter: true}, Observe: c.health.Observe,
		}),
		// Following a redirect would send the session to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Name returns the name of the vCenter in the configuration.
func (c *Client) Name() string { return c.options.VCenter.Name }

// Health returns the error of the vCenter, and since when it fails.
func (c *Client) Health() (time.Time, error) {
	return c.health.Err(serviceLogin, api.ServiceInventory, api.ServiceTagging)
}

// Check logs in unless there is a session, and makes one cheap read if calls have failed.
func (c *Client) Check(ctx context.Context) error {
	_, failing := c.Health()
	_, err := read(ctx, c, api.ServiceInventory, "CurrentTime", func(ctx context.Context, s *session) (struct{}, error) {
		if failing == nil {
			return struct{}{}, nil
		}
		var out struct{}
		return out, c.soap(ctx, s, "CurrentTime", operation("CurrentTime", serviceInstance()), &out)
	})
	return err
}

// address returns the URL of a path of the vCenter.
func (c *Client) address(path, query string) string {
	u := url.URL{Scheme: "https", Host: c.options.VCenter.Address(), Path: path, RawQuery: query}
	return u.String()
}

// read makes a call of a service in a session. It logs in if necessary, once more if the session has ended, and
// repeats a call that failed for a passing reason. The call may outlive the caller: see circuit.
func read[T any](
	ctx context.Context, c *Client, service, method string, call func(context.Context, *session) (T, error),
) (T, error) {
	request := cloudapi.Request{Service: service, Operation: method}
	circuit := c.inventory
	if service == api.ServiceTagging {
		circuit = c.tagging
	}
	return callDetached(ctx, circuit, method, func(ctx context.Context) (out T, err error) {
		err = c.retry.Do(ctx, request, func(ctx context.Context) error {
			out, err = callInSession(ctx, c, call)
			return wrap(method, err)
		})
		return out, err
	})
}

// callInSession makes a call, and once more with a new session if its session has ended.
func callInSession[T any](
	ctx context.Context, c *Client, call func(context.Context, *session) (T, error),
) (out T, err error) {
	for range 2 {
		s, err := c.session(ctx)
		if err != nil {
			return out, err
		}
		out, err = call(ctx, s)
		if !sessionEnded(err) {
			return out, err
		}
		c.discard(s)
	}
	return out, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: methodLogin,
		Err: errors.New("the session ended right after its login")}
}

// sessionEnded reports whether a call failed because its session has ended.
func sessionEnded(err error) bool {
	var s *statusError
	return faultKind(err) == faultNotAuthenticated || errors.As(err, &s) && s.status == http.StatusUnauthorized
}

// isTransportError reports whether an error of the HTTP client means that there was no response.
func isTransportError(err error) bool {
	var u *url.Error
	var n net.Error
	unclassified := errors.As(err, &u) && cloudapi.ClassOf(u.Err) == cloudapi.Unknown
	return unclassified || errors.Is(err, errTruncated) || errors.As(err, &n)
}

// requestKey is the context key of a request's description.
type requestKey struct{}

// describe returns the description of a request for metrics and rate limits.
func describe(r *http.Request) cloudapi.Request {
	described, _ := r.Context().Value(requestKey{}).(cloudapi.Request)
	return described
}

func withRequest(ctx context.Context, service, method string) context.Context {
	return context.WithValue(ctx, requestKey{}, cloudapi.Request{Service: service, Operation: method})
}
