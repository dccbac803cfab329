package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// refusalCase is a call on the world of fixture that is refused. In path and body, LB, NODE and
// ADDR stand for the IDs of fixture's objects.
type refusalCase struct {
	method, path, body string
	code               string
	status             int
	says               string
}

func runRefusals(t *testing.T, tests map[string]refusalCase) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, lb, nodes := fixture(t, Options{})
			ids := strings.NewReplacer("LB", lb.ID, "NODE", nodes[0].ID, "ADDR", lb.AddressIDs[0])
			before := dump(t, c.cloud)
			status, problem, _ := c.call(test.method, ids.Replace(test.path), ids.Replace(test.body), nil)
			if status != test.status || problem.Code != test.code || !strings.Contains(problem.Message, test.says) {
				t.Errorf("status %d, %+v; want status %d, code %s and %q", status, problem, test.status, test.code, test.says)
			}
			if after := dump(t, c.cloud); after != before {
				t.Error("a refused call changed the world")
			}
		})
	}
}

func TestRefusalsOfInstancesAddressesAndRoutes(t *testing.T) {
	runRefusals(t, map[string]refusalCase{
		"unknown operation":      {"GET", "/v1/volumes", "", api.CodeNotFound, 404, "not an operation"},
		"unknown method":         {"PUT", "/v1/instances", "", api.CodeNotFound, 404, "not an operation"},
		"body is not JSON":       {"POST", "/v1/instances", "{", api.CodeInvalid, 400, "body"},
		"body continues":         {"POST", "/v1/addresses", `{"name":"x","family":"IPv4"} {}`, api.CodeInvalid, 400, "continues"},
		"instance name":          {"POST", "/v1/instances", `[{"name":"Not_DNS"}]`, api.CodeInvalid, 400, "Not_DNS"},
		"instance zone":          {"POST", "/v1/instances", `[{"name":"n","zone":"mars"}]`, api.CodeInvalid, 400, "use one of fake-1a"},
		"instance type":          {"POST", "/v1/instances", `[{"name":"n","type":"huge"}]`, api.CodeInvalid, 400, "use one of fake.small"},
		"instance address":       {"POST", "/v1/instances", `[{"name":"n","internalAddresses":["x"]}]`, api.CodeInvalid, 400, "not an IP"},
		"address of another":     {"POST", "/v1/instances", `[{"name":"n","internalAddresses":["10.240.0.1"]}]`, api.CodeInUse, 409, "another instance"},
		"name with another zone": {"POST", "/v1/instances", `[{"name":"node-a","zone":"fake-1c"}]`, api.CodeAlreadyExists, 409, "another zone"},
		"all or none":            {"POST", "/v1/instances", `[{"name":"fine"},{"name":"n","zone":"mars"}]`, api.CodeInvalid, 400, "mars"},
		"taken instance ID":      {"POST", "/v1/instances", `[{"name":"n","id":"NODE"}]`, api.CodeAlreadyExists, 409, "taken"},
		"terminate nothing":      {"DELETE", "/v1/instances/i-none", "", api.CodeNotFound, 404, "i-none"},
		"odd instance state":     {"POST", "/v1/instances/NODE/state", `{"state":"melted"}`, api.CodeInvalid, 400, "use one of pending"},
		"state of nothing":       {"POST", "/v1/instances/i-none/state", `{"state":"running"}`, api.CodeNotFound, 404, "i-none"},

		"address without name":    {"POST", "/v1/addresses", `{"family":"IPv4"}`, api.CodeInvalid, 400, "needs a name"},
		"address family":          {"POST", "/v1/addresses", `{"name":"x","family":"IPX"}`, api.CodeInvalid, 400, "IPv4 or IPv6"},
		"address name exists":     {"POST", "/v1/addresses", `{"name":"web","family":"IPv4"}`, api.CodeAlreadyExists, 409, "198.51.100.1"},
		"address outside pools":   {"POST", "/v1/addresses", `{"name":"x","family":"IPv4","ip":"192.0.2.1"}`, api.CodeInvalid, 400, "pools"},
		"broadcast address":       {"POST", "/v1/addresses", `{"name":"x","family":"IPv4","ip":"198.51.100.255"}`, api.CodeInvalid, 400, "pools"},
		"address of other kind":   {"POST", "/v1/addresses", `{"name":"x","family":"IPv4","ip":"2001:db8::9"}`, api.CodeInvalid, 400, "family"},
		"address is allocated":    {"POST", "/v1/addresses", `{"name":"x","family":"IPv4","ip":"198.51.100.1"}`, api.CodeInUse, 409, "allocated"},
		"release in use":          {"DELETE", "/v1/addresses/ADDR", "", api.CodeInUse, 409, "in use by load balancer"},
		"release nothing":         {"DELETE", "/v1/addresses/addr-none", "", api.CodeNotFound, 404, "addr-none"},
		"page of another list":    {"GET", "/v1/addresses?page=aW5zdGFuY2VzPmE", "", api.CodeInvalid, 400, "not a token"},
		"page that is not base64": {"GET", "/v1/routes?page=%25", "", api.CodeInvalid, 400, "not a token"},
	})
}

