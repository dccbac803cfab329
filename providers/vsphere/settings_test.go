package vsphere_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

// console calls the policy API of NSX-T as a user of its console does.
func console(t testing.TB, w *sim.Cloud, method, path string, body document) document {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, nsxt.Prefix+path, bytes.NewReader(content))
	r.SetBasicAuth(nsxt.User, nsxt.Password)
	reply := httptest.NewRecorder()
	w.NSXT().ServeHTTP(reply, r)
	out := document{}
	if method == http.MethodDelete && reply.Code == http.StatusOK {
		return out
	}
	if err := json.Unmarshal(reply.Body.Bytes(), &out); err != nil || reply.Code != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, reply.Code, reply.Body)
	}
	return out
}

// objectsOf returns the objects of a collection.
func objectsOf(t testing.TB, w *sim.Cloud, collection string) []document {
	t.Helper()
	var out []document
	for _, object := range console(t, w, http.MethodGet, collection, nil)["results"].([]any) {
		out = append(out, object.(map[string]any))
	}
	return out
}

// edit changes the only object of a collection, and returns its path.
func edit(t testing.TB, w *sim.Cloud, collection string, fields document) string {
	t.Helper()
	all := objectsOf(t, w, collection)
	if len(all) != 1 {
		t.Fatalf("%d objects in %s", len(all), collection)
	}
	object := all[0]
	for name, value := range fields {
		object[name] = value
	}
	path := object["path"].(string)
	console(t, w, http.MethodPut, path, object)
	return path
}

// settingsOf returns the fields of an object that clients set.
func settingsOf(t testing.TB, w *sim.Cloud, path string) document {
	t.Helper()
	object := console(t, w, http.MethodGet, path, nil)
	for name := range object {
		if strings.HasPrefix(name, "_") {
			delete(object, name)
		}
	}
	return object
}

const (
	serversPath  = "/infra/lb-virtual-servers"
	poolsPath    = "/infra/lb-pools"
	monitorsPath = "/infra/lb-monitor-profiles"
)

// What a user has set in NSX-T and the manager did not set stays, while members follow the nodes.
func TestSettingsOfUsersStay(t *testing.T) {
	group := "/infra/domains/default/groups/hand-made"
	for name, tc := range map[string]struct {
		collection string
		fields     func(t *testing.T, w *sim.Cloud) document
	}{
		"access list": {serversPath, func(t *testing.T, w *sim.Cloud) document {
			console(t, w, http.MethodPut, group, document{"expression": []any{document{"resource_type": "IPAddressExpression",
				"ip_addresses": []string{"198.51.100.0/24"}}}})
			return document{"access_list_control": document{"action": "ALLOW", "enabled": true, "group_path": group}}
		}},
		"list that denies": {serversPath, func(t *testing.T, w *sim.Cloud) document {
			console(t, w, http.MethodPut, group, document{"expression": []any{document{"resource_type": "IPAddressExpression",
				"ip_addresses": []string{"198.51.100.0/24"}}}})
			return document{"access_list_control": document{"action": "DROP", "enabled": true, "group_path": group}}
		}},
		"persistence, and other fields that the manager does not know": {serversPath, func(*testing.T, *sim.Cloud) document {
			return document{"max_concurrent_connections": 1000, "server_ssl_profile_binding": document{"x": document{"y": 1}}}
		}},
		"addresses of SNAT": {poolsPath, func(*testing.T, *sim.Cloud) document {
			return document{"snat_translation": document{"type": "LBSnatIpPool",
				"ip_addresses": []any{document{"ip_address": "192.0.2.200", "prefix_length": 32}}}}
		}},
		"algorithm of a pool": {poolsPath, func(*testing.T, *sim.Cloud) document {
			return document{"algorithm": "LEAST_CONNECTION", "tcp_multiplexing_enabled": true}
		}},
		"monitor of a user": {poolsPath, func(t *testing.T, w *sim.Cloud) document {
			path := monitorsPath + "/hand-made"
			console(t, w, http.MethodPut, path, document{"resource_type": "LBHttpMonitorProfile", "monitor_port": 10256})
			return document{"active_monitor_paths": []string{path}}
		}},
		"settings of a monitor": {monitorsPath, func(*testing.T, *sim.Cloud) document {
			return document{"interval": 2, "timeout": 60, "rise_count": 1, "fall_count": 10, "data_length": 56}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNSXT(t)
				c := joinCluster(t, w, "cluster")
				svc := webService("uid", 80)
				if err := c.ensure(t, svc); err != nil {
					t.Fatal(err)
				}
				path := edit(t, w, tc.collection, tc.fields(t, w))
				want := settingsOf(t, w, path)
				if tc.collection == poolsPath {
					delete(want, "members")
				}
				restarted := joinAgain(t, w, c)
				sync := func(step string) {
					t.Helper()
					if err := restarted.ensure(t, svc); err != nil {
						t.Fatal(err)
					}
					have := settingsOf(t, w, path)
					if tc.collection == poolsPath {
						delete(have, "members")
					}
					if diff := cmp.Diff(want, have); diff != "" {
						t.Errorf("%s (-want +have):\n%s", step, diff)
					}
				}
				sync("first sync of another process")
				restarted.nodes = append(restarted.nodes, joinCluster(t, w, "late").nodes[0])
				sync("a node joins")
				if n := len(w.LoadBalancers()[0].Listeners[0].Members); n != 3 {
					t.Errorf("%d members, want 3", n)
				}
				time.Sleep(time.Hour)
				balancers, _ := restarted.cloud.LoadBalancer()
				if _, _, err := balancers.(loadbalancer.Auditor).AuditLoadBalancer(t.Context(), "kubernetes",
					func() (*v1.Service, []*v1.Node) { return svc, restarted.nodes }); err != nil {
					t.Error(err)
				}
				sync("audit")
			})
		})
	}
}

