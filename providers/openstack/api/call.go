package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// sender sends one request with a function of gophercloud.
type sender func(ctx ctxt, s client) result

func reading(service, operation string) cloudapi.Request {
	return cloudapi.Request{Service: service, Operation: operation, Idempotent: true}
}

// setting describes an idempotent creation.
func setting(service, operation string) cloudapi.Request {
	return cloudapi.Request{Service: service, Operation: operation, Mutating: true, Idempotent: true}
}

func creating(service, operation string) cloudapi.Request {
	return cloudapi.Request{Service: service, Operation: operation, Mutating: true}
}

// object makes a call and returns the object under key in the response. Here and in list, what does not depend on the
// type of the object is in functions of its own, because the compiler repeats generic code for each type.
func object[T any](ctx context.Context, c *Clients, r cloudapi.Request, key string, send sender) (found T, err error) {
	err = c.object(ctx, r, key, send, &found)
	return found, err
}

func (c *Clients) object(ctx context.Context, r cloudapi.Request, key string, send sender, found any) error {
	var result gophercloud.Result
	err := c.perform(ctx, r, func(ctx context.Context, s *gophercloud.ServiceClient) gophercloud.Result {
		result = send(ctx, s)
		return result
	})
	if err != nil {
		return err
	}
	body, _ := result.Body.(map[string]any)
	raw, err := json.Marshal(body[key])
	if err != nil {
		raw = nil // decode reports the missing object.
	}
	return decode(r.Operation, key, raw, found)
}

// perform makes a call with a response without content.
func (c *Clients) perform(ctx context.Context, r cloudapi.Request, send sender) error {
	return c.send(ctx, r, func(ctx context.Context, s *gophercloud.ServiceClient) error { return send(ctx, s).Err })
}

func (c *Clients) send(ctx context.Context, r cloudapi.Request,
	do func(context.Context, *gophercloud.ServiceClient) error) error {
	return c.caller.Call(ctx, r, func(ctx context.Context, s *gophercloud.ServiceClient) error {
		return validateResponse(r.Operation, do(ctx, s))
	})
}

// askProxy is the advice for responses that no service would send.
const askProxy = "check for a proxy between ccm and OpenStack"

// validateResponse detects successful responses that do not come from the service: gophercloud returns the
// status as an error, and the text as invalid JSON. A proxy that answers a deletion with a page and status
// 200 must not count as a successful deletion.
func validateResponse(operation string, err error) error {
	var (
		status gophercloud.ErrUnexpectedResponseCode
		syntax *json.SyntaxError
		typ    *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &status) && status.Actual == http.StatusOK:
		return unexpected(operation, errors.New("status 200 without the content that belongs to it; "+askProxy))
	case errors.As(err, &syntax), errors.As(err, &typ), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return unexpected(operation, fmt.Errorf("%w; "+askProxy, err))
	}
	return err
}

// decode parses the value under key. Null and an empty object mean that the response is not from the service.
func decode(operation, key string, raw json.RawMessage, found any) error {
	// The comparison does not copy: a load balancer with its members has hundreds of kilobytes.
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}":
		return unexpected(operation, fmt.Errorf("it has no %s; "+askProxy, key))
	}
	if err := json.Unmarshal(raw, found); err != nil {
		return unexpected(operation, err)
	}
	return nil
}

// unexpected returns the error about a response that cannot be parsed. The outcome of the call is unknown,
// and it never means "not found".
func unexpected(operation string, err error) error {
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: operation,
		Err: fmt.Errorf("unexpected response: %w", err)}
}

// list reads all pages of the objects under key. query is nil or options of gophercloud. It replaces
// gophercloud's pagers, which follow links with the token to any host that a service behind a proxy names;
// which decode a page into maps first, some hundred MB for the pools of a large project; and which would
// repeat all pages when one fails.
func list[T any](ctx context.Context, c *Clients, r cloudapi.Request, key string, query any, path ...string,
) ([]T, error) {
	var all []T
	err := c.pages(ctx, r, key, query, path, func(raw json.RawMessage) error {
		var items []T
		err := decode(r.Operation, key, raw, &items)
		all = append(all, items...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// pages reads all pages, and passes what each has under key to add.
func (c *Clients) pages(ctx context.Context, r cloudapi.Request, key string, query any, path []string,
	add func(json.RawMessage) error) error {
	own, isOwn := query.(ownProject)
	if isOwn {
		query = own.query
	}
	values, err := queryOf(query)
	if err != nil {
		return err
	}
	for seen := map[string]bool{}; ; {
		if seen[values.Encode()] {
			return unexpected(r.Operation, errors.New("endless list: a page links to a page that was already read"))
		}
		seen[values.Encode()] = true
		var page map[string]json.RawMessage
		err := c.send(ctx, r, func(ctx context.Context, s *gophercloud.ServiceClient) error {
			target := s.Endpoint
			if len(path) > 0 {
				target = s.ServiceURL(path...)
			}
			query := values
			if isOwn { // on every page: links need not repeat filters
				query = merged(values, ofProject(s))
			}
			if len(query) > 0 {
				target += "?" + query.Encode()
			}
			_, err := s.Get(ctx, target, &page, nil) //nolint:bodyclose // gophercloud reads and closes it
			return err
		})
		if err != nil {
			return err
		}
		if err := add(page[key]); err != nil {
			return err
		}
		next := nextPage(page[key+"_links"])
		if next == nil {
			return nil
		}
		values = next
	}
}

// ownProject is the query of a list that returns the objects of the token's project alone: an administrator's token
// would list those of all projects.
type ownProject struct{ query any }

// ownUnless returns a query that is limited to the token's project unless it selects objects by something else.
func ownUnless(selected bool, query any) any {
	if selected {
		return query
	}
	return ownProject{query}
}

// ofProject returns the query that selects the objects of the token's project. It is empty for a token that is not
// scoped to a project.
func ofProject(s client) url.Values {
	token, ok := s.GetAuthResult().(Token)
	if !ok || token.ProjectID == "" {
		return nil
	}
	return url.Values{"project_id": {token.ProjectID}}
}

// merged returns a query of both.
func merged(a, b url.Values) url.Values {
	both := url.Values{}
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
}

// queryOf returns the query of url.Values, or of gophercloud's options.
func queryOf(query any) (url.Values, error) {
	switch q := query.(type) {
	case nil:
		return nil, nil
	case url.Values:
		return q, nil
	}
	built, err := gophercloud.BuildQueryString(query)
	if err != nil {
		return nil, err
	}
	return built.Query(), nil
}

// nextPage returns the query of the next page, nil after the last.
func nextPage(raw json.RawMessage) url.Values {
	var links []gophercloud.Link
	if json.Unmarshal(raw, &links) != nil {
		return nil
	}
	for _, link := range links {
		if link.Rel != "next" {
			continue
		}
		if u, err := url.Parse(link.Href); err == nil {
			return u.Query()
		}
	}
	return nil
}