func TestRefusalsOfLoadBalancers(t *testing.T) {
	const lbs, pools, listeners = "/v1/load-balancers", "/v1/load-balancers/LB/pools", "/v1/load-balancers/LB/listeners"
	const check = `"healthCheck":{"protocol":"TCP","intervalSeconds":1,"timeoutSeconds":1,"healthyThreshold":1,"unhealthyThreshold":1}`
	runRefusals(t, map[string]refusalCase{
		"scheme":                  {"POST", lbs, `{"name":"x","scheme":"odd"}`, api.CodeInvalid, 400, "public or internal"},
		"public without address":  {"POST", lbs, `{"name":"x","scheme":"public"}`, api.CodeInvalid, 400, "allocate one"},
		"unknown address":         {"POST", lbs, `{"name":"x","scheme":"public","addressIDs":["a"]}`, api.CodeNotFound, 404, "address"},
		"address in use":          {"POST", lbs, `{"name":"x","scheme":"public","addressIDs":["ADDR"]}`, api.CodeInUse, 409, "in use"},
		"internal with addresses": {"POST", lbs, `{"name":"x","scheme":"internal","addressIDs":["ADDR"]}`, api.CodeInvalid, 400, "leave addressIDs empty"},
		"family twice":            {"POST", lbs, `{"name":"x","scheme":"internal","families":["IPv4","IPv4"]}`, api.CodeInvalid, 400, "twice"},
		"empty subnet":            {"POST", lbs, `{"name":"x","scheme":"internal","subnets":[""]}`, api.CodeInvalid, 400, "subnet"},
		"name exists":             {"POST", lbs, `{"name":"web","scheme":"internal"}`, api.CodeAlreadyExists, 409, "it is lb-"},
		"scheme cannot change":    {"PATCH", lbs + "/LB", `{"scheme":"internal"}`, api.CodeInvalid, 400, `unknown field "scheme"`},
		"no address left":         {"PATCH", lbs + "/LB", `{"addressIDs":[]}`, api.CodeInvalid, 400, "at least one"},
		"patch of nothing":        {"PATCH", lbs + "/lb-none", `{}`, api.CodeNotFound, 404, "lb-none"},
		"delete nothing":          {"DELETE", lbs + "/lb-none", "", api.CodeNotFound, 404, "lb-none"},

		"pool of nothing":      {"POST", lbs + "/lb-none/pools", `{"name":"q"}`, api.CodeNotFound, 404, "lb-none"},
		"pool exists":          {"POST", pools, `{"name":"p","protocol":"TCP",` + check + `}`, api.CodeAlreadyExists, 409, "pool"},
		"pool protocol":        {"POST", pools, `{"name":"q","protocol":"SCTP",` + check + `}`, api.CodeInvalid, 400, "TCP or UDP"},
		"pool without check":   {"POST", pools, `{"name":"q","protocol":"TCP"}`, api.CodeInvalid, 400, "health check"},
		"unknown member":       {"POST", pools, `{"name":"q","protocol":"TCP",` + check + `,"members":[{"instanceID":"i-x","port":1}]}`, api.CodeInvalid, 400, "i-x"},
		"proxy over UDP":       {"POST", pools, `{"name":"q","protocol":"UDP","proxyProtocol":1,` + check + `}`, api.CodeInvalid, 400, "TCP"},
		"path of a TCP check":  {"PATCH", pools + "/p", `{"healthCheck":{"protocol":"TCP","path":"/x"}}`, api.CodeInvalid, 400, "no path"},
		"path of a HTTP check": {"PATCH", pools + "/p", `{"healthCheck":{"protocol":"HTTP","path":"x"}}`, api.CodeInvalid, 400, "slash"},
		"unknown algorithm":    {"PATCH", pools + "/p", `{"algorithm":"random"}`, api.CodeInvalid, 400, "least-connections"},
		"affinity too long":    {"PATCH", pools + "/p", `{"affinitySeconds":86401}`, api.CodeInvalid, 400, "86400"},
		"protocol of a pool":   {"PATCH", pools + "/p", `{"protocol":"UDP"}`, api.CodeInvalid, 400, "unknown field"},
		"unknown pool":         {"PATCH", pools + "/none", `{}`, api.CodeNotFound, 404, "none"},
		"member port":          {"PUT", pools + "/p/members", `[{"instanceID":"NODE","port":70000}]`, api.CodeInvalid, 400, "70000"},
		"member twice":         {"PUT", pools + "/p/members", `[{"instanceID":"NODE","port":1},{"instanceID":"NODE","port":1}]`, api.CodeInvalid, 400, "twice"},
		"pool in use":          {"DELETE", pools + "/p", "", api.CodeInUse, 409, `listener "l"`},
		"delete no pool":       {"DELETE", pools + "/none", "", api.CodeNotFound, 404, "none"},

		"listener exists":        {"POST", listeners, `{"name":"l","protocol":"TCP","port":81,"pool":"p"}`, api.CodeAlreadyExists, 409, "exists"},
		"port is taken":          {"POST", listeners, `{"name":"m","protocol":"TCP","port":80,"pool":"p"}`, api.CodeAlreadyExists, 409, "TCP port 80"},
		"listener's pool":        {"POST", listeners, `{"name":"m","protocol":"TCP","port":81,"pool":"none"}`, api.CodeInvalid, 400, "none"},
		"protocol and pool":      {"POST", listeners, `{"name":"m","protocol":"UDP","port":80,"pool":"p"}`, api.CodeInvalid, 400, "does not fit"},
		"bad CIDR":               {"PATCH", listeners + "/l", `{"sourceRanges":["10.0.0.0/99"]}`, api.CodeInvalid, 400, "not a CIDR"},
		"CIDR with host bits":    {"PATCH", listeners + "/l", `{"sourceRanges":["10.0.0.1/8"]}`, api.CodeInvalid, 400, "write 10.0.0.0/8"},
		"negative idle timeout":  {"PATCH", listeners + "/l", `{"idleTimeoutSeconds":-1}`, api.CodeInvalid, 400, "negative"},
		"port of a listener":     {"PATCH", listeners + "/l", `{"port":81}`, api.CodeInvalid, 400, "unknown field"},
		"protocol of a listener": {"PATCH", listeners + "/l", `{"protocol":"UDP"}`, api.CodeInvalid, 400, "unknown field"},
		"delete no listener":     {"DELETE", listeners + "/none", "", api.CodeNotFound, 404, "none"},
	})
}

