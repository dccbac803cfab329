package nsxt_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

const allocations = "/infra/ip-pools/" + nsxt.PublicPool + "/ip-allocations/"

// realized returns the only realized entity of an object.
func realized(t *testing.T, m *nsxt.Manager, path string) map[string]any {
	t.Helper()
	d := want(t, m, "GET /infra/realized-state/realized-entities?intent_path="+path, "", http.StatusOK, 0)
	return d["results"].([]any)[0].(map[string]any)
}

// method_CreateOrPatchIpAddressPoolAllocation: "If allocation of the same ID is found, this is a no-op. If no
// allocation of the specified ID is found, then a new allocation is created." Its response has no body.
func TestPatchCreatesAnAllocationAndNeverChangesIt(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	path := allocations + "a"
	for _, tag := range []string{"first", "second"} {
		body := fmt.Sprintf(`{"tags": [{"scope": "owner", "tag": %q}]}`, tag)
		if d := want(t, m, "PATCH "+path, body, http.StatusOK, 0); len(d) > 0 {
			t.Errorf("response %v, want none", d)
		}
		d := want(t, m, "GET "+path, "", http.StatusOK, 0)
		if text := fmt.Sprint(d["tags"]); !strings.Contains(text, "first") || d["_revision"] != 0.0 {
			t.Errorf("after the PATCH with %s: %v", tag, d)
		}
	}
	if s := fmt.Sprint(realized(t, m, path)); !strings.Contains(s, "192.0.2.1") {
		t.Errorf("no address: %s", s)
	}
}

// method_PatchTier1StaticRoutes: "If static routes for route-id are not already present, create static routes. If it
// already exists, update static routes for route-id." Its request has no revision.
func TestPatchCreatesAndChangesAStaticRoute(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	path := nsxt.Tier1 + "/static-routes/r"
	want(t, m, "PATCH "+path, `{"network": "10.0.0.0/24"}`, http.StatusBadRequest, 255)
	want(t, m, "PATCH "+path, `{"network": "10.0.0.0/24", "next_hops": [{"ip_address": "10.0.0.1"}]}`, http.StatusOK, 0)
	if s := realized(t, m, path); s["state"] != "REALIZED" || s["intent_paths"].([]any)[0] != path {
		t.Errorf("realized: %v", s)
	}
	want(t, m, "PATCH "+path, `{"next_hops": [{"ip_address": "10.0.0.2"}]}`, http.StatusOK, 0)
	d := want(t, m, "GET "+path, "", http.StatusOK, 0)
	hops := fmt.Sprint(d["next_hops"])
	if d["network"] != "10.0.0.0/24" || !strings.Contains(hops, "10.0.0.2") || d["_revision"] != 1.0 {
		t.Errorf("%v", d)
	}
}

// method_QuerySearch: terms are FIELD:VALUE, without case, in nested fields by dots and with the wildcards * and ?,
// joined by AND; reserved characters have a backslash.
func TestSearchFindsObjectsByFields(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{})
	for id, tag := range map[string]string{"a": "kubernetes", "b": "kubernetes-2", "c": "KUBERNETES"} {
		body := fmt.Sprintf(`{"network": "10.0.0.0/24", "next_hops": [{"ip_address": "10.0.0.1"}],
			"tags": [{"scope": "vsphere.k8s.io/cluster-name", "tag": %q}]}`, tag)
		want(t, m, "PUT "+nsxt.Tier1+"/static-routes/"+id, body, http.StatusOK, 0)
	}
	want(t, m, "PUT /infra/lb-pools/p", `{"tags": [{"scope": "vsphere.k8s.io/cluster-name", "tag": "kubernetes"}]}`,
		http.StatusOK, 0)
	for query, ids := range map[string][]string{
		`resource_type:StaticRoutes AND tags.scope:vsphere.k8s.io\/cluster-name AND tags.tag:kubernetes`: {"a", "c"},
		`resource_type:StaticRoutes AND tags.tag:kubernetes*`:                                            {"a", "b", "c"},
		`resource_type:StaticRoutes AND id:?`:                                                            {"a", "b", "c"},
		`tags.tag:"kubernetes-2"`:                                                                        {"b"},
		`resource_type:StaticRoutes AND network:10.0.0.0\/24 AND id:b`:                                   {"b"},
		`resource_type:StaticRoutes AND tags.scope:cluster-name`:                                         nil,
		`resource_type:staticroutes AND tags.tag:other`:                                                  nil,
	} {
		d := want(t, m, "GET /search/query?query="+url.QueryEscape(query), "", http.StatusOK, 0)
		var found []string
		for _, one := range d["results"].([]any) {
			found = append(found, one.(map[string]any)["id"].(string))
		}
		if !slices.Equal(found, ids) || d["result_count"] != float64(len(ids)) {
			t.Errorf("%s: %v, count %v, want %v", query, found, d["result_count"], ids)
		}
	}
	for _, query := range []string{"", "kubernetes", "id:a OR id:b", "id:(a AND b)", "NOT id:a"} {
		want(t, m, "GET /search/query?query="+url.QueryEscape(query), "", http.StatusBadRequest, 255)
	}
	want(t, m, "POST /search/query", "{}", http.StatusMethodNotAllowed, 0)
}

// schemas_ListResult: result_count is the "count of results found (across all pages), set only on first page".
func TestOnlyTheFirstPageHasACount(t *testing.T) {
	t.Parallel()
	m := nsxt.New(nsxt.Options{PageSize: 2})
	for i := range 3 {
		want(t, m, fmt.Sprintf("PUT /infra/lb-pools/p%d", i), `{}`, http.StatusOK, 0)
	}
	first := want(t, m, "GET /infra/lb-pools", "", http.StatusOK, 0)
	second := want(t, m, fmt.Sprintf("GET /infra/lb-pools?cursor=%v", first["cursor"]), "", http.StatusOK, 0)
	if first["result_count"] != 3.0 || second["result_count"] != nil {
		t.Errorf("counts %v and %v", first["result_count"], second["result_count"])
	}
}
