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
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Services, by their types in Keystone's catalog. The types are also the names of the services in metrics.
const (
	Identity      = "identity"
	Compute       = "compute"
	Network       = "network"
	LoadBalancing = "load-balancer"
	KeyManager    = "key-manager"
)

// Caller makes a call: it finds the service, sends the call with a valid token, retries it if that is safe
// and may help, each attempt with a timeout, and classifies the error.
type Caller interface {
	Call(ctx context.Context, r cloudapi.Request, call func(context.Context, *gophercloud.ServiceClient) error) error
}

// Token is the authentication result of a Caller's sessions. It has the parts of Keystone's response that calls need:
// the response is large, and is parsed once and not for each list.
type Token struct {
	ID string
	// ProjectID is empty for a token that is not scoped to a project.
	ProjectID string
}

var _ gophercloud.AuthResult = Token{}

// NewToken returns the Token of Keystone's response.
func NewToken(result tokens.CreateResult) (Token, error) {
	id, err := result.ExtractTokenID()
	if err != nil {
		return Token{}, err
	}
	project, err := result.ExtractProject()
	if err != nil || project == nil {
		return Token{ID: id}, err
	}
	return Token{ID: id, ProjectID: project.ID}, nil
}

// ExtractTokenID implements gophercloud.AuthResult.
func (t Token) ExtractTokenID() (string, error) { return t.ID, nil }

// Clients make the calls.
type Clients struct {
	caller Caller
}

// serviceClient is gophercloud's client of one service.
type serviceClient = gophercloud.ServiceClient

// result is the part that all results of gophercloud have in common.
type result = gophercloud.Result

// sender sends one request with a function of gophercloud.
type sender func(ctx context.Context, s *serviceClient) result

// readRequest describes a read.
func readRequest(service, operation string) cloudapi.Request {
	return cloudapi.Request{Service: service, Operation: operation, Idempotent: true}
}

// writeRequest describes a write that can be repeated.
func writeRequest(service, operation string) cloudapi.Request {
	return cloudapi.Request{Service: service, Operation: operation, Mutating: true, Idempotent: true}
}

// createRequest describes a creation, which would create a second object if it were repeated.
func createRequest(service, operation string) cloudapi.Request {
	return cloudapi.Request{Service: service, Operation: operation, Mutating: true}
}

// object makes a call and returns the object under key in the response. Here and in list, the code that does not depend
// on the type of the object is in a separate method, because the compiler repeats generic code for each type.
func object[T any](ctx context.Context, c *Clients, r cloudapi.Request, key string, send sender) (found T, err error) {
	err = c.object(ctx, r, key, send, &found)
	return found, err
}

func (c *Clients) object(ctx context.Context, r cloudapi.Request, key string, send sender, found any) error {
	var response any
	err := c.send(ctx, r, func(ctx context.Context, s *serviceClient) error {
		result := send(ctx, s)
		response = result.Body
		return result.Err
	})
	if err != nil {
		return err
	}
	body, _ := response.(map[string]any)
	raw, err := json.Marshal(body[key])
	if err != nil {
		raw = nil // decode reports the missing object.
	}
	return decode(r.Operation, key, raw, found)
}

// perform makes a call, and ignores the content of the response.
func (c *Clients) perform(ctx context.Context, r cloudapi.Request, send sender) error {
	return c.send(ctx, r, func(ctx context.Context, s *serviceClient) error { return send(ctx, s).Err })
}

// performWithID makes a call with a function of gophercloud that takes only an ID, and returns no content.
func performWithID[R interface{ ExtractErr() error }](ctx context.Context, c *Clients, r cloudapi.Request,
	send func(context.Context, *serviceClient, string) R, id string) error {
	return c.send(ctx, r, func(ctx context.Context, s *serviceClient) error { return send(ctx, s, id).ExtractErr() })
}

func (c *Clients) send(ctx context.Context, r cloudapi.Request,
	do func(context.Context, *serviceClient) error) error {
	return c.caller.Call(ctx, r, func(ctx context.Context, s *serviceClient) error {
		return validateResponse(r.Operation, do(ctx, s))
	})
}

// proxyAdvice is the advice for responses that no service would send.
const proxyAdvice = "check for a proxy between ccm and OpenStack"

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
		return newResponseError(operation, errors.New("status 200 without the content that belongs to it; "+proxyAdvice))
	case errors.As(err, &syntax), errors.As(err, &typ), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return newResponseError(operation, fmt.Errorf("%w; "+proxyAdvice, err))
	}
	return err
}

// decode parses the value under key. Null and an empty object mean that the response is not from the service.
func decode(operation, key string, raw json.RawMessage, found any) error {
	// The comparison does not copy: a load balancer with its members has hundreds of kilobytes.
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}":
		return newResponseError(operation, fmt.Errorf("it has no %s; "+proxyAdvice, key))
	}
	if err := json.Unmarshal(raw, found); err != nil {
		return newResponseError(operation, err)
	}
	return nil
}

// newResponseError returns the error about a response that cannot be parsed. The outcome of the call is unknown,
// and it never means "not found".
func newResponseError(operation string, err error) error {
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

// pages reads all pages, and passes the value under key of each to add.
func (c *Clients) pages(ctx context.Context, r cloudapi.Request, key string, query any, path []string,
	add func(json.RawMessage) error) error {
	scope, scoped := query.(projectScope)
	if scoped {
		query = scope.query
	}
	values, err := buildQuery(query)
	if err != nil {
		return err
	}
	for seen := map[string]bool{}; ; {
		if seen[values.Encode()] {
			return newResponseError(r.Operation, errors.New("endless list: a page links to a page that was already read"))
		}
		seen[values.Encode()] = true
		var page map[string]json.RawMessage
		err := c.send(ctx, r, func(ctx context.Context, s *serviceClient) error {
			target := s.Endpoint
			if len(path) > 0 {
				target = s.ServiceURL(path...)
			}
			query := values
			if scoped { // on every page: links need not repeat filters
				query = withProject(values, s)
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

// projectScope limits the query of a list to the token's project: an administrator's token would list the objects of
// all projects.
type projectScope struct{ query any }

// scopeUnless limits a query to the token's project, unless it selects objects by the ID of another object.
func scopeUnless(byID bool, query any) any {
	if byID {
		return query
	}
	return projectScope{query}
}

// withProject adds the token's project to a query. A token that is not scoped to a project adds nothing.
func withProject(query url.Values, s *serviceClient) url.Values {
	token, ok := s.GetAuthResult().(Token)
	if !ok || token.ProjectID == "" {
		return query
	}
	scoped := url.Values{}
	maps.Copy(scoped, query)
	scoped.Set("project_id", token.ProjectID)
	return scoped
}

// buildQuery returns the query of url.Values, or of gophercloud's options.
func buildQuery(query any) (url.Values, error) {
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
