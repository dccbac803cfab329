package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// The paths of the REST API, which every supported release of vCenter has.
const (
	sessionPath     = "/rest/com/vmware/cis/session"
	tagPath         = "/rest/com/vmware/cis/tagging/tag/id:"
	categoryPath    = "/rest/com/vmware/cis/tagging/category/id:"
	associationPath = "/rest/com/vmware/cis/tagging/tag-association"
	// sessionHeader has the ID of a session.
	sessionHeader = "vmware-api-session-id"
)

// restRequest is a request of the REST API.
type restRequest struct {
	method, path, query string
	// name is the name of the operation for metrics.
	name string
	// body is encoded as JSON; nil for none.
	body any
	// id is the session; "" for a login with user and password.
	id             string
	user, password string
}

// AttachedTags implements api.VCenter.
func (c *Client) AttachedTags(ctx context.Context, refs []api.Ref) (map[api.Ref][]string, error) {
	type object struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	var body struct {
		Objects []object `json:"object_ids"`
	}
	for _, ref := range refs {
		body.Objects = append(body.Objects, object{ref.Value, ref.Type})
	}
	var out []struct {
		Object object   `json:"object_id"`
		Tags   []string `json:"tag_ids"`
	}
	err := c.callTagging(ctx, restRequest{method: http.MethodPost, path: associationPath,
		query: "~action=list-attached-tags-on-objects", name: "ListAttachedTagsOnObjects", body: body}, &out)
	attached := make(map[api.Ref][]string, len(out))
	for _, item := range out {
		attached[api.Ref{Type: item.Object.Type, Value: item.Object.ID}] = item.Tags
	}
	return attached, err
}

// Tag implements api.VCenter.
func (c *Client) Tag(ctx context.Context, id string) (api.Tag, error) {
	var out struct {
		Name     string `json:"name"`
		Category string `json:"category_id"`
	}
	err := c.callTagging(ctx, restRequest{method: http.MethodGet, path: tagPath + id, name: "GetTag"}, &out)
	return api.Tag{ID: id, Name: out.Name, CategoryID: out.Category}, err
}

// Category implements api.VCenter.
func (c *Client) Category(ctx context.Context, id string) (api.Category, error) {
	var out struct {
		Name string `json:"name"`
	}
	err := c.callTagging(ctx, restRequest{method: http.MethodGet, path: categoryPath + id, name: "GetCategory"}, &out)
	return api.Category{ID: id, Name: out.Name}, err
}

// callTagging makes a call in a session of the REST API, and decodes the value of the response.
func (c *Client) callTagging(ctx context.Context, r restRequest, target any) error {
	content, err := read(ctx, c, api.ServiceTagging, r.name, func(ctx context.Context, s *session) ([]byte, error) {
		return c.callInRESTSession(ctx, s, r)
	})
	if err != nil {
		return err
	}
	return wrap(r.name, decodeValue(content, target))
}

// decodeValue decodes the value in a response.
func decodeValue(content []byte, target any) error {
	envelope := struct {
		Value any `json:"value"`
	}{Value: target}
	if err := json.Unmarshal(content, &envelope); err != nil {
		return fmt.Errorf("the response cannot be parsed: %w", err)
	}
	return nil
}

// callInRESTSession sends a request, and once more with a new session if its session has ended.
func (c *Client) callInRESTSession(ctx context.Context, s *session, r restRequest) ([]byte, error) {
	for range 2 {
		id, err := c.restSession(ctx, s)
		if err != nil {
			return nil, err
		}
		r.id = id
		status, content, err := c.send(ctx, r)
		switch {
		case err != nil:
			return nil, err
		case status < http.StatusMultipleChoices:
			return content, nil
		case status != http.StatusUnauthorized:
			return nil, &statusError{status: status, code: restErrorType(content)}
		}
		c.mu.Lock()
		if s.restID == id {
			s.restID = ""
		}
		c.mu.Unlock()
	}
	return nil, &statusError{status: http.StatusUnauthorized}
}

// restSession returns the ID of the session of the REST API, and creates one if there is none. Credentials of a
// session manager have no password: their SOAP session is used for both APIs.
func (c *Client) restSession(ctx context.Context, s *session) (string, error) {
	unlock, err := s.rest.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	c.mu.Lock()
	id := s.restID
	c.mu.Unlock()
	if id != "" {
		return id, nil
	}
	if s.credentials.SessionManagerURL != "" {
		return s.cookie, nil
	}
	status, content, err := c.send(ctx, restRequest{method: http.MethodPost, path: sessionPath, name: "CreateSession",
		user: s.credentials.User, password: s.credentials.Password.Reveal()})
	switch {
	case err != nil:
		return "", err
	case status >= http.StatusMultipleChoices:
		return "", &statusError{status: status, code: restErrorType(content)}
	}
	if err := decodeValue(content, &id); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.restID = id
	return id, nil
}

// Logout ends the sessions of both APIs.
func (c *Client) Logout(ctx context.Context) {
	c.mu.Lock()
	s := c.current
	c.current = nil
	var restID string
	if s != nil {
		restID = s.restID
	}
	c.mu.Unlock()
	if s == nil {
		return
	}
	// The sessions end by themselves if this fails.
	if restID != "" {
		_, _, _ = c.send(ctx, restRequest{method: http.MethodDelete, path: sessionPath, name: "DeleteSession", id: restID})
	}
	var out struct{}
	_ = c.soap(ctx, s, "Logout", operation("Logout", s.content.SessionManager.ref()), &out)
}

// send sends a request and returns the status and the body of the response.
func (c *Client) send(ctx context.Context, r restRequest) (status int, content []byte, err error) {
	var body bytes.Buffer
	if r.body != nil {
		if err := json.NewEncoder(&body).Encode(r.body); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(withRequest(ctx, api.ServiceTagging, r.name), r.method,
		c.address(r.path, r.query), &body)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", c.options.UserAgent)
	if r.id == "" {
		req.SetBasicAuth(r.user, r.password)
	} else {
		req.Header.Set(sessionHeader, r.id)
	}
	resp, err := c.http.Do(req) //nolint:bodyclose // readAll closes it
	if err != nil {
		return 0, nil, err
	}
	content, err = readAll(resp, responseLimit)
	return resp.StatusCode, content, err
}

// restErrorType returns the type in an error of the REST API, such as
// com.vmware.vapi.std.errors.unauthorized.
func restErrorType(content []byte) string {
	var out struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(content, &out) // A proxy answers with other text.
	return out.Type
}
