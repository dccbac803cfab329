package vsphere_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

const otherProfile = "/infra/lb-app-profiles/other"

// reconfigured returns the cluster with a manager that has another configuration.
func (c nsxtCluster) reconfigured(t testing.TB, w *sim.Cloud, change func(lines string) string) nsxtCluster {
	t.Helper()
	cloud, err := newCloud(change(nsxtLines(false)), w)
	if err != nil {
		t.Fatal(err)
	}
	cloud.SetRuntime(provider.Runtime{ClusterUID: "cluster", Recorder: record.NewFakeRecorder(1000)})
	return nsxtCluster{cloud: cloud, nodes: c.nodes}
}

// serverShown are the settings of a virtual server that another configuration does not change by itself.
type serverShown struct{ port, address, profile, pool, class string }

// servers returns the virtual servers by port.
func servers(t testing.TB, w *sim.Cloud) []serverShown {
	t.Helper()
	var out []serverShown
	for _, server := range objectsOf(t, w, serversPath) {
		tags := map[string]string{}
		for _, tag := range server["tags"].([]any) {
			tag := tag.(map[string]any)
			tags[fmt.Sprint(tag["scope"])] = fmt.Sprint(tag["tag"])
		}
		profile := fmt.Sprint(server["application_profile_path"])
		out = append(out, serverShown{fmt.Sprint(server["ports"]), fmt.Sprint(server["ip_address"]),
			profile[strings.LastIndex(profile, "/")+1:], tags[names.TagPool], tags[names.TagClass]})
	}
	slices.SortFunc(out, func(a, b serverShown) int { return strings.Compare(a.port, b.port) })
	return out
}

// What another configuration would change of existing virtual servers stays as it is, also beside an edit. A further
// port has the same address, with its pool and class, and the new profile.
func TestHeldConfigurationKeepsExistingValues(t *testing.T) {
	const profile = "default-tcp-lb-app-profile"
	before := serverShown{"[80]", "192.0.2.1", profile, nsxt.PublicPool, "default"}
	further := before
	further.port = "[8443]"
	for name, tc := range map[string]struct {
		change  func(lines string) string
		further func(*serverShown)
		// moved is what the approval changes.
		moved func(*serverShown)
	}{
		"another application profile": {
			change: func(lines string) string {
				return strings.Replace(lines, "size = LARGE", "size = LARGE\ntcp-app-profile-path = "+otherProfile, 1)
			},
			further: func(s *serverShown) { s.profile = "other" },
			moved:   func(s *serverShown) { s.profile = "other" },
		},
		"another pool": {
			change: func(lines string) string {
				return strings.Replace(lines, "ip-pool-name = "+nsxt.PublicPool, "ip-pool-name = "+nsxt.InternalPool, 1)
			},
			moved: func(s *serverShown) { s.pool, s.address = nsxt.InternalPool, "" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNSXT(t)
				console(t, w, http.MethodPut, otherProfile, document{"resource_type": "LBFastTcpProfile"})
				c := joinCluster(t, w, "cluster")
				svc := webService("uid", 80)
				svc.Annotations = map[string]string{}
				if err := c.ensure(t, svc); err != nil {
					t.Fatal(err)
				}
				if got := servers(t, w); !slices.Equal(got, []serverShown{before}) {
					t.Fatalf("created %v", got)
				}
				c = c.reconfigured(t, w, tc.change)
				kept := servers(t, w)[0]
				want := []serverShown{kept}
				expect := func(when string) {
					t.Helper()
					if err := c.ensure(t, svc); err != nil {
						t.Fatalf("%s: %v", when, err)
					}
					if got := servers(t, w); !slices.Equal(got, want) {
						t.Errorf("%s: %v, want %v", when, got, want)
					}
					if p := c.plan(t, svc); !p.Empty() || len(p.Held) == 0 {
						t.Errorf("%s: plan %s, held %v", when, plan.Summary(p), p.Held)
					} else {
						onlyDisruptive(t, p)
					}
				}
				expect("another configuration")
				svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: 8443, NodePort: 38443})
				added := further
				if tc.further != nil {
					tc.further(&added)
				}
				want = append(want, added)
				expect("a further port")
				c.nodes = c.nodes[:1]
				expect("a node leaves")
				svc.Annotations[intent.KeyApprove] = c.plan(t, svc).HeldID
				if err := c.ensure(t, svc); err != nil {
					t.Fatal(err)
				}
				got := servers(t, w)
				for i := range want {
					tc.moved(&want[i])
					if want[i].address == "" { // of the other pool
						want[i].address = got[0].address
					}
				}
				if !slices.Equal(got, want) || got[0] == kept {
					t.Errorf("approved: %v, want %v", got, want)
				}
			})
		})
	}
}

// plan returns the plan of a Service.
func (c nsxtCluster) plan(t testing.TB, svc *v1.Service) plan.Plan {
	t.Helper()
	lb, _ := c.cloud.LoadBalancer()
	p, err := lb.(loadbalancer.Planner).PlanLoadBalancer(t.Context(), "kubernetes", svc, c.nodes, loadbalancer.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// onlyDisruptive fails if a plan holds anything but disruptive differences.
func onlyDisruptive(t *testing.T, p plan.Plan) {
	t.Helper()
	for _, h := range p.Held {
		if !h.Disrupts.Severe() {
			t.Errorf("held: %s", h.Ref)
		}
		for _, f := range h.Fields {
			if !f.Disrupts.Severe() {
				t.Errorf("held: %s of %s", f.Name, h.Ref)
			}
		}
	}
}