// A restriction that the Service had is removed with it.
func TestRestrictionOfServiceEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80)
		svc.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		if have := w.LoadBalancers()[0].Listeners[0].SourceRanges; len(have) != 1 {
			t.Errorf("ranges %v", have)
		}
		svc.Spec.LoadBalancerSourceRanges = nil
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		if have := w.LoadBalancers()[0].Listeners[0].SourceRanges; len(have) > 0 || w.Objects()["Group"] > 0 {
			t.Errorf("ranges %v, objects %v", have, w.Objects())
		}
	})
}

// A setting that an annotation made returns to the default with the annotation's removal, other ones stay.
func TestSettingsOfHealthCheckFollowAnnotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80)
		svc.Annotations = map[string]string{intent.KeyHealthCheckInterval: "7s"}
		check := func(step string, c nsxtCluster, interval, rise float64) {
			t.Helper()
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
			if have := objectsOf(t, w, monitorsPath)[0]; have["interval"] != interval || have["rise_count"] != rise {
				t.Errorf("%s: %v, want interval %v and rise_count %v", step, have, interval, rise)
			}
		}
		check("annotated", c, 7, 3)
		edit(t, w, monitorsPath, document{"interval": 99.0, "rise_count": 1})
		c = joinAgain(t, w, c)
		check("changed by hand", c, 7, 1)
		svc.Annotations = nil
		check("annotation removed", joinAgain(t, w, c), 5, 1)
		edit(t, w, monitorsPath, document{"interval": 99.0})
		check("changed by hand without an annotation", joinAgain(t, w, c), 99, 1)
	})
}

// NSX-T accepts a request for an address that another Service has, and reports in the realized state that it cannot be
// allocated. Two Services must not share it.
func TestAddressInUseIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		const chosen = "192.0.2.77"
		owner, other := webService("uid-a", 80), webService("uid-b", 443)
		other.Name = "other"
		owner.Spec.LoadBalancerIP, other.Spec.LoadBalancerIP = chosen, chosen
		if err := c.ensure(t, owner); err != nil || owner.Status.LoadBalancer.Ingress[0].IP != chosen {
			t.Fatalf("%v, %v", owner.Status, err)
		}
		for range 2 {
			err := c.ensure(t, other)
			if !cloudapi.Is(err, cloudapi.Quota) || !strings.Contains(err.Error(), chosen) ||
				!strings.Contains(err.Error(), "spec.loadBalancerIP") {
				t.Errorf("error %v", err)
			}
			if n := len(objectsOf(t, w, serversPath)); n != 1 || len(other.Status.LoadBalancer.Ingress) > 0 {
				t.Errorf("%d virtual servers, status %v", n, other.Status)
			}
		}
		if err := c.remove(t, owner); err != nil {
			t.Fatal(err)
		}
		if err := c.ensure(t, other); err != nil || other.Status.LoadBalancer.Ingress[0].IP != chosen {
			t.Errorf("once it is free: %v, %v", other.Status, err)
		}
		if err := c.remove(t, other); err != nil {
			t.Fatal(err)
		}
		expectNothingLeft(t, w)
	})
}

// The applied record is on a virtual server, because NSX-T does not update allocations. It moves when that is deleted.
func TestRecordStaysWithService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80, 443)
		recordOf := func() (record, port string) {
			t.Helper()
			for _, server := range objectsOf(t, w, serversPath) {
				tags := map[string]string{}
				for _, tag := range server["tags"].([]any) {
					tag := tag.(map[string]any)
					tags[tag["scope"].(string)] = tag["tag"].(string)
				}
				if text := tags["unified-ccm.io/applied"]; text != "" {
					if record != "" {
						t.Errorf("two records: on %s and on %s", port, tags["port"])
					}
					record, port = text, tags["port"]
				}
			}
			return record, port
		}
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		first, port := recordOf()
		if first == "" {
			t.Fatal("no record")
		}
		svc.Spec.Ports = webService("uid", 443, 8443).Spec.Ports
		if port == "TCP/443" {
			svc.Spec.Ports = webService("uid", 80, 8443).Spec.Ports
		}
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		if second, on := recordOf(); second == "" || second == first || on == port {
			t.Errorf("record %q on %s, was %q on %s", second, on, first, port)
		}
		for _, a := range objectsOf(t, w, "/infra/ip-pools/"+nsxt.PublicPool+"/ip-allocations") {
			if a["_revision"] != 0.0 {
				t.Errorf("the allocation was updated: %v", a)
			}
		}
	})
}