func TestRoutesSucceedAndFailOneByOne(t *testing.T) {
	c, _, nodes := fixture(t, Options{Quotas: map[string]int{quotaRoutes: 2}})
	route := func(cluster, destination, target string) api.Route {
		return api.Route{Name: "r", Cluster: cluster, Destination: destination, InstanceID: target}
	}
	create := func(routes ...api.Route) (codes []string) {
		t.Helper()
		for _, r := range must[api.Page[api.RouteResult]](c, "POST", "/v1/routes", routes).Items {
			code := "ok"
			if r.Error != nil {
				code = r.Error.Code
			}
			codes = append(codes, code)
		}
		return codes
	}
	a, b := nodes[0].ID, nodes[1].ID
	got := create(
		route("c", "10.1.0.0/24", a), route("c", "10.1.0.0/24", a), route("c", "10.1.0.0/24", b), route("d", "10.1.0.0/24",
			b),
		route("", "10.2.0.0/24", a), route("c", "10.2.0.1/24", a), route("c", "10.2.0.0/24", "i-none"), route("c",
			"10.3.0.0/24", a),
	)
	want := []string{"ok", "ok", api.CodeAlreadyExists, "ok", api.CodeInvalid, api.CodeInvalid, api.CodeInvalid,
		api.CodeQuotaExceeded}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	c.remove("/v1/instances/" + b)
	if err := c.cloud.AddForeignRoute("10.9.0.0/16"); err != nil {
		t.Fatal(err)
	}
	var black []string
	for _, r := range must[api.Page[api.Route]](c, "GET", "/v1/routes", nil).Items {
		if r.Blackhole {
			black = append(black, r.Cluster)
		}
	}
	if diff := cmp.Diff([]string{"d"}, black); diff != "" {
		t.Errorf("blackholes: %s", diff)
	}
	results := must[api.Page[api.RouteResult]](c, "POST", "/v1/routes/delete",
		[]api.Route{route("d", "10.1.0.0/24", ""), route("d", "10.1.0.0/24", ""), route("", "10.9.0.0/16", "")}).Items
	if results[0].Error != nil || results[1].Error.Code != api.CodeNotFound || results[2].Error.Code != api.CodeInvalid {
		t.Errorf("deleting: %+v", results)
	}
	if status, problem, _ := c.call("POST", "/v1/routes", make([]api.Route, api.RouteBatch+1),
		nil); problem.Code != api.CodeInvalid {
		t.Errorf("too many routes: status %d, %+v", status, problem)
	}
}

