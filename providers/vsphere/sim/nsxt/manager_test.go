package nsxt_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

// call makes a request and returns the status and the document of its response.
func call(t *testing.T, m *nsxt.Manager, method, path, body string) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, nsxt.Prefix+path, strings.NewReader(body))
	r.SetBasicAuth(nsxt.User, nsxt.Password)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	out := map[string]any{}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
		}
	}
	return w.Code, out
}

// want makes a request, such as "GET /infra/lb-pools", that must have a status, and an error code if it is not 0.
func want(t *testing.T, m *nsxt.Manager, request, body string, status int, code float64) map[string]any {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	have, d := call(t, m, method, path, body)
	if have != status || code != 0 && d["error_code"] != code {
		t.Errorf("%s %s: %d %v, want %d %v", request, body, have, d, status, code)
	}
	return d
}

const (
	service = `{"size": "SMALL", "connectivity_path": "` + nsxt.Tier1 + `"}`
	server  = `{"ip_address": "192.0.2.9", "ports": ["%d"], "application_profile_path":` +
		` "/infra/lb-app-profiles/default-%s-lb-app-profile", "lb_service_path": "/infra/lb-services/s"%s}`
)

// PUT: "If it already exists, update it. This is a full replace." The revision must be the current one.
func TestPutNeedsTheCurrentRevision(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	d := want(t, m, "PUT /infra/lb-pools/p", `{"display_name": "x"}`, http.StatusOK, 0)
	if d["_revision"] != 0.0 || d["path"] != "/infra/lb-pools/p" || d["resource_type"] != "LBPool" {
		t.Errorf("created: %v", d)
	}
	want(t, m, "PUT /infra/lb-pools/p", `{}`, http.StatusPreconditionFailed, 604)
	d = want(t, m, "PUT /infra/lb-pools/p", `{"_revision": 0}`, http.StatusOK, 0)
	if d["_revision"] != 1.0 || d["display_name"] != "p" {
		t.Errorf("replaced: %v", d)
	}
	want(t, m, "PUT /infra/lb-pools/p", `{"_revision": 0}`, http.StatusPreconditionFailed, 604)
}

func TestReferencesProtectObjects(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	want(t, m, "PUT /infra/lb-virtual-servers/v", fmt.Sprintf(server, 80, "tcp", ""), http.StatusBadRequest, 500012)
	want(t, m, "PUT /infra/lb-services/s", service, http.StatusOK, 0)
	want(t, m, "PUT /infra/lb-pools/p", `{}`, http.StatusOK, 0)
	want(t, m, "PUT /infra/lb-virtual-servers/v",
		fmt.Sprintf(server, 80, "tcp", `, "pool_path": "/infra/lb-pools/p"`), http.StatusOK, 0)
	want(t, m, "DELETE /infra/lb-pools/p", "", http.StatusBadRequest, 500030)
	want(t, m, "DELETE /infra/lb-services/s", "", http.StatusBadRequest, 500030)
	for _, path := range []string{"/infra/lb-virtual-servers/v", "/infra/lb-pools/p", "/infra/lb-services/s"} {
		want(t, m, "DELETE "+path, "", http.StatusOK, 0)
		want(t, m, "DELETE "+path, "", http.StatusNotFound, 600)
		want(t, m, "GET "+path, "", http.StatusNotFound, 600)
	}
}

// A Tier-1 gateway has one load balancer service; its size limits the virtual servers.
func TestLimitsOfLoadBalancerServices(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	want(t, m, "PUT /infra/lb-services/s", service, http.StatusOK, 0)
	want(t, m, "PUT /infra/lb-services/other", service, http.StatusBadRequest, 503040)
	want(t, m, "PUT /infra/lb-services/s", `{"_revision": 0, "size": "HUGE"}`, http.StatusBadRequest, 255)
	for port := range 20 {
		want(t, m, fmt.Sprintf("PUT /infra/lb-virtual-servers/v%d", port),
			fmt.Sprintf(server, port+1, "tcp", ""), http.StatusOK, 0)
	}
	want(t, m, "PUT /infra/lb-virtual-servers/more", fmt.Sprintf(server, 99, "tcp", ""), http.StatusBadRequest, 503051)
}

func TestAddressAndPortBelongToOneServer(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	want(t, m, "PUT /infra/lb-services/s", service, http.StatusOK, 0)
	want(t, m, "PUT /infra/lb-virtual-servers/tcp", fmt.Sprintf(server, 53, "tcp", ""), http.StatusOK, 0)
	want(t, m, "PUT /infra/lb-virtual-servers/udp", fmt.Sprintf(server, 53, "udp", ""), http.StatusOK, 0)
	want(t, m, "PUT /infra/lb-virtual-servers/two", fmt.Sprintf(server, 53, "tcp", ""), http.StatusBadRequest, 503141)
}

// The address of an allocation is part of its realized state.
func TestAllocationIsRealizedLater(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	m := nsxt.New(nsxt.Options{Clock: clock, AllocationTime: time.Second})
	path := "/infra/ip-pools/" + nsxt.PublicPool + "/ip-allocations/a"
	if d := want(t, m, "PUT "+path, `{}`, http.StatusOK, 0); d["allocation_ip"] != nil || d["-address"] != nil {
		t.Errorf("allocation: %v", d)
	}
	state := func() map[string]any {
		d := want(t, m, "GET /infra/realized-state/realized-entities?intent_path="+path, "", http.StatusOK, 0)
		return d["results"].([]any)[0].(map[string]any)
	}
	if s := state(); s["state"] != "UNREALIZED" || s["extended_attributes"] != nil {
		t.Errorf("at once: %v", s)
	}
	clock.Step(time.Second)
	if s := fmt.Sprint(state()); !strings.Contains(s, "REALIZED") || !strings.Contains(s, "192.0.2.1") {
		t.Errorf("later: %v", s)
	}
}

