// Package client calls the services of OpenStack: it issues and renews tokens, finds services in the
// catalog, repeats failed calls, reloads credentials, and reports the health of each service.
package client

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Options configure New. Only Global is required.
type Options struct {
	// Global is the section of the configuration at start.
	Global config.Global
	// Transport sends all requests; nil builds one from the TLS settings in Global.
	Transport http.RoundTripper
	Clock     clock.Clock
	// Retry repeats failed calls; the zero value has the defaults. Its clock is Clock.
	Retry cloudapi.Retry
	// ConfigFile is reloaded when it changes; "" for a configuration without a file.
	ConfigFile string
	// UserAgent is prepended to the User-Agent header.
	UserAgent []string
}

// Client calls the services. It makes no call before it is used, so that a missing service fails only
// the calls to it. It is safe for concurrent use.
type Client struct {
	options Options
	base    cloudapi.SwitchableTransport
	http    http.Client
	retry   cloudapi.Retry
	timeout time.Duration
	// health of Keystone means that there is a token; health of the others, that the catalog has them and they answer.
	health *cloudapi.Health
	legacy *LegacyMetrics

	mu      sync.Mutex
	current *session
	// renewing is the authentication in flight.
	renewing *renewal
	denied   denial
	// global and files are the credentials in use, and the files that they were read from.
	global    config.Global
	files     []fileStamp
	checkedAt time.Time

	// tls is the source of the transport in use.
	tls tlsSource
}

// session is a token with its catalog.
type session struct {
	provider     *gophercloud.ProviderClient
	catalog      *tokens.ServiceCatalog
	region       string
	availability gophercloud.Availability
	issued       time.Time
	expires      time.Time
	// renewAt is guarded by the client's mutex.
	renewAt time.Time
	// noMicroversion is set once Nova has rejected computeMicroversion.
	noMicroversion atomic.Bool
}

// renewal is an authentication in flight, shared by its waiters.
type renewal struct {
	done chan struct{}
	err  error
}

// denial is Keystone's last rejection of the credentials.
type denial struct {
	err error
	at  time.Time
}

var _ api.Caller = (*Client)(nil)

// New returns a Client. It makes no call.
func New(o Options) *Client {
	o.Clock = clocks.OrReal(o.Clock)
	c := &Client{
		options: o, global: o.Global, timeout: o.Global.RequestTimeout.Duration,
		retry: o.Retry, health: cloudapi.NewHealth(o.Clock),
	}
	c.retry.Clock = o.Clock
	if o.Transport != nil {
		c.base.Set(o.Transport)
	}
	if c.timeout == 0 {
		c.timeout = config.DefaultRequestTimeout
	}
	if o.Global.LegacyMetrics {
		c.legacy = newLegacyMetrics()
	}
	c.http = http.Client{
		Transport: c.newTransport(),
		// Following a redirect would send the token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// newTransport returns the transport of all services.
func (c *Client) newTransport() http.RoundTripper {
	return cloudapi.NewTransport(cloudapi.TransportOptions{
		Provider:        names.Scheme,
		Base:            &c.base,
		Describe:        describe,
		Limits:          cloudapi.Limits{ObeyRetryAfter: true},
		Clock:           c.options.Clock,
		Classify:        classify,
		RequestIDHeader: requestIDHeader,
		Observe: func(call cloudapi.Call) {
			c.legacy.observeCall(call)
			if call.Service != api.Identity {
				c.health.Observe(call)
			}
		},
	})
}

// LegacyMetrics returns the metrics under their earlier names, nil unless they are enabled.
func (c *Client) LegacyMetrics() *LegacyMetrics { return c.legacy }

// userAgent returns the name of the program, after those that the user configured.
func (c *Client) userAgent() gophercloud.UserAgent {
	var agent gophercloud.UserAgent
	agent.Prepend("unified-ccm/" + version.Get().GitVersion + " provider/" + names.Scheme)
	for _, name := range c.options.UserAgent {
		agent.Prepend(name)
	}
	return agent
}
