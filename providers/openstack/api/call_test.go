package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// fixedResponse is a Caller of services that return the same response to everything.
type fixedResponse struct {
	status int
	body   string
}

func (a fixedResponse) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

func (a fixedResponse) Call(ctx context.Context, r cloudapi.Request, call func(context.Context, *gophercloud.ServiceClient) error) error {
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: a}}
	return call(ctx, &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: "http://" + r.Service + ".invalid/"})
}

// A proxy that responds in place of a service, with a page or with other JSON, must not pass for the service:
// neither "there are none" nor "it was deleted" nor "it is done".
func TestRejectResponsesThatComeFromAProxy(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, *api.Clients) error{
		"list": func(ctx context.Context, c *api.Clients) error {
			_, err := c.ListLoadBalancers(ctx)
			return err
		},
		"servers": func(ctx context.Context, c *api.Clients) error { _, err := c.ListServers(ctx, ""); return err },
		"get":     func(ctx context.Context, c *api.Clients) error { _, err := c.GetLoadBalancer(ctx, "id"); return err },
		"change": func(ctx context.Context, c *api.Clients) error {
			_, err := c.UpdateLoadBalancer(ctx, "id", loadbalancers.UpdateOpts{})
			return err
		},
		"delete":  func(ctx context.Context, c *api.Clients) error { return c.DeleteLoadBalancer(ctx, "id", true) },
		"release": func(ctx context.Context, c *api.Clients) error { return c.DeleteFloatingIP(ctx, "id") },
		"tag":     func(ctx context.Context, c *api.Clients) error { return c.AddTag(ctx, api.FloatingIPs, "id", "tag") },
	}
	for name, body := range map[string]string{
		"an empty document": "{}", "a page": "<html><body>Please log in</body></html>", "nothing": "", "null": "null", "another document": `{"status":"ok"}`,
		"keys without content": `{"loadbalancers":null,"servers":null,"loadbalancer":{}}`,
	} {
		for call, do := range calls {
			t.Run(call+", "+name, func(t *testing.T) {
				t.Parallel()
				err := do(t.Context(), api.New(fixedResponse{http.StatusOK, body}))
				if oserr.Classify(err) != cloudapi.Unavailable {
					t.Fatalf("error %v of class %q, want Unavailable", err, oserr.Classify(err))
				}
				if !strings.Contains(err.Error(), "proxy") {
					t.Errorf("the error does not say where to look: %v", err)
				}
			})
		}
	}
}

// Real services send these.
func TestAcceptResponsesWithoutContent(t *testing.T) {
	t.Parallel()
	if err := api.New(fixedResponse{http.StatusNoContent, ""}).DeleteLoadBalancer(t.Context(), "id", true); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	if err := api.New(fixedResponse{http.StatusCreated, ""}).AddTag(t.Context(), api.FloatingIPs, "id", "tag"); err != nil {
		t.Errorf("a tag: %v", err)
	}
	if list, err := api.New(fixedResponse{http.StatusOK, `{"loadbalancers":[]}`}).ListLoadBalancers(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("an empty list: %v, %v", list, err)
	}
}