// The page CreateOrReplaceIpAddressPoolAllocation of the API reference: the status of an address that was chosen is in
// the realized state, and a request for an existing allocation does nothing.
func TestChosenAddressIsRealizedOrNot(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	allocations := "/infra/ip-pools/" + nsxt.PublicPool + "/ip-allocations/"
	for _, tc := range []struct{ id, ip, state string }{
		{"a", "192.0.2.7", "REALIZED"}, {"b", "192.0.2.7", "ERROR"}, {"c", "10.0.0.1", "ERROR"},
	} {
		body := fmt.Sprintf(`{"allocation_ip": %q}`, tc.ip)
		for range 2 {
			d := want(t, m, "PUT "+allocations+tc.id, body, http.StatusOK, 0)
			if d["_revision"] != 0.0 || d["allocation_ip"] != tc.ip {
				t.Errorf("%s: %v", tc.id, d)
			}
			body = `{"_revision": 0, "allocation_ip": "192.0.2.8"}`
		}
		d := want(t, m, "GET /infra/realized-state/realized-entities?intent_path="+allocations+tc.id, "", http.StatusOK, 0)
		if state := d["results"].([]any)[0].(map[string]any)["state"]; state != tc.state {
			t.Errorf("%s: %v, want %s", tc.id, d, tc.state)
		}
	}
}

func TestListsHavePages(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{PageSize: 2})
	for i := range 5 {
		want(t, m, fmt.Sprintf("PUT /infra/lb-pools/p%d", i), `{}`, http.StatusOK, 0)
	}
	var ids []string
	for cursor := ""; ; {
		d := want(t, m, "GET /infra/lb-pools?cursor="+cursor, "", http.StatusOK, 0)
		for _, one := range d["results"].([]any) {
			ids = append(ids, one.(map[string]any)["id"].(string))
		}
		next, more := d["cursor"].(string)
		if !more {
			break
		}
		cursor = next
	}
	if text := strings.Join(ids, " "); text != "p0 p1 p2 p3 p4" {
		t.Error(text)
	}
}

func TestListRejectsInvalidCursors(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	for _, cursor := range []string{"x", "-1", "1"} {
		want(t, m, "GET /infra/lb-pools?cursor="+cursor, "", http.StatusBadRequest, 255)
	}
}

func TestInvalidDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	for path, body := range map[string]string{
		"/infra/lb-monitor-profiles/a":       `{"monitor_port": 80}`,
		"/infra/lb-monitor-profiles/b":       `{"resource_type": "LBTcpMonitorProfile", "monitor_port": 70000}`,
		"/infra/lb-pools/a":                  `{"members": [{"ip_address": "x"}]}`,
		"/infra/lb-pools/b":                  `{"snat_translation": {"type": "no"}}`,
		"/infra/lb-pools/c":                  `{"active_monitor_paths": ["/infra/lb-monitor-profiles/none"]}`,
		"/infra/lb-pools/d":                  `null`,
		"/infra/lb-pools/e":                  `[]`,
		"/infra/lb-virtual-servers/a":        `{"ports": ["80"]}`,
		"/infra/domains/default/groups/a":    `{"expression": [{"resource_type": "IPAddressExpression", "ip_addresses": ["x"]}]}`,
		nsxt.Tier1 + "/static-routes/a":      `{"network": "10.0.0.1/24", "next_hops": [{"ip_address": "10.0.0.1"}]}`,
		nsxt.Tier1 + "/static-routes/b":      `{"network": "10.0.0.0/24", "next_hops": []}`,
		"/infra/ip-pools/x/ip-allocations/a": `{}`,
		"/infra/lb-services/a":               `{"tags": [{"scope": "` + strings.Repeat("x", 129) + `"}]}`,
	} {
		want(t, m, "PUT "+path, body, http.StatusBadRequest, 0)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, nsxt.Prefix+"/infra/lb-pools", http.NoBody)
	r.SetBasicAuth(nsxt.User, "wrong")
	w := httptest.NewRecorder()
	if m.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("wrong password: %d", w.Code)
	}
}

// "Intent objects are not directly deleted": a deleted object is marked, and removed by a purge that runs every five
// minutes. Until then the creation of another one at its path is refused (error code 500045).
func TestDeletedObjectIsPurgedLater(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	m := nsxt.New(nsxt.Options{Clock: clock})
	const pool = "/infra/lb-pools/p"
	want(t, m, "PUT "+pool, `{}`, http.StatusOK, 0)
	want(t, m, "DELETE "+pool, "", http.StatusOK, 0)
	want(t, m, "GET "+pool, "", http.StatusNotFound, 600)
	want(t, m, "DELETE "+pool, "", http.StatusNotFound, 600)
	want(t, m, "PUT "+pool, `{}`, http.StatusBadRequest, 500045)
	want(t, m, "PUT "+pool+"-2", `{}`, http.StatusOK, 0)
	clock.Step(5 * time.Minute)
	want(t, m, "PUT "+pool, `{}`, http.StatusOK, 0)
}
