package vsphere_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// interceptNSXT returns a manager for the cluster. The function gets each of its requests before the cloud does, and
// answers it with a result other than nil.
func interceptNSXT(
	t testing.TB, w *sim.Cloud, c nsxtCluster, answer func(*http.Request) *http.Response,
) nsxtCluster {
	t.Helper()
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		if resp := answer(r); resp != nil {
			return resp, nil
		}
		return w.Front().Transport().RoundTrip(r)
	})
	cloud, err := newCloudOver(nsxtLines(false), map[string]http.RoundTripper{"vcenter-0.test": rt})
	if err != nil {
		t.Fatal(err)
	}
	cloud.SetRuntime(provider.Runtime{ClusterUID: "cluster", Recorder: record.NewFakeRecorder(1000)})
	return nsxtCluster{cloud: cloud, nodes: c.nodes}
}

// A Service that is created shares the load balancer service with the last one, which is deleted at the same time.
func TestLoadBalancerServiceIsKeptForServiceInCreation(t *testing.T) {
	for name, at := range map[string]string{
		"deleted before the virtual server is created":    "PUT lb-pools/",
		"deleted while the virtual server is created":     "PUT lb-virtual-servers/",
		"deleted before the address of it is allocated":   "PUT ip-allocations/",
		"deleted before the monitor of a port is created": "PUT lb-monitor-profiles/",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNSXT(t)
				last, created := webService("uid-a", 80), webService("uid-b", 80)
				created.Name = "created"
				method, collection, _ := strings.Cut(at, " ")
				var c nsxtCluster
				var armed atomic.Bool // changes of a plan are made concurrently
				c = interceptNSXT(t, w, joinCluster(t, w, "cluster"), func(r *http.Request) *http.Response {
					matches := r.Method == method && strings.Contains(r.URL.Path, collection)
					if matches && armed.CompareAndSwap(true, false) {
						if err := c.remove(t, last); err != nil {
							t.Error(err)
						}
					}
					return nil
				})
				if err := c.ensure(t, last); err != nil {
					t.Fatal(err)
				}
				armed.Store(true)
				if err := c.ensure(t, created); err != nil || armed.Load() {
					t.Errorf("error %v, not deleted %t", err, armed.Load())
				}
				if have := w.Objects(); have["LBService"] != 1 || have["LBVirtualServer"] != 1 {
					t.Errorf("objects %v", have)
				}
				if err := c.remove(t, created); err != nil || w.Objects()["LBService"] != 0 {
					t.Errorf("after the deletion of both: error %v, objects %v", err, w.Objects())
				}
			})
		})
	}
}

// A rejected deletion is repeated, unless a virtual server uses the load balancer service: the last Service leaves
// nothing behind.
func TestRejectedDeletionOfLoadBalancerServiceIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		svc := webService("uid-a", 80)
		var deletions atomic.Int32
		c := interceptNSXT(t, w, joinCluster(t, w, "cluster"), func(r *http.Request) *http.Response {
			if r.Method != http.MethodDelete || !strings.Contains(r.URL.Path, "/lb-services/") || deletions.Add(1) > 1 {
				return nil
			}
			return &http.Response{StatusCode: http.StatusBadRequest, Request: r, Body: io.NopCloser(strings.NewReader(
				`{"error_code": 500030, "error_message": "The object cannot be deleted: it is being referenced."}`))}
		})
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		if err := c.remove(t, svc); !cloudapi.Is(err, cloudapi.Conflict) {
			t.Errorf("error %v, want the rejection", err)
		}
		if err := c.remove(t, svc); err != nil || w.Objects()["LBService"] != 0 || deletions.Load() != 2 {
			t.Errorf("error %v, %d deletions, objects %v", err, deletions.Load(), w.Objects())
		}
	})
}

// A virtual server without a load balancer service has no traffic: whoever replaces that service takes it away first.
func TestVirtualServerGetsLoadBalancerServiceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80)
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		for _, replaced := range []bool{false, true} {
			service := objectsOf(t, w, "/infra/lb-services")[0]["path"].(string)
			edit(t, w, serversPath, document{"lb_service_path": nil})
			if replaced {
				console(t, w, http.MethodDelete, service, nil)
			}
			c = joinAgain(t, w, c)
			for range 3 {
				_ = c.ensure(t, svc) // The ID of the deleted one is not free yet.
				time.Sleep(2 * time.Second)
			}
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
			have := objectsOf(t, w, serversPath)[0]["lb_service_path"]
			if want := objectsOf(t, w, "/infra/lb-services")[0]["path"]; have != want || (want != service) != replaced {
				t.Errorf("replaced %t: %v, want %v", replaced, have, want)
			}
		}
		if err := c.remove(t, svc); err != nil {
			t.Fatal(err)
		}
		expectNothingLeft(t, w)
	})
}
