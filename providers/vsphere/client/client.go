// Package client calls vCenters: sessions of the SOAP and REST APIs, credentials that are reloaded, TLS, deadlines,
// and a circuit breaker for each vCenter.
package client

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

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

// session is a login.
type session struct {
	content serviceContent
	cookie  string
	// credentials are those of the login. The login of the REST API uses them too.
	credentials config.Credentials

	// rest is held while a session of the REST API is created. restID is guarded by the client's mutex.
	rest   locks.Mutex
	restID string
}

// serviceContent has the identity of a vCenter, and the references of its singletons.
type serviceContent struct {
	About struct {
		InstanceUUID string `xml:"instanceUuid"`
	} `xml:"about"`
	RootFolder        soapRef `xml:"rootFolder"`
	PropertyCollector soapRef `xml:"propertyCollector"`
	SearchIndex       soapRef `xml:"searchIndex"`
	SessionManager    soapRef `xml:"sessionManager"`
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

// address returns the URL of a path of the vCenter.
func (c *Client) address(path, query string) string {
	u := url.URL{Scheme: "https", Host: c.options.VCenter.Address(), Path: path, RawQuery: query}
	return u.String()
}

// updateTransport builds the transport if the file of certificate authorities has changed, unless the caller of New
// provided it.
func (c *Client) updateTransport() error {
	if c.options.Transport != nil {
		return nil
	}
	stamp := stampOf(c.options.VCenter.CAFile)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tls == stamp {
		return nil
	}
	v := c.options.VCenter
	settings := tlsSettings{owner: "vCenter " + v.Name, insecure: v.Insecure, caFile: v.CAFile}
	others, err := settings.transport()
	if err != nil {
		return err
	}
	settings.host, settings.thumbprint = v.Server, v.Thumbprint
	base, err := settings.transport()
	if err != nil {
		return err
	}
	c.base.Set(base)
	c.others.Set(others)
	c.tls = stamp
	return nil
}
