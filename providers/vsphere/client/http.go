package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// errTruncated is the error of a response that ends early, errTooLong that of one that is longer than its limit.
var (
	errTruncated = errors.New("the response ended early")
	errTooLong   = errors.New("the response is too long")
)

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

// readAll reads and closes the body of a response of at most limit bytes.
func readAll(resp *http.Response, limit int64) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errTruncated, err)
	case n > limit:
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, limit)
	}
	return b.Bytes(), nil
}
