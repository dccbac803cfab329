// Package client implements the calls of package api over HTTP.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/component-base/version"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/names"
)

const (
	// apiService is the name of the service in metrics and rate limits.
	apiService = "fake"
	// CallTimeout bounds one attempt of one call. Reads of a full page take milliseconds; a longer request will
	// not get a response.
	CallTimeout = 30 * time.Second
	// maxResponse limits the bytes that are read of a response: far above a page of load balancers with a thousand
	// members each, and far below what would exhaust the manager's memory.
	maxResponse = 256 << 20
	// MaxInstances keeps the query string of a read by ID or name below the 64 kB that
	// proxies allow: names have at most 253 characters.
	MaxInstances = 200
	// inProcess is the base URL if requests do not leave the process.
	inProcess = "http://fake.invalid"
)

// Options configure New.
type Options struct {
	// Endpoint is the base URL; empty if Transport does not need one.
	Endpoint string
	Token    config.Secret
	// Transport sends the requests; nil uses a new transport.
	Transport http.RoundTripper
	Clock     clock.Clock
}

// Client implements API over HTTP. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token config.Secret
	http  *http.Client
	retry cloudapi.Retry
	clock clock.PassiveClock
}

// New returns a client of the API at the endpoint. Without an endpoint, the transport must respond in this process.
func New(o Options) (*Client, error) {
	if o.Endpoint == "" {
		o.Endpoint = inProcess
	}
	base, err := url.Parse(o.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	if o.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		// Sixteen workers send requests to one host: with the default of 2 most of them would open a new connection
		// for each call.
		transport.MaxIdleConnsPerHost = 32
		o.Transport = transport
	}
	return &Client{
		base:  base,
		token: o.Token,
		retry: cloudapi.Retry{Clock: o.Clock},
		clock: clocks.OrReal(o.Clock),
		http: &http.Client{
			Transport: cloudapi.NewTransport(cloudapi.TransportOptions{
				Provider: names.Provider,
				Base:     o.Transport,
				Describe: describe,
				Clock:    o.Clock,
				Classify: classify,
				Limits:   cloudapi.Limits{ObeyRetryAfter: true},
			}),
			// Following a redirect would send the token to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// call is one request of the API.
type call struct {
	operation string
	method    string
	// path is below /v1, each element unescaped.
	path  []string
	query url.Values
	// body is sent as JSON; nil sends none.
	body any
}

// operationKey is the context key of the operation's name.
type operationKey struct{}

// describe returns the description of a request for metrics and rate limits.
func describe(r *http.Request) cloudapi.Request {
	operation, _ := r.Context().Value(operationKey{}).(string)
	return request(operation, r.Method)
}

// request describes an operation. All mutations of this cloud are idempotent: created objects have a unique
// name, and a repeated creation compares the existing object with the requested one.
func request(operation, method string) cloudapi.Request {
	mutating := method != http.MethodGet
	return cloudapi.Request{Service: apiService, Operation: operation, Mutating: mutating, Idempotent: mutating}
}

// do makes the call, retries it if that is safe and may help, and decodes the response into out.
func (c *Client) do(ctx context.Context, call call, out any) error {
	ctx = context.WithValue(ctx, operationKey{}, call.operation)
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(call.body); err != nil {
			return fmt.Errorf("%s: encode the request: %w", call.operation, err)
		}
	}
	return c.retry.Do(ctx, request(call.operation, call.method), func(ctx context.Context) error {
		return c.attempt(ctx, call, body, out)
	})
}

// attempt makes the call once.
func (c *Client) attempt(ctx context.Context, call call, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	target := c.base.JoinPath("v1").JoinPath(escape(call.path)...)
	target.RawQuery = call.query.Encode()
	req, err := http.NewRequestWithContext(ctx, call.method, target.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", call.operation, err)
	}
	req.Header.Set("User-Agent", "unified-ccm/"+version.Get().GitVersion+" provider/"+names.Provider)
	req.Header.Set("Accept", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return transportError(call.operation, err)
	}
	// The content has been read; a failure to close is irrelevant.
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return transportError(call.operation, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return c.responseError(call.operation, resp, content)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(content, out); err != nil {
		// The outcome is unknown, so this is never classified as "not found".
		return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: call.operation,
			Err: fmt.Errorf("invalid response: %w", err)}
	}
	return nil
}

// responseError converts an unsuccessful response into a classified error.
func (c *Client) responseError(operation string, resp *http.Response, body []byte) error {
	e := parseError(body)
	cause := fmt.Errorf("%s (%s)", e.Message, e.Code)
	if e.Code == "" {
		cause = fmt.Errorf("HTTP status %s, and the body is not an error of the fake cloud's API: check endpoint in "+
			"section [Global]", resp.Status)
	}
	return &cloudapi.Error{Class: classOf(resp.StatusCode, e), Operation: operation,
		RetryAfter: cloudapi.RetryAfter(resp.Header, c.clock.Now()), Err: cause}
}

func escape(path []string) []string {
	escaped := make([]string, len(path))
	for i, element := range path {
		escaped[i] = url.PathEscape(element)
	}
	return escaped
}

// list reads all pages.
func list[T any](ctx context.Context, c *Client, operation, path string, query url.Values) ([]T, error) {
	var all []T
	if query == nil {
		query = url.Values{}
	}
	for {
		var page api.Page[T]
		err := c.do(ctx, call{operation: operation, method: http.MethodGet, path: []string{path}, query: query}, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all, nil
		}
		if page.Next == query.Get("page") {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: operation,
				Err: errors.New("the list does not end: a page names itself as the next")}
		}
		query.Set("page", page.Next)
	}
}

// mutate makes a call that returns an object.
func mutate[T any](ctx context.Context, c *Client, operation, method string, body any, path ...string) (T, error) {
	var out T
	err := c.do(ctx, call{operation: operation, method: method, path: path, body: body}, &out)
	return out, err
}

func (c *Client) remove(ctx context.Context, operation string, path ...string) error {
	return c.do(ctx, call{operation: operation, method: http.MethodDelete, path: path}, nil)
}

// queryOf returns a query with the parameters that are not empty.
func queryOf(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

// inChunks splits a query of many keys into as few calls as the length of a URL allows.
func inChunks[T any](ctx context.Context, c *Client, parameter string, values []string) ([]T, error) {
	var all []T
	for chunk := range slices.Chunk(values, MaxInstances) {
		found, err := list[T](ctx, c, "ListInstances", "instances", url.Values{parameter: {strings.Join(chunk, ",")}})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