// The algorithm of pools follows the annotation; once that is removed, it is the one of NSX-T by default.
func TestAlgorithm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80)
		for _, step := range []struct{ key, value, want string }{
			{annotation.KeyAlgorithm, "LEAST_CONNECTION", "LEAST_CONNECTION"},
			{annotation.KeyAlgorithm, "IP_HASH", "IP_HASH"}, {"", "", "ROUND_ROBIN"},
			{intent.KeyAlgorithm, "least-connections", "LEAST_CONNECTION"}, {intent.KeyAlgorithm, "source-ip", "IP_HASH"},
			{"", "", "ROUND_ROBIN"}, {intent.KeyAlgorithm, "round-robin", "ROUND_ROBIN"},
		} {
			svc.Annotations = map[string]string{}
			if step.key != "" {
				svc.Annotations[step.key] = step.value
			}
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
			for _, pool := range objectsOf(t, w, poolsPath) {
				if pool["algorithm"] != step.want {
					t.Errorf("with %s %q, the algorithm is %v", step.key, step.value, pool["algorithm"])
				}
			}
		}
		svc.Annotations[annotation.KeyAlgorithm] = "IP_HASH"
		if err := c.ensure(t, svc); !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), intent.KeyAlgorithm) {
			t.Errorf("two annotations that differ: %v", err)
		}
		svc.Annotations = map[string]string{annotation.KeyAlgorithm: "random"}
		if err := c.ensure(t, svc); !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), "LEAST_CONNECTION") {
			t.Errorf("error %v", err)
		}
	})
}

// A list of clients that a user made in NSX-T is not replaced by the ranges of a Service: with them removed again, the
// port would be open to everyone.
func TestListOfUserIsNotReplacedBySourceRanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const group = "/infra/domains/default/groups/hand-made"
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80)
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		console(t, w, http.MethodPut, group, document{"expression": []any{document{"resource_type": "IPAddressExpression",
			"ip_addresses": []string{"198.51.100.0/24"}}}})
		list := document{"action": "DROP", "enabled": true, "group_path": group}
		path := edit(t, w, serversPath, document{"access_list_control": list})
		want := settingsOf(t, w, path)
		c = joinAgain(t, w, c)
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		svc.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/1", "128.0.0.0/1"}
		svc.Spec.Ports[0].NodePort++ // other edits are applied
		c.nodes = append(c.nodes, joinCluster(t, w, "late").nodes[0])
		if err := c.ensure(t, svc); !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), group) ||
			!strings.Contains(err.Error(), "spec.loadBalancerSourceRanges") {
			t.Errorf("error %v", err)
		}
		if l := w.LoadBalancers()[0].Listeners[0]; len(l.Members) != 3 || l.MemberPort != svc.Spec.Ports[0].NodePort {
			t.Errorf("listener %+v", l)
		}
		svc.Spec.LoadBalancerSourceRanges = nil
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		have := settingsOf(t, w, path)
		if diff := cmp.Diff(want["access_list_control"], have["access_list_control"]); diff != "" {
			t.Errorf("(-want +have):\n%s", diff)
		}
		edit(t, w, serversPath, document{"access_list_control": nil})
		svc.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		if err := joinAgain(t, w, c).ensure(t, svc); err != nil {
			t.Errorf("without the list: %v", err)
		}
	})
}

// The vSphere cloud controller manager ignores source ranges, so that a user may have made the list instead. Taking
// over changes neither, and other edits are applied.
func TestListOfUserIsKeptWhenTakingOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const group = "/infra/domains/default/groups/hand-made"
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80)
		svc.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		taken, err := takeOverOf("kubernetes").Create(t.Context(), w, svc, c.nodes)
		if err != nil {
			t.Fatal(err)
		}
		svc.Status.LoadBalancer = taken.Status
		console(t, w, http.MethodPut, group, document{"expression": []any{document{"resource_type": "IPAddressExpression",
			"ip_addresses": []string{"198.51.100.0/24"}}}})
		path := edit(t, w, serversPath, document{"access_list_control": document{"action": "ALLOW", "enabled": true,
			"group_path": group}})
		for _, ports := range [][]int32{{80}, {80, 443}} {
			svc.Spec.Ports = webService("uid", ports...).Spec.Ports
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
			have := settingsOf(t, w, path)["access_list_control"].(map[string]any)
			if have["group_path"] != group || len(w.LoadBalancers()[0].Listeners) != len(ports) {
				t.Errorf("ports %v: list %v, %+v", ports, have, w.LoadBalancers())
			}
			if p := c.plan(t, svc); len(p.Held) != 1 || p.HeldID == "" {
				t.Errorf("ports %v: plan %s, held %+v", ports, plan.Summary(p), p.Held)
			}
		}
	})
}
