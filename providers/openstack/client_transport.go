package openstack

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

const (
	// errorBodyLimit is how much of an answer is looked at for an error: messages are short.
	errorBodyLimit = 64 << 10
	// requestIDHeader is the header by which a request is found: every service answers with it, and
	// its logs have it.
	requestIDHeader = "X-Openstack-Request-Id"
	// idleTime is how long a connection stays open when nothing is asked. Of the workers that serve an
	// OpenStack API each has about a hundred threads for the managers of all clusters, and an idle
	// connection holds one. It is also less than the 5 s after which Apache, which many of these APIs are
	// behind, closes a connection by itself, perhaps just as a request is sent that cannot be repeated
	// blindly. The calls of a burst, and looks at a load balancer that is being made, come closer together.
	idleTime = 4 * time.Second
)

// newTransport is what all services are called through.
func (c *client) newTransport() http.RoundTripper {
	return cloudapi.NewTransport(cloudapi.TransportOptions{
		Provider:        ProviderName,
		Base:            &c.base,
		Describe:        describe,
		Limits:          cloudapi.Limits{ObeyRetryAfter: true},
		Clock:           c.options.Clock,
		Classify:        classify,
		RequestIDHeader: requestIDHeader,
		Observe: func(call cloudapi.Call) {
			c.legacy.answered(call)
			if call.Service != api.Identity {
				c.health.Observe(call)
			}
		},
	})
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

// tlsInUse is what a transport was made from. Authentications, of which one runs at a time, use it.
type tlsInUse struct {
	from [4]string
	seen []stamp
}

// ownTransport is what sends the requests of a manager.
func ownTransport(config *tls.Config) *http.Transport {
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.TLSClientConfig = config
	own.IdleConnTimeout = idleTime
	return own
}

// useTLS makes the transport trust and present what the section says, unless it is somebody else's.
func (c *client) useTLS(g Global) error {
	if c.options.Transport != nil {
		return nil
	}
	from := [4]string{g.CAFile, g.CertFile, g.KeyFile, g.TLSInsecure}
	if c.base.Known() && c.tls.from == from && !changed(c.tls.seen) {
		return nil
	}
	seen := stamps(g.files())
	config, err := g.tlsConfig()
	if err != nil {
		return err
	}
	c.base.Set(ownTransport(config))
	c.tls = tlsInUse{from, seen}
	return nil
}
