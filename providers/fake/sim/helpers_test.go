package sim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// client calls a cloud over its front, as another program would.
type client struct {
	t     testing.TB
	cloud *Cloud
	http  *http.Client
	token string
}

func newCloud(t testing.TB, o Options) *Cloud {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Check(); err != nil {
			t.Errorf("the world contradicts itself: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func newClient(t testing.TB, o Options) *client {
	t.Helper()
	return clientOf(t, newCloud(t, o))
}

func clientOf(t testing.TB, c *Cloud) *client {
	return &client{t: t, cloud: c, http: &http.Client{Transport: c.Front().Transport()}, token: c.options.Token}
}

func fakeClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC))
}

var _ clock.WithTicker = (*clocktesting.FakeClock)(nil)

// call makes one call and decodes the answer into out, if the call succeeded. body may be a value or raw JSON.
func (c *client) call(method, path string, body, out any) (status int, problem api.Error, header http.Header) {
	c.t.Helper()
	content, raw := body.(string)
	payload := []byte(content)
	if !raw && body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, "http://fake"+path, bytes.NewReader(payload))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return 0, api.Error{Code: "Lost", Message: err.Error()}, nil
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusBadRequest {
		out = &problem
	}
	if out != nil {
		if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
			c.t.Fatalf("%s %s: status %d: %v", method, path, answer.StatusCode, err)
		}
	}
	return answer.StatusCode, problem, answer.Header
}

// must makes a call that has to succeed, and returns its answer.
func must[T any](c *client, method, path string, body any) (out T) {
	c.t.Helper()
	if status, problem, _ := c.call(method, path, body, &out); status != http.StatusOK && status != http.StatusCreated {
		c.t.Fatalf("%s %s: status %d: %+v", method, path, status, problem)
	}
	return out
}

// remove makes a DELETE that has to succeed.
func (c *client) remove(path string) {
	c.t.Helper()
	if status, problem, _ := c.call(http.MethodDelete, path, nil, nil); status != http.StatusNoContent {
		c.t.Fatalf("DELETE %s: status %d: %+v", path, status, problem)
	}
}

func (c *client) launch(names ...string) []api.Instance {
	c.t.Helper()
	specs := make([]api.InstanceSpec, 0, len(names))
	for _, name := range names {
		specs = append(specs, api.InstanceSpec{Name: name})
	}
	return must[api.Page[api.Instance]](c, "POST", "/v1/instances", specs).Items
}

func (c *client) allocate(name string) api.Address {
	c.t.Helper()
	return must[api.Address](c, "POST", "/v1/addresses", api.AddressSpec{Name: name, Family: familyIPv4, Cluster: "c"})
}

// publicLB makes a public load balancer with an address of its own.
func (c *client) publicLB(name string) api.LoadBalancer {
	c.t.Helper()
	a := c.allocate(name)
	return must[api.LoadBalancer](c, "POST", "/v1/load-balancers",
		api.LoadBalancerSpec{Name: name, Cluster: "c", Scheme: schemePublic, AddressIDs: []string{a.ID}})
}

func (c *client) loadBalancer(name string) api.LoadBalancer {
	c.t.Helper()
	items := must[api.Page[api.LoadBalancer]](c, "GET", "/v1/load-balancers?name="+name, nil).Items
	if len(items) != 1 {
		c.t.Fatalf("there are %d load balancers named %s", len(items), name)
	}
	return items[0]
}

func tcpCheck() api.HealthCheck {
	return api.HealthCheck{Protocol: protocolTCP, IntervalSeconds: 10, TimeoutSeconds: 5, HealthyThreshold: 2,
		UnhealthyThreshold: 3}
}

func tcpPool(name string, members ...api.Member) api.Pool {
	return api.Pool{Name: name, Protocol: protocolTCP, HealthCheck: tcpCheck(), Members: members}
}

// fixture is a world with two instances and a load balancer "web" with pool "p" and listener "l" on TCP port 80.
func fixture(t testing.TB, o Options) (c *client, lb api.LoadBalancer, nodes []api.Instance) {
	t.Helper()
	c = newClient(t, o)
	nodes = c.launch("node-a", "node-b")
	web := c.publicLB("web")
	must[api.Pool](c, "POST", "/v1/load-balancers/"+web.ID+"/pools",
		tcpPool("p", api.Member{InstanceID: nodes[0].ID, Port: 30080}, api.Member{InstanceID: nodes[1].ID, Port: 30080}))
	must[api.Listener](c, "POST", "/v1/load-balancers/"+web.ID+"/listeners",
		api.Listener{Name: "l", Protocol: protocolTCP, Port: 80, Pool: "p"})
	return c, c.loadBalancer("web"), nodes
}

func mustPrefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}