func TestLoadBalancerLifecycle(t *testing.T) {
	clock := fakeClock()
	c := newClient(t, Options{Clock: clock, ProvisionTime: 30 * time.Second})
	web := c.publicLB("web")
	pools := "/v1/load-balancers/" + web.ID + "/pools"
	if web.State != api.LBProvisioning {
		t.Errorf("state is %s at creation", web.State)
	}
	if status, problem, _ := c.call("POST", pools, tcpPool("p"), nil); status != 409 || problem.Code != api.CodeBusy ||
		!strings.Contains(problem.Message, "30s") {
		t.Errorf("status %d, %+v while provisioning", status, problem)
	}
	clock.Step(30 * time.Second)
	must[api.Pool](c, "POST", pools, tcpPool("p"))
	listener := api.Listener{Name: "l", Protocol: protocolTCP, Port: 80, Pool: "p", SourceRanges: []string{"10.0.0.0/8"},
		IdleTimeoutSeconds: 9}
	must[api.Listener](c, "POST", "/v1/load-balancers/"+web.ID+"/listeners", listener)
	listener.SourceRanges = nil
	got := must[api.Listener](c, "PATCH", "/v1/load-balancers/"+web.ID+"/listeners/l", `{"sourceRanges":[]}`)
	if diff := cmp.Diff(listener, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("emptying source ranges: %s", diff)
	}
	second := c.allocate("second")
	patched := must[api.LoadBalancer](c, "PATCH", "/v1/load-balancers/"+web.ID,
		api.LoadBalancerPatch{AddressIDs: &[]string{second.ID}, Tags: &map[string]string{"k": "v"}})
	if diff := cmp.Diff([]string{second.IP}, patched.Addresses); diff != "" || patched.Tags["k"] != "v" ||
		len(patched.Pools) != 1 {
		t.Errorf("patched: %+v", patched)
	}
	c.remove("/v1/addresses/" + web.AddressIDs[0]) // free since the patch
	c.remove("/v1/load-balancers/" + web.ID)
	c.remove("/v1/addresses/" + second.ID) // freed, but not released
}

func TestPatchLeavesAloneWhatItDoesNotName(t *testing.T) {
	c, lb, nodes := fixture(t, Options{})
	seconds := 60
	got := must[api.Pool](c, "PATCH", "/v1/load-balancers/"+lb.ID+"/pools/p", api.PoolPatch{AffinitySeconds: &seconds})
	want := lb.Pools[0]
	want.AffinitySeconds = 60
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	off := 0
	got = must[api.Pool](c, "PATCH", "/v1/load-balancers/"+lb.ID+"/pools/p", api.PoolPatch{AffinitySeconds: &off})
	if diff := cmp.Diff(lb.Pools[0], got); diff != "" {
		t.Errorf("turning affinity off: %s", diff)
	}
	c.remove("/v1/instances/" + nodes[0].ID)
	if members := c.loadBalancer("web").Pools[0].Members; len(members) != 1 {
		t.Errorf("members after a termination: %+v", members)
	}
}

