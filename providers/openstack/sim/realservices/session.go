package realservices

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// region is the region of the endpoints.
const region = "RegionOne"

// session calls services as one user in one project. gophercloud renews the token when it expires.
type session struct {
	auth, user, password, project string

	client *gophercloud.ProviderClient
	// roots are the URLs of services by type, without a version.
	roots map[string]string
}

// versions returns the parts of URLs that name the version of a service.
func versions() map[string]string {
	return map[string]string{
		"identity": "/v3", "compute": "/v2.1", "network": "/v2.0", "load-balancer": "/v2.0", "image": "/v2",
		"key-manager": "/v1",
	}
}

// login returns a session with a token and the endpoints of the catalog.
func login(ctx context.Context, auth, user, password, project string) (*session, error) {
	s := &session{auth: auth, user: user, password: password, project: project, roots: map[string]string{}}
	var err error
	if s.client, err = openstack.NewClient(auth); err != nil {
		return nil, err
	}
	s.client.HTTPClient = http.Client{Transport: newTransport()} // Ignores proxies of the environment.
	err = openstack.Authenticate(ctx, s.client, gophercloud.AuthOptions{
		IdentityEndpoint: auth, Username: user, Password: password, TenantName: project, DomainName: "Default",
		AllowReauth: true,
	})
	if err != nil {
		return nil, fmt.Errorf("logging in as %s: %w", user, err)
	}
	issued, ok := s.client.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return nil, fmt.Errorf("logging in as %s: no catalog of Keystone v3", user)
	}
	catalog, err := issued.ExtractServiceCatalog()
	if err != nil {
		return nil, fmt.Errorf("logging in as %s: %w", user, err)
	}
	for _, service := range catalog.Entries {
		for _, e := range service.Endpoints {
			if e.Interface == "public" {
				s.roots[service.Type] = rootOf(e.URL)
			}
		}
	}
	return s, nil
}

// newTransport keeps no idle connections: a server of OpenStack has about a hundred threads, one per
// connection, and the idle connections of a few worlds would block all other clients.
func newTransport() *http.Transport { return &http.Transport{DisableKeepAlives: true} }

// rootOf returns scheme and host of a URL.
func rootOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return u.Scheme + "://" + u.Host
}

// object is a JSON object.
type object = map[string]any

// hasStatus reports whether an error is a response with this status.
func hasStatus(err error, status int) bool { return gophercloud.ResponseCodeIs(err, status) }

// call sends "METHOD service/path below its version", and decodes the response into out unless that is nil.
func (s *session) call(ctx context.Context, request string, in, out any) error {
	method, rest, _ := strings.Cut(request, " ")
	service, path, _ := strings.Cut(rest, "/")
	//nolint:bodyclose // Request closes the body.
	_, err := s.client.Request(ctx, method, s.roots[service]+versions()[service]+"/"+path, &gophercloud.RequestOpts{
		JSONBody: in, JSONResponse: out,
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent},
	})
	return err
}

// list reads all objects of a list. Its key in the response is the last part of its path. It does not page:
// the services return up to a thousand objects, which is more than a lab contains.
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

// create creates an object under its key and returns its ID.
func (s *session) create(ctx context.Context, path, key string, attributes object) (id string, err error) {
	var out map[string]struct{ ID string }
	err = s.call(ctx, "POST "+path, object{key: attributes}, &out)
	return out[key].ID, err
}

// remove deletes an object; a missing object is not an error.
func (s *session) remove(ctx context.Context, path string) error {
	if err := s.call(ctx, "DELETE "+path, nil, nil); !hasStatus(err, http.StatusNotFound) {
		return err
	}
	return nil
}
