package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// answering calls services that answer everything alike.
type answering struct {
	status int
	body   string
}

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

func (a answering) Call(ctx context.Context, r cloudapi.Request, call func(context.Context, *gophercloud.ServiceClient) error) error {
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: a}}
	return call(ctx, &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: "http://" + r.Service + ".invalid/"})
}

// A proxy that answers for a service with a page of its own, or with something that merely is JSON, must
// not pass for the service: neither "there are none" nor "it is gone" nor "it is done".
func TestAnswersOfNoService(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, *api.Clients) error{
		"list": func(ctx context.Context, c *api.Clients) error {
			_, err := c.ListLoadBalancers(ctx, api.LoadBalancerFilter{})
			return err
		},
		"servers": func(ctx context.Context, c *api.Clients) error { _, err := c.ListServers(ctx, ""); return err },
		"get":     func(ctx context.Context, c *api.Clients) error { _, err := c.GetLoadBalancer(ctx, "id"); return err },
		"change": func(ctx context.Context, c *api.Clients) error {
			_, err := c.UpdateLoadBalancer(ctx, "id", api.LoadBalancerPatch{})
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
				err := do(t.Context(), api.New(answering{http.StatusOK, body}))
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

// The answers of real services without content.
func TestAnswersWithoutContent(t *testing.T) {
	t.Parallel()
	if err := api.New(answering{http.StatusNoContent, ""}).DeleteLoadBalancer(t.Context(), "id", true); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	if err := api.New(answering{http.StatusCreated, ""}).AddTag(t.Context(), api.FloatingIPs, "id", "tag"); err != nil {
		t.Errorf("a tag: %v", err)
	}
	if list, err := api.New(answering{http.StatusOK, `{"loadbalancers":[]}`}).ListLoadBalancers(t.Context(), api.LoadBalancerFilter{}); err != nil || len(list) > 0 {
		t.Errorf("an empty list: %v, %v", list, err)
	}
}
