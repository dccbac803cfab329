package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// client calls a cloud without the help of a library.
type client struct {
	t     testing.TB
	front *kit.Front
	token string
}

func newClient(t testing.TB, o Options) (*Cloud, *client) {
	t.Helper()
	cloud, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	k := &client{t: t, front: cloud.Front()}
	a := cloud.Account()
	body := fmt.Sprintf(`{"auth": {"identity": {"methods": ["password"], "password": {"user": {"id": %q, "password": %q}}}, "scope": {"project": {"id": %q}}}}`,
		a.UserID, a.Password, a.ProjectID)
	r := k.do(http.MethodPost, "/identity/v3/auth/tokens", body)
	k.token = r.header.Get("X-Subject-Token")
	if r.status != http.StatusCreated || k.token == "" {
		t.Fatalf("no token: %+v", r)
	}
	return cloud, k
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (k *client) do(method, path, body string, headers ...string) reply {
	k.t.Helper()
	r, err := http.NewRequestWithContext(k.t.Context(), method, "http://openstack.invalid"+path, strings.NewReader(body))
	if err != nil {
		return reply{status: http.StatusBadRequest}
	}
	r.Header.Set("X-Auth-Token", k.token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := k.front.Transport().RoundTrip(r)
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(content)}
}

func TestErrorFormatOfEachService(t *testing.T) {
	_, k := newClient(t, Options{})
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"nova", "GET", "/compute/v2.1/servers/x", "", 404, `{"itemNotFound":{"code":404,"message":"Instance x could not be found."}}`},
		{"neutron", "GET", "/network/v2.0/ports/x", "", 404, `{"NeutronError":{"detail":"","message":"Port x could not be found.","type":"PortNotFound"}}`},
		{"octavia", "GET", "/load-balancer/v2.0/lbaas/pools/x", "", 404, `{"debuginfo":null,"faultcode":"Client","faultstring":"Pool x not found."}`},
		{"barbican", "GET", "/key-manager/v1/containers/x", "", 404, `"title":"Not Found"`},
		{"keystone", "POST", "/identity/v3/auth/tokens", "{}", 400, `{"error":{"code":400,`},
		{"no such path", "GET", "/network/v2.0/nonsense", "", 404, "could not be found"},
		{"no such version", "GET", "/network/v2.0/v2.0/ports", "", 404, "could not be found"},
		{"no such service", "GET", "/mail/v1/letters", "", 404, ""},
		{"unknown attribute", "POST", "/network/v2.0/ports", `{"port": {"colour": 1}}`, 400, "Unrecognized attribute(s) 'colour'"},
		{"no JSON", "PUT", "/load-balancer/v2.0/lbaas/loadbalancers/x", "{", 404, "not found"},
		{"wrong type", "POST", "/load-balancer/v2.0/lbaas/listeners", `{"listener": {"protocol": 1}}`, 400, "protocol"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if r := k.do(tc.method, tc.path, tc.body); r.status != tc.status || !strings.Contains(r.body, tc.want) {
				t.Errorf("%d %s, want %d %s", r.status, r.body, tc.status, tc.want)
			}
		})
	}
	k.token = "x"
	if r := k.do("GET", "/network/v2.0/ports", ""); r.status != 401 || r.header.Get("Www-Authenticate") == "" {
		t.Errorf("without a token: %+v", r)
	}
}

func TestCallLogNamesOperations(t *testing.T) {
	cloud, k := newClient(t, Options{})
	cloud.Front().Log().Reset()
	k.do("GET", "/compute/v2.1/servers/detail", "")
	k.do("PUT", "/load-balancer/v2.0/lbaas/pools/x/members", "{}")
	k.do("GET", "/load-balancer/", "")
	k.do("POST", "/network/nonsense", "")
	want := []kit.Operation{{Service: "compute", Name: "ListServersDetailed"},
		{Service: "load-balancer", Name: "BatchUpdateMembers", Mutating: true},
		{Service: "load-balancer", Name: "ListVersions"}, {Service: "network", Name: "Unknown", Mutating: true}}
	for i, call := range cloud.Front().Log().Calls() {
		if call.Operation != want[i] {
			t.Errorf("call %d is %+v, want %+v", i, call.Operation, want[i])
		}
	}
}