func TestInternalAddressesAndDualStack(t *testing.T) {
	c := newClient(t, Options{})
	lb := must[api.LoadBalancer](c, "POST", "/v1/load-balancers",
		api.LoadBalancerSpec{Name: "x", Scheme: schemeInternal, Families: []string{familyIPv6, familyIPv4}})
	if diff := cmp.Diff([]string{"2001:db8:f01::1", "10.241.0.1"}, lb.Addresses); diff != "" {
		t.Error(diff)
	}
	i := c.launch("node-a")[0]
	if diff := cmp.Diff([]string{"10.240.0.1", "2001:db8:f00::1"}, i.InternalAddresses); diff != "" {
		t.Error(diff)
	}
	adopted := must[api.Page[api.Instance]](c, "POST", "/v1/instances",
		`[{"id":"kind-1","name":"kind-1","internalAddresses":["fc00::5","127.0.0.1"]},{"name":"kind-2","internalAddresses":["127.0.0.1"]}]`).Items
	if diff := cmp.Diff([]string{"127.0.0.1", "fc00::5"}, adopted[0].InternalAddresses); diff != "" ||
		adopted[0].ID != "kind-1" {
		t.Errorf("adopted: %+v", adopted)
	}
}

func TestExhaustedPoolAndQuota(t *testing.T) {
	c := newClient(t, Options{
		Pools:  mustPrefixes("198.51.100.0/30"),
		Quotas: map[string]int{quotaInstances: 1, quotaLoadBalancers: 0, quotaAddresses: 3},
	})
	first, second := c.allocate("a"), c.allocate("b")
	if diff := cmp.Diff([]string{"198.51.100.1", "198.51.100.2"}, []string{first.IP, second.IP}); diff != "" {
		t.Error(diff)
	}
	tests := map[string]struct {
		path, body, code string
	}{
		"no free address":     {"/v1/addresses", `{"name":"c","family":"IPv4"}`, api.CodePoolExhausted},
		"no pool of a family": {"/v1/addresses", `{"name":"c","family":"IPv6"}`, api.CodePoolExhausted},
		"instances":           {"/v1/instances", `[{"name":"x"},{"name":"y"}]`, api.CodeQuotaExceeded},
		"load balancers":      {"/v1/load-balancers", `{"name":"x","scheme":"internal"}`, api.CodeQuotaExceeded},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if status, problem, _ := c.call("POST", test.path, test.body, nil); status != 403 || problem.Code != test.code {
				t.Errorf("status %d, %+v; want %s", status, problem, test.code)
			}
		})
	}
	want := []api.Quota{{Name: quotaAddresses, Limit: 3, Used: 2}, {Name: quotaInstances, Limit: 1},
		{Name: quotaLoadBalancers}, {Name: quotaRoutes, Limit: 20000}}
	if diff := cmp.Diff(want, must[api.Page[api.Quota]](c, "GET", "/v1/quotas", nil).Items); diff != "" {
		t.Error(diff)
	}
	c.remove("/v1/addresses/" + first.ID)
	if again := c.allocate("c"); again.IP != first.IP {
		t.Errorf("got %s, want the address that was released", again.IP)
	}
}

func TestPagingSeesEveryObjectOnceWhileOthersComeAndGo(t *testing.T) {
	c := newClient(t, Options{PageSize: 3})
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprintf("node-%d", i))
	}
	instances := c.launch(names...)
	var seen []string
	page := ""
	for n := 0; ; n++ {
		p := must[api.Page[api.Instance]](c, "GET", "/v1/instances?page="+page, nil)
		for _, i := range p.Items {
			seen = append(seen, i.Name)
		}
		if n == 0 {
			c.remove("/v1/instances/" + instances[0].ID) // shown already: must not shift the rest
			c.remove("/v1/instances/" + instances[5].ID) // not shown yet
		}
		if page = p.Next; page == "" {
			break
		}
	}
	if diff := cmp.Diff(slices.DeleteFunc(names, func(n string) bool { return n == "node-5" }), seen); diff != "" {
		t.Error(diff)
	}
}

func TestFilters(t *testing.T) {
	c, lb, nodes := fixture(t, Options{})
	c.allocate("web-2")
	tests := map[string]struct {
		path string
		want int
	}{
		"instances by ID and name":  {"/v1/instances?ids=" + nodes[0].ID + ",i-none&names=node-b,none", 2},
		"instances of no ID":        {"/v1/instances?ids=", 0},
		"instances":                 {"/v1/instances", 2},
		"addresses by name":         {"/v1/addresses?name=web", 1},
		"addresses by prefix":       {"/v1/addresses?prefix=web", 2},
		"addresses of a cluster":    {"/v1/addresses?cluster=c", 2},
		"addresses of another":      {"/v1/addresses?cluster=d", 0},
		"load balancers by name":    {"/v1/load-balancers?name=web&cluster=c", 1},
		"load balancers of another": {"/v1/load-balancers?cluster=d", 0},
		"routes":                    {"/v1/routes", 0},
		"zones":                     {"/v1/zones", 3},
		"instance types":            {"/v1/instance-types", 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			items := must[map[string]json.RawMessage](c, "GET", test.path, nil)["items"]
			var list []any
			if err := json.Unmarshal(items, &list); err != nil || list == nil || len(list) != test.want {
				t.Errorf("got %s, want %d items", items, test.want)
			}
		})
	}
	if c.loadBalancer("web").ID != lb.ID {
		t.Error("the name finds another load balancer")
	}
}

