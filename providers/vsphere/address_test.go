package vsphere_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

const allocationsPath = "/infra/ip-pools/" + nsxt.PublicPool + "/ip-allocations"

// refusal is an answer of NSX-T that refuses a request.
func refusal(r *http.Request) *http.Response {
	return &http.Response{StatusCode: http.StatusBadRequest, Request: r, Body: io.NopCloser(strings.NewReader(
		`{"error_code": 503051, "error_message": "The load balancer service has the maximum of virtual servers."}`))}
}

// addressOf returns the address in the status of a Service.
func addressOf(svc *v1.Service) string { return svc.Status.LoadBalancer.Ingress[0].IP }

// releaseByHand deletes the allocation of a Service, as a user of the console would. Another Service gets its address,
// so that it cannot be reserved again.
func releaseByHand(t *testing.T, w *sim.Cloud, c nsxtCluster, svc *v1.Service) *v1.Service {
	t.Helper()
	console(t, w, http.MethodDelete, objectsOf(t, w, allocationsPath)[0]["path"].(string), nil)
	time.Sleep(10 * time.Minute)
	other := webService("uid-other", 443)
	other.Name = "other"
	if err := c.ensure(t, other); err != nil {
		t.Fatal(err)
	}
	if err := c.ensure(t, svc); !cloudapi.Is(err, cloudapi.Quota) || !strings.Contains(err.Error(), addressOf(svc)) {
		t.Errorf("error %v", err)
	}
	return other
}

// The address of a deleted allocation is not that of a later one with the same ID.
func TestAllocationOfSameIDHasAnotherAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80)
		svc.Annotations = map[string]string{}
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		other := releaseByHand(t, w, c, svc)
		svc.Annotations[intent.KeyApprove] = c.plan(t, svc).HeldID
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		if addressOf(svc) == addressOf(other) {
			t.Errorf("two Services have the address %s", addressOf(svc))
		}
	})
}

// An allocation that is newer than the virtual servers of a Service may have another address than they do: the manager
// ended before it changed them.
func TestNewerAllocationHasAddressOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		var armed atomic.Bool
		c := interceptNSXT(t, w, joinCluster(t, w, "cluster"), func(r *http.Request) *http.Response {
			if armed.Load() && r.Method == http.MethodPut && strings.Contains(r.URL.Path, serversPath) {
				return refusal(r)
			}
			return nil
		})
		svc := webService("uid", 80)
		svc.Annotations = map[string]string{}
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		other := releaseByHand(t, w, c, svc)
		armed.Store(true)
		svc.Annotations[intent.KeyApprove] = c.plan(t, svc).HeldID
		if err := c.ensure(t, svc); err == nil {
			t.Fatal("no error")
		}
		armed.Store(false)
		for _, c := range []nsxtCluster{joinAgain(t, w, c), c} {
			svc.Annotations[intent.KeyApprove] = c.plan(t, svc).HeldID
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
			if addressOf(svc) == addressOf(other) {
				t.Errorf("two Services have the address %s", addressOf(svc))
			}
		}
	})
}

// A Service whose virtual servers cannot be created holds one address, however often it chooses another one.
func TestServiceWithoutVirtualServersHoldsOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := interceptNSXT(t, w, joinCluster(t, w, "cluster"), func(r *http.Request) *http.Response {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, serversPath) {
				return refusal(r)
			}
			return nil
		})
		svc := webService("uid", 80)
		for i := range 5 {
			svc.Spec.LoadBalancerIP = fmt.Sprintf("192.0.2.%d", 10+i)
			if err := c.ensure(t, svc); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(10 * time.Second)
		}
		if n := len(objectsOf(t, w, allocationsPath)); n != 1 {
			t.Errorf("%d allocations", n)
		}
	})
}

// Without the UID of the cluster, objects belong to a Service by their IDs, also those with a number.
func TestAddressIsAllocatedWithoutUIDOfCluster(t *testing.T) {
	for name, chosen := range map[string]string{"exhausted pool": "", "address in use": "192.0.2.1"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNSXTWith(t, sim.Options{NSXT: true, Public: netip.MustParsePrefix("192.0.2.0/31")})
				c := joinCluster(t, w, "cluster")
				c.cloud.SetRuntime(provider.Runtime{Recorder: record.NewFakeRecorder(1000)})
				svc := webService("uid", 80)
				svc.Spec.LoadBalancerIP = chosen
				console(t, w, http.MethodPut, allocationsPath+"/hand-made", document{"allocation_ip": "192.0.2.1"})
				for range 4 {
					if err := c.ensure(t, svc); err == nil {
						t.Fatal("no error")
					}
					time.Sleep(10 * time.Second)
				}
				if n := len(objectsOf(t, w, allocationsPath)); n != 2 {
					t.Errorf("%d allocations", n)
				}
				console(t, w, http.MethodDelete, allocationsPath+"/hand-made", nil)
				if err := errors.Join(c.ensure(t, svc), c.remove(t, svc)); err != nil {
					t.Fatal(err)
				}
				expectNothingLeft(t, w)
			})
		})
	}
}

