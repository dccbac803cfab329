package realworld

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// region is the one whose endpoints are used.
const region = "RegionOne"

// session calls services as one user in one project.
type session struct {
	auth, user, password, project string
	client                        *http.Client

	mu    sync.Mutex
	token string
	urls  map[string]string // by service type, without a version
}

func newSession(auth, user, password, project string) *session {
	// Not through a proxy of the environment, and with connections for many machines that are launched at once.
	return &session{auth: strings.TrimSuffix(auth, "/"), user: user, password: password, project: project, client: &http.Client{Transport: newTransport()}}
}

// versions are the parts of URLs that name the version of a service.
func versions() map[string]string {
	return map[string]string{"identity": "/v3", "compute": "/v2.1", "network": "/v2.0", "load-balancer": "/v2.0", "image": "/v2"}
}

// login gets a token and the catalogue.
func (s *session) login(ctx context.Context) error {
	domain := map[string]string{"name": "Default"}
	body := object{"auth": object{
		"identity": object{"methods": []string{"password"}, "password": object{"user": object{"name": s.user, "password": s.password, "domain": domain}}},
		"scope":    object{"project": object{"name": s.project, "domain": domain}},
	}}
	var out struct {
		Token struct {
			Catalog []struct {
				Type      string
				Endpoints []struct{ Interface, URL, RegionID string }
			}
		}
	}
	header, err := s.send(ctx, http.MethodPost, s.auth+"/auth/tokens", "", body, &out)
	if err != nil {
		return fmt.Errorf("logging in as %s: %w", s.user, err)
	}
	urls := map[string]string{}
	for _, service := range out.Token.Catalog {
		for _, e := range service.Endpoints {
			if e.Interface == "public" {
				urls[service.Type] = rootOf(e.URL)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.urls = header.Get("X-Subject-Token"), urls
	return nil
}

// rootOf is scheme and host of a URL.
func rootOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return u.Scheme + "://" + u.Host
}

// roots are the URLs of all services.
func (s *session) roots() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.urls
}

// object is one of JSON's.
type object = map[string]any

// statusError is an answer that says no.
type statusError struct {
	request, body string
	status        int
}

// Error implements error.
func (e *statusError) Error() string { return fmt.Sprintf("%s: %d %s", e.request, e.status, e.body) }

// hasStatus says whether an error is an answer with this status.
func hasStatus(err error, status int) bool {
	var answered *statusError
	return errors.As(err, &answered) && answered.status == status
}

// call does "METHOD service/path below its version", and reads the answer into out unless that is nil. A token that has ended is replaced.
func (s *session) call(ctx context.Context, request string, in, out any) error {
	method, rest, _ := strings.Cut(request, " ")
	service, path, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	token, root := s.token, s.urls[service]
	s.mu.Unlock()
	target := root + versions()[service] + "/" + path
	_, err := s.send(ctx, method, target, token, in, out)
	if !hasStatus(err, http.StatusUnauthorized) {
		return err
	}
	if err := s.login(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	token = s.token
	s.mu.Unlock()
	_, err = s.send(ctx, method, target, token, in, out)
	return err
}

func (s *session) send(ctx context.Context, method, target, token string, in, out any) (http.Header, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("X-Auth-Token", token)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return nil, &statusError{request: method + " " + target, status: answer.StatusCode, body: strings.TrimSpace(string(content))}
	}
	if out == nil {
		return answer.Header, nil
	}
	if err := json.Unmarshal(content, out); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, target, err)
	}
	return answer.Header, nil
}

// list reads all objects of a list, whose key in the answer is the last part of its path. The services page lists that are
// longer than a thousand objects, which is more than a lab can hold.
func list[T any](ctx context.Context, s *session, path string) ([]T, error) {
	resource, _, _ := strings.Cut(path, "?")
	resource = strings.TrimSuffix(resource, "/detail")
	key := resource[strings.LastIndex(resource, "/")+1:]
	var out map[string]json.RawMessage
	if err := s.call(ctx, "GET "+path, nil, &out); err != nil {
		return nil, err
	}
	var items []T
	if err := json.Unmarshal(out[strings.ReplaceAll(key, "-", "_")], &items); err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	return items, nil
}

// make posts an object under its key and returns its ID.
func (s *session) make(ctx context.Context, path, key string, attributes object) (id string, err error) {
	var out map[string]struct{ ID string }
	err = s.call(ctx, "POST "+path, object{key: attributes}, &out)
	return out[key].ID, err
}

// remove deletes an object; one that is gone already is no error.
func (s *session) remove(ctx context.Context, path string) error {
	if err := s.call(ctx, "DELETE "+path, nil, nil); !hasStatus(err, http.StatusNotFound) {
		return err
	}
	return nil
}
