package client

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

const (
	// errorBodyLimit limits the part of a response that is parsed for an error: messages are short.
	errorBodyLimit = 64 << 10
	// requestIDHeader is in every response, and its value is in the logs of the service.
	requestIDHeader = "X-Openstack-Request-Id"
	// idleTimeout closes idle connections. A worker of an OpenStack API has about a hundred threads for the
	// managers of all clusters, and an idle connection occupies one. The timeout is shorter than the 5 s
	// after which Apache, in front of many of these APIs, closes a connection itself, possibly just when a
	// request is sent that cannot be repeated safely. The calls of a burst, and the polls of a load balancer
	// that is being created, come closer together.
	idleTimeout = 4 * time.Second
)

// requestKey is the context key of a request's description.
type requestKey struct{}

// describe returns the description of a request for metrics and rate limits.
func describe(r *http.Request) cloudapi.Request {
	described, _ := r.Context().Value(requestKey{}).(cloudapi.Request)
	return described
}

func withRequest(ctx context.Context, r cloudapi.Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// classify classifies a response for the transport. Keystone's list of versions is a success of status 300.
func classify(resp *http.Response, err error) cloudapi.Class {
	if err != nil {
		return cloudapi.ClassifyStatus(nil, err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return ""
	}
	return oserr.ClassOfResponse(resp.StatusCode, resp.Header, cloudapi.PeekResponse(resp, errorBodyLimit))
}

// tlsSource is the configuration and the files that a transport was built from. Only authentications, of
// which one runs at a time, access it.
type tlsSource struct {
	config [4]string
	files  []fileStamp
}

// newHTTPTransport returns a transport with its own connections.
func newHTTPTransport(tlsConfig *tls.Config) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = tlsConfig
	t.IdleConnTimeout = idleTimeout
	return t
}