// The address of a Service whose allocation was deleted in NSX-T is reserved again: no other Service gets it.
func TestAddressWithoutAllocationIsReservedAgain(t *testing.T) {
	for name, restart := range map[string]bool{"same process": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNSXT(t)
				c := joinCluster(t, w, "cluster")
				svc := webService("uid", 80)
				if err := c.ensure(t, svc); err != nil {
					t.Fatal(err)
				}
				want := addressOf(svc)
				console(t, w, http.MethodDelete, objectsOf(t, w, allocationsPath)[0]["path"].(string), nil)
				time.Sleep(time.Minute)
				if restart {
					c = joinAgain(t, w, c)
				}
				other := webService("uid-other", 443)
				other.Name, other.Spec.LoadBalancerIP = "other", want
				refused := func(when string) {
					t.Helper()
					if err := c.ensure(t, other); !cloudapi.Is(err, cloudapi.Quota) || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: another Service chooses the address %s: error %v", when, want, err)
					}
				}
				refused("before it is reserved again")
				svc.Spec.Ports = webService("uid", 80, 8080).Spec.Ports
				ensureSoon(t, c, svc, true)
				refused("afterwards")
				if p := c.plan(t, svc); !p.Empty() || len(p.Held) > 0 || addressOf(svc) != want {
					t.Errorf("plan %s, held %v, address %s", plan.Summary(p), p.Held, addressOf(svc))
				}
				if err := errors.Join(c.remove(t, svc), c.remove(t, other)); err != nil {
					t.Fatal(err)
				}
				expectNothingLeft(t, w)
			})
		})
	}
}

// An allocation that NSX-T shows in error for a while stays: its virtual servers have the address.
func TestAllocationInErrorIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80)
		for _, class := range []string{"default", "internal", "default"} {
			svc.Annotations = map[string]string{names.ClassAnnotation: class}
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
		}
		want, path := addressOf(svc), objectsOf(t, w, allocationsPath)[0]["path"].(string)
		var armed atomic.Bool
		armed.Store(true)
		restarted := interceptNSXT(t, w, c, func(r *http.Request) *http.Response {
			if !armed.Load() || r.URL.Query().Get("intent_path") != path {
				return nil
			}
			return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(
				`{"results": [{"state": "ERROR", "alarms": [{"message": "the manager is not reachable"}]}]}`))}
		})
		for range 3 {
			_ = restarted.ensure(t, svc)
			time.Sleep(10 * time.Second)
		}
		armed.Store(false)
		if err := restarted.ensure(t, svc); err != nil || addressOf(svc) != want {
			t.Errorf("address %s, error %v", addressOf(svc), err)
		}
		all := objectsOf(t, w, allocationsPath)
		if len(all) != 1 || all[0]["path"] != path {
			t.Errorf("allocations %v, want %s", all, path)
		}
	})
}

// An edit of the address that is taken back after an interruption leaves the Service the address of its status, however
// many of its virtual servers were moved.
func TestAddressStaysIfItsEditIsTakenBack(t *testing.T) {
	for name, killedAt := range map[string]string{
		"one of three moved": "1 PUT /lb-virtual-servers/", "two of three moved": "2 PUT /lb-virtual-servers/",
		"all moved": "0 DELETE /ip-allocations/",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNSXT(t)
				c := joinCluster(t, w, "cluster")
				svc := webService("uid", 80, 443, 8080)
				if err := withConditions(c).ensure(t, svc); err != nil {
					t.Fatal(err)
				}
				want := addressOf(svc)
				call := strings.Fields(killedAt)
				var left atomic.Int32
				left.Store(int32(call[0][0] - '0'))
				killed := withConditions(interceptNSXT(t, w, c, func(r *http.Request) *http.Response {
					if r.Method == call[1] && strings.Contains(r.URL.Path, call[2]) && left.Add(-1) < 0 {
						return refusal(r)
					}
					return nil
				}))
				svc.Spec.LoadBalancerIP = "192.0.2.77"
				if err := killed.ensure(t, svc); err == nil {
					t.Fatal("no error")
				}
				svc.Spec.LoadBalancerIP = ""
				if err := withConditions(joinAgain(t, w, c)).ensure(t, svc); err != nil {
					t.Fatal(err)
				}
				for _, server := range servers(t, w) {
					if server.address != want {
						t.Errorf("port %s has %s, want %s", server.port, server.address, want)
					}
				}
				if n := len(objectsOf(t, w, allocationsPath)); n != 1 || addressOf(svc) != want {
					t.Errorf("%d allocations, address %s, want %s", n, addressOf(svc), want)
				}
			})
		})
	}
}

// withConditions lets the manager of a cluster write conditions to the status of Services.
func withConditions(c nsxtCluster) nsxtCluster {
	c.cloud.SetRuntime(provider.Runtime{ClusterUID: "cluster", Recorder: record.NewFakeRecorder(1000),
		SetCondition: func(_ context.Context, svc *v1.Service, condition metav1.Condition) error {
			if condition.Status == "" {
				meta.RemoveStatusCondition(&svc.Status.Conditions, condition.Type)
				return nil
			}
			meta.SetStatusCondition(&svc.Status.Conditions, condition)
			return nil
		}})
	return c
}