func TestOperationsAreUnique(t *testing.T) {
	for service, list := range catalogue() {
		seen := map[string]bool{}
		for _, o := range list {
			key := o.Method + " " + strings.Join(o.Path, "/")
			if seen[key] {
				t.Errorf("%s: %s exists twice", service, key)
			}
			seen[key] = true
			if o.Name != "CreateToken" && o.Mutating == (o.Method == http.MethodGet) {
				t.Errorf("%s: %s is mutating: %t", service, key, o.Mutating)
			}
		}
	}
}

func TestFaultsAndLimits(t *testing.T) {
	cloud, k := newClient(t, Options{Limits: map[string]kit.Bucket{"network/read": {Rate: 0.001, Burst: 2}}})
	cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "ListServers"})
	if r := k.do("GET", "/compute/v2.1/servers", ""); r.status != 500 || !strings.Contains(r.body, "computeFault") {
		t.Errorf("%+v", r)
	}
	for range 2 {
		k.do("GET", "/network/v2.0/ports", "")
	}
	if r := k.do("GET", "/network/v2.0/ports", ""); r.status != 429 || r.header.Get("Retry-After") == "" {
		t.Errorf("%+v", r)
	}
}

func TestDeniedOperations(t *testing.T) {
	_, k := newClient(t, Options{Deny: func(service, operation string) bool {
		return service == core.ServiceNetwork &&
			operation == "ListPorts"
	}})
	if r := k.do("GET", "/network/v2.0/ports", ""); r.status != http.StatusForbidden {
		t.Errorf("%+v", r)
	}
	if r := k.do("GET", "/network/v2.0/networks", ""); r.status != http.StatusOK {
		t.Errorf("%+v", r)
	}
}

// balancerBody returns a request for a load balancer with a listener, a pool and a monitor.
func balancerBody(subnet string) string {
	return fmt.Sprintf(`{"loadbalancer": {"name": "x", "vip_subnet_id": %q, "listeners": [{"protocol": "TCP", "protocol_port": 80,
		"default_pool": {"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1},
		"members": [{"address": "10.0.0.9", "protocol_port": 30080}]}}]}}`, subnet)
}

// The race detector checks this test.
func TestConcurrentCalls(t *testing.T) {
	cloud, k := newClient(t, Options{})
	if _, err := cloud.Launch(world.Machine{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	subnet := cloud.Places().PrivateSubnet
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 10 {
				k.do("POST", "/load-balancer/v2.0/lbaas/loadbalancers", balancerBody(subnet))
				for _, path := range []string{"/load-balancer/v2.0/lbaas/loadbalancers", "/load-balancer/v2.0/lbaas/pools",
					"/network/v2.0/ports", "/compute/v2.1/servers/detail"} {
					if r := k.do("GET", path, ""); r.status != http.StatusOK {
						t.Errorf("%+v", r)
					}
				}
				cloud.LoadBalancers()
			}
		})
	}
	work.Wait()
	if err := cloud.Check(); err != nil {
		t.Error(err)
	}
	if n := cloud.Objects()["load-balancers"]; n != 40 {
		t.Errorf("%d load balancers", n)
	}
}

// idsIn returns the IDs in a document, in the order in which they stand.
func idsIn(document string) []string {
	var out []string
	var tree any
	if json.Unmarshal([]byte(document), &tree) != nil {
		return nil
	}
	var walk func(any)
	walk = func(x any) {
		switch x := x.(type) {
		case map[string]any:
			if id, ok := x["id"].(string); ok {
				out = append(out, id)
			}
			for _, key := range core.SortedKeys(x) {
				walk(x[key])
			}
		case []any:
			for _, one := range x {
				walk(one)
			}
		}
	}
	walk(tree)
	return out
}

func TestNewObjectsHaveUniqueIDsForEverySeed(t *testing.T) {
	for seed := range int64(3) {
		cloud, err := New(Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := cloud.Launch(world.Machine{}); err != nil {
				t.Fatal(err)
			}
		}
		if o := cloud.Objects(); o["servers"] != 100 || o["ports"] != 101 || cloud.Check() != nil {
			t.Errorf("seed %d: %v, %v", seed, o, cloud.Check())
		}
	}
}