func TestToken(t *testing.T) {
	c := newClient(t, Options{Token: "right"})
	for name, token := range map[string]string{"none": "", "wrong": "wrong"} {
		t.Run(name, func(t *testing.T) {
			other := *c
			other.token = token
			if status, problem, _ := other.call("GET", "/v1/zones", nil, nil); status != 401 ||
				problem.Code != api.CodeUnauthorized {
				t.Errorf("status %d, %+v", status, problem)
			}
		})
	}
	must[api.Page[api.Zone]](c, "GET", "/v1/zones", nil)
}

func TestFrontAddsLimitsAndErrorsInTheCloudsOwnWords(t *testing.T) {
	t.Run("rate limit", func(t *testing.T) {
		c := newClient(t, Options{Clock: fakeClock(), RateLimit: 2})
		var codes []int
		for range 3 {
			status, problem, header := c.call("GET", "/v1/zones", nil, nil)
			codes = append(codes, status)
			if status == 429 && (problem.Code != api.CodeThrottled || header.Get("Retry-After") == "") {
				t.Errorf("%+v, %v", problem, header)
			}
		}
		if diff := cmp.Diff([]int{200, 200, 429}, codes); diff != "" {
			t.Error(diff)
		}
		// Changes have a limit of their own.
		c.launch("node-a")
	})
	t.Run("error rate", func(t *testing.T) {
		c := newClient(t, Options{ErrorRate: 1})
		if status, problem, _ := c.call("POST", "/v1/instances", `[{"name":"a"}]`, nil); status != 500 ||
			problem.Code != api.CodeInternal {
			t.Errorf("status %d, %+v", status, problem)
		}
		if n := c.cloud.Objects()["instances"]; n != 0 {
			t.Errorf("%d instances after an error", n)
		}
	})
	t.Run("lost reply is found again by name", func(t *testing.T) {
		c := newClient(t, Options{})
		c.cloud.Front().SetFaults(sim.Fault{Kind: sim.FaultLostReply, Call: 1})
		if status, _, _ := c.call("POST", "/v1/addresses", `{"name":"a","family":"IPv4"}`, nil); status != 0 {
			t.Fatalf("status %d", status)
		}
		if status, problem, _ := c.call("POST", "/v1/addresses", `{"name":"a","family":"IPv4"}`, nil); status != 409 ||
			problem.Code != api.CodeAlreadyExists {
			t.Errorf("status %d, %+v", status, problem)
		}
		if found := must[api.Page[api.Address]](c, "GET", "/v1/addresses?name=a", nil).Items; len(found) != 1 {
			t.Errorf("found %+v", found)
		}
	})
}

func TestOperationsAreNamedInTheCallLog(t *testing.T) {
	c, lb, _ := fixture(t, Options{})
	c.cloud.Front().Log().Reset()
	c.call("PUT", "/v1/load-balancers/"+lb.ID+"/pools/p/members", "[]", nil)
	c.call("GET", "/v1/routes?cluster=c", nil, nil)
	c.call("POST", "/v1/volumes", nil, nil)
	if err := c.cloud.Terminate("node-a"); err != nil { // by hand: not in the log
		t.Fatal(err)
	}
	var got []sim.Operation
	for _, call := range c.cloud.Front().Log().Calls() {
		got = append(got, call.Operation)
	}
	want := []sim.Operation{
		{Service: "fake", Name: "SetMembers", Mutating: true},
		{Service: "fake", Name: "ListRoutes"},
		{Service: "fake", Name: "Unknown", Mutating: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOperationsAreDistinctAndMutateByMethod(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range operations() {
		if seen[o.name] {
			t.Errorf("%s exists twice", o.name)
		}
		seen[o.name] = true
		if method, _, _ := strings.Cut(o.pattern, " "); o.describe().Mutating == (method == http.MethodGet) {
			t.Errorf("%s: mutating is %v for %s", o.name, o.describe().Mutating, method)
		}
	}
}
