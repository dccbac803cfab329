package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// request is one request of a service.
type request struct {
	service, operation string
	method             string
	// path is below the service's version, each element unescaped. None is the service's root,
	// which lists its versions.
	path  []string
	query url.Values
	// body is sent as JSON; nil sends none.
	body any
	// revision makes the change conditional on the object's revision; 0 does not.
	revision int
	// repeatable says of a POST that doing it twice leads to the same state; all other methods do.
	repeatable bool
}

// do makes a call and decodes the answer into out, which may be nil.
func (c *Clients) do(ctx context.Context, r request, out any) error {
	described := cloudapi.Request{Service: r.service, Operation: r.operation, Mutating: r.method != http.MethodGet}
	described.Idempotent = r.method != http.MethodPost || r.repeatable
	return c.caller.Call(ctx, described, func(ctx context.Context, client *gophercloud.ServiceClient) error {
		target := client.Endpoint
		if len(r.path) > 0 {
			target = client.ServiceURL(escape(r.path)...)
		}
		if len(r.query) > 0 {
			target += "?" + r.query.Encode()
		}
		options := &gophercloud.RequestOpts{JSONBody: r.body, JSONResponse: out, OkCodes: successes(out != nil)}
		if r.revision != 0 {
			options.MoreHeaders = map[string]string{"If-Match": "revision_number=" + strconv.Itoa(r.revision)}
		}
		_, err := client.Request(ctx, r.method, target, options) //nolint:bodyclose // the SDK reads and closes it
		return genuine(r.operation, err)
	})
}

// successes are the statuses of what was done. No service answers with 200 and nothing to read: who
// does is a proxy, whose page would otherwise pass for the word of a service that an object is gone.
func successes(content bool) []int {
	codes := []int{http.StatusCreated, http.StatusAccepted, http.StatusNoContent}
	if content {
		codes = append(codes, http.StatusOK)
	}
	return codes
}

// genuine sorts out answers that say success and are of no service: the SDK takes their status for one
// of an error, and their text for broken JSON.
func genuine(operation string, err error) error {
	var (
		status gophercloud.ErrUnexpectedResponseCode
		syntax *json.SyntaxError
		typ    *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &status) && status.Actual == http.StatusOK:
		return unexpected(operation, errors.New("it has the status 200, where a service has none with content; "+askProxy))
	case errors.As(err, &syntax), errors.As(err, &typ), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return unexpected(operation, fmt.Errorf("%w; "+askProxy, err))
	}
	return err
}

// askProxy says who gives answers that no service would.
const askProxy = "see whether a proxy answers in its place"

// said says whether there is anything under a key: null and an empty object are as good as no answer.
func said(raw json.RawMessage) bool {
	text := string(bytes.TrimSpace(raw))
	return text != "" && text != "null" && text != "{}"
}

func escape(path []string) []string {
	escaped := make([]string, len(path))
	for i, element := range path {
		escaped[i] = url.PathEscape(element)
	}
	return escaped
}

// envelope is how all services wrap objects: {"port": {...}}.
type envelope[T any] map[string]T

// get reads the object under key.
func get[T any](ctx context.Context, c *Clients, service, operation, key string, path ...string) (T, error) {
	return answer[T](ctx, c, request{service: service, operation: operation, method: http.MethodGet, path: path}, key)
}

// answer makes a call whose answer has the object under key.
func answer[T any](ctx context.Context, c *Clients, r request, key string) (T, error) {
	var (
		out  envelope[json.RawMessage]
		none T
	)
	if err := c.do(ctx, r, &out); err != nil {
		return none, err
	}
	raw := out[key]
	if !said(raw) {
		return none, unexpected(r.operation, fmt.Errorf("it has no %s; "+askProxy, key))
	}
	var object T
	if err := json.Unmarshal(raw, &object); err != nil {
		return none, unexpected(r.operation, err)
	}
	return object, nil
}

// change sends an object under key and reads the one that the service answers with.
func change[T any](ctx context.Context, c *Clients, r request, key string, body any) (T, error) {
	r.body = envelope[any]{key: body}
	return answer[T](ctx, c, r, key)
}

func (c *Clients) remove(ctx context.Context, service, operation string, query url.Values, path ...string) error {
	return c.do(ctx, request{service: service, operation: operation, method: http.MethodDelete, path: path, query: query}, nil)
}

// list reads all pages of the objects under key.
func list[T any](ctx context.Context, c *Clients, r request, key string) ([]T, error) {
	var all []T
	for seen := map[string]bool{}; ; {
		var page envelope[json.RawMessage]
		if err := c.do(ctx, r, &page); err != nil {
			return nil, err
		}
		var items []T
		raw := page[key]
		if !said(raw) {
			return nil, unexpected(r.operation, fmt.Errorf("it has no %s; "+askProxy, key))
		}
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, unexpected(r.operation, err)
		}
		all = append(all, items...)
		next := nextPage(page[key+"_links"])
		if next == nil {
			return all, nil
		}
		if seen[next.Encode()] {
			return nil, unexpected(r.operation, errors.New("the list does not end: a page is followed by one that was read already"))
		}
		seen[next.Encode()] = true
		r.query = next
	}
}

// reads is the request of a list.
func reads(service, operation string, query url.Values, path ...string) request {
	return request{service: service, operation: operation, method: http.MethodGet, path: path, query: query}
}

// nextPage returns the query of the page that follows, nil after the last. Scheme and host of the
// link are ignored: behind proxies they are often wrong, and the token must not go elsewhere.
func nextPage(raw json.RawMessage) url.Values {
	var links []struct {
		Rel  string `json:"rel"`
		HRef string `json:"href"`
	}
	if json.Unmarshal(raw, &links) != nil {
		return nil
	}
	for _, link := range links {
		if link.Rel != "next" {
			continue
		}
		if u, err := url.Parse(link.HRef); err == nil {
			return u.Query()
		}
	}
	return nil
}

// unexpected is an answer that cannot be understood. What was done is unknown, and it is never
// read as "not there".
func unexpected(operation string, err error) error {
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: operation,
		Err: fmt.Errorf("the answer is not what the API promises: %w", err)}
}

// filter collects the parameters of a query that are not empty.
type filter url.Values

func (f filter) add(name string, values ...string) filter {
	for _, value := range values {
		if value != "" {
			f[name] = append(f[name], value)
		}
	}
	return f
}

// joined adds a parameter with a list in one value.
func (f filter) joined(name string, values []string) filter {
	return f.add(name, strings.Join(values, ","))
}
