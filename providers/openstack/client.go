package openstack

import (
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// clientOptions say how to reach the cloud.
type clientOptions struct {
	// Global is the section of the configuration at start.
	Global Global
	// Transport sends all requests; nil is a transport of our own.
	Transport http.RoundTripper
	Clock     clock.Clock
	// ConfigFile is read again when it changes; "" for a configuration without a file.
	ConfigFile string
	// UserAgent is what the user wants to stand before our own name.
	UserAgent []string
}

// client calls the services: it holds the token, and finds each service in the catalogue. It makes
// no call before it is used, so that a service that is missing fails only what needs it. It is safe
// for concurrent use.
type client struct {
	options clientOptions
	base    cloudapi.Switchable
	http    http.Client
	retry   cloudapi.Retry
	timeout time.Duration
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

	// tls is what the transport of our own trusts and presents.
	tls tlsInUse
}

var _ api.Caller = (*client)(nil)

func newClient(o clientOptions) *client {
	o.Clock = clocks.OrReal(o.Clock)
	c := &client{
		options: o, global: o.Global, timeout: o.Global.RequestTimeout.Duration,
		retry: cloudapi.Retry{Clock: o.Clock}, health: cloudapi.NewHealth(o.Clock),
	}
	if o.Transport != nil {
		c.base.Set(o.Transport)
	}
	if c.timeout == 0 {
		c.timeout = defaultRequestTimeout
	}
	if o.Global.LegacyMetrics {
		c.legacy = newLegacyMetrics()
	}
	c.http = http.Client{
		Transport: c.newTransport(),
		// A redirect would carry the token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
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
