// Package client calls Compute Engine: credentials, timeouts, retries, operations, and the classes of errors.
// Google's own client of this API would make the binary about 7 MB larger, because all its thousand methods are
// linked.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/component-base/version"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
)

const (
	// CallTimeout bounds one call. The slowest are pages of 500 instances.
	CallTimeout = 30 * time.Second
	// waitTimeout bounds one call that waits for an operation, which the cloud itself ends after 2 minutes.
	waitTimeout = 150 * time.Second
	// maxResponse limits a response: a page of 500 instances with all of their fields has about 5 MB.
	maxResponse = 64 << 20
	// service is the name of the API in metrics.
	service = "compute"
	// linkBase begins the URLs of objects, whatever the endpoint.
	linkBase = "https://www.googleapis.com/compute/v1/"
)

// limits stay below the quotas that a project has by default, which are 25 calls a second in each group of methods, so
// that other programs of the project have a part.
var limits = cloudapi.Limits{
	Default: cloudapi.ServiceLimits{
		Read: cloudapi.Limit{QPS: 20, Burst: 100}, Mutate: cloudapi.Limit{QPS: 20, Burst: 100},
	},
	ObeyRetryAfter: true,
}

// Client calls Compute Engine. It is safe for concurrent use.
type Client struct {
	config      config.Global
	http        http.Client
	operations  api.Operations
	clock       clock.Clock
	retry       cloudapi.Retry
	health      *cloudapi.Health
	environment *snapshot.Value[api.Environment]
}

var _ api.API = (*Client)(nil)

// callKey is the context key of the description of a request.
type callKey struct{}

func describe(r *http.Request) cloudapi.Request {
	request, _ := r.Context().Value(callKey{}).(cloudapi.Request)
	return request
}

func (c *Client) get(ctx context.Context, e api.Environment, call *api.Call, at api.Target, out any) error {
	return c.do(ctx, request{call: call.String(), method: call.HTTP, path: path(e, call, at), timeout: CallTimeout}, out)
}

// Link implements api.API.
func (c *Client) Link(e api.Environment, call *api.Call, at api.Target) string {
	return linkBase + strings.Join(path(e, call, at), "/")
}

// path returns the path of a call.
func path(e api.Environment, call *api.Call, at api.Target) []string {
	parts := []string{"projects", projectOf(e, call)}
	switch call.Place {
	case api.Global:
		if call.Collection != "zones" {
			parts = append(parts, "global")
		}
	case api.Region:
		parts = append(parts, "regions", e.Region)
	case api.Zone:
		parts = append(parts, "zones", at.Zone)
	case api.Aggregated:
		parts = append(parts, "aggregated")
	case api.Project:
		return parts
	}
	parts = append(parts, call.Collection)
	if at.Name != "" {
		parts = append(parts, at.Name)
	}
	switch call.Method {
	case "get", "list", "aggregatedList", "insert", "patch", "update", "delete": //nolint:usestdlibvars // methods of the API
		return parts
	}
	return append(parts, call.Method)
}

func projectOf(e api.Environment, call *api.Call) string {
	if call.Network {
		return e.NetworkProject
	}
	return e.Project
}

// request is one request.
type request struct {
	call, method string
	path         []string
	query        url.Values
	body         json.RawMessage
	timeout      time.Duration
	mutates      bool
}

// do makes a request, repeats it if that may help, and decodes the response. Changes have IDs, so that all requests may
// be repeated.
func (c *Client) do(ctx context.Context, r request, out any) error {
	description := cloudapi.Request{Service: service, Operation: r.call, Mutating: r.mutates, Idempotent: true}
	ctx = context.WithValue(ctx, callKey{}, description)
	return c.retry.Do(ctx, description, func(ctx context.Context) error { return c.attempt(ctx, r, out) })
}

// attempt makes a request once.
func (c *Client) attempt(ctx context.Context, r request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	target, err := url.Parse(c.config.APIEndpoint)
	if err != nil {
		return fmt.Errorf("%s: %w", r.call, err)
	}
	target = target.JoinPath(escape(r.path)...)
	query := url.Values{"alt": {"json"}, "prettyPrint": {"false"}}
	for key, values := range r.query {
		query[key] = values
	}
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), bytes.NewReader(r.body))
	if err != nil {
		return fmt.Errorf("%s: %w", r.call, err)
	}
	req.Header.Set("User-Agent", "unified-ccm/"+version.Get().GitVersion)
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return transportError(r.call, err)
	}
	// The content has been read; a failure to close is irrelevant.
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return transportError(r.call, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return c.responseError(r.call, resp, content)
	}
	if err := json.Unmarshal(content, out); err != nil {
		// The outcome is unknown, so this is never classified as "not found".
		return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: r.call, Err: fmt.Errorf("invalid response: %w", err)}
	}
	return nil
}

// responseError converts an unsuccessful response into a classified error.
func (c *Client) responseError(call string, resp *http.Response, body []byte) error {
	e := parseError(resp.StatusCode, body)
	if len(e.Reasons) == 0 {
		e.Message = fmt.Sprintf("the response is not one of Compute Engine: check api-endpoint in section [global] (%s)",
			resp.Status)
	}
	return &cloudapi.Error{Class: e.Class(), Operation: call, Err: e,
		RetryAfter: cloudapi.RetryAfter(resp.Header, c.clock.Now())}
}

func escape(path []string) []string {
	escaped := make([]string, len(path))
	for i, element := range path {
		escaped[i] = url.PathEscape(element)
	}
	return escaped
}
