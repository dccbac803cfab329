package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// With every version of Octavia's API and each provider, a Service either gets its load balancer,
// and nothing is left to change, or it is refused before the first change.
func TestEveryOctaviaVersion(t *testing.T) {
	local := func(s *v1.Service) {
		s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	}
	protocol := func(p v1.Protocol) func(*v1.Service) {
		return func(s *v1.Service) {
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].Protocol = p
			}
		}
	}
	services := map[string][]func(*v1.Service){
		"plain": nil,
		"dual stack": {internal, func(s *v1.Service) {
			s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
		}},
		"PROXY v1":          {annotate("proxy-protocol", "v1")},
		"PROXY v2":          {annotate("proxy-protocol", "v2")},
		"SCTP":              {protocol(v1.ProtocolSCTP)},
		"SCTP with probes":  {protocol(v1.ProtocolSCTP), annotate("enable-health-monitor", "true")},
		"UDP with Local":    {protocol(v1.ProtocolUDP), local},
		"TCP with Local":    {local},
		"source ranges":     {func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }},
		"session affinity":  {func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }},
		"flavor and zone":   {annotate("flavor-id", "{flavor-large}", "availability-zone", "az-2")},
		"timeouts and tags": {annotate("timeout-client-data", "60000", "load-balancer-tags", "team-web")},
		"SOURCE_IP_PORT":    {annotate("lb-method", "SOURCE_IP_PORT")},
	}
	for minor := range 28 {
		if testing.Short() && !slices.Contains([]int{0, 4, 11, 12, 13, 15, 21, 22, 25, 26, 27}, minor) {
			continue
		}
		for _, driver := range []string{onAmphora, model.ProviderOVN} {
			t.Run(fmt.Sprintf("2.%d %s", minor, driver), func(t *testing.T) {
				t.Parallel()
				for name, change := range services {
					o := sim.Options{IPv6: true, OctaviaVersion: fmt.Sprintf("2.%d", minor)}
					bubble(t, o, Settings{Provider: driver}, func(r *rig) {
						r.name()
						svc := service(change...)
						for key, value := range svc.Annotations {
							svc.Annotations[key] = r.named.Expand(value)
						}
						r.sim.Front().Log().Reset()
						_, err := r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
						if err != nil {
							if m := r.mutations(); !cloudapi.Is(err, cloudapi.Invalid) || len(m) > 0 {
								r.t.Errorf("%s: error %v after the changes %v", name, err, m)
							}
							r.unname()
							return
						}
						if name == "dual stack" {
							r.wantDualStack(driver, minor)
						}
						r.steady(svc)
						r.launch("node-9")
						r.update(svc)
						r.remove(svc)
						r.unname()
					})
				}
			})
		}
	}
}

// wantDualStack checks that a Service of two families has two addresses, or a warning that says why not.
func (r *rig) wantDualStack(driver string, minor int) {
	r.t.Helper()
	can := minor >= 27 || minor == 26 && driver == onAmphora
	if vips := len(r.made().AdditionalVips); can != (vips == 1) {
		r.t.Errorf("%d additional VIPs", vips)
	}
	if !can {
		r.wantEvent("has an IPv4 address only")
	}
}

// unreadableVersions is an API whose document of versions cannot be read.
type unreadableVersions struct {
	*api.Clients
	readable *bool
}

func (u unreadableVersions) ListVersions(ctx context.Context) ([]string, error) {
	if *u.readable {
		return u.Clients.ListVersions(ctx)
	}
	return nil, &cloudapi.Error{Class: cloudapi.Denied, Operation: "ListVersions", Err: errors.New("HTTP 403")}
}

// Unreadable versions of Octavia's API stop nothing: load balancers keep their settings, members follow the nodes, and
// new ones are created. A version that was read once counts on.
func TestUnreadableVersions(t *testing.T) {
	for name, known := range map[string]bool{"from the start": false, "after they were read": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service(local, func(s *v1.Service) {
					s.Spec.Ports[1].Protocol = v1.ProtocolUDP
					s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
				}, annotate("enable-health-monitor", "true", "timeout-client-data", "60000"))
				r.ensure(svc)
				readable := known
				r.wrap = func(c *api.Clients) API { return unreadableVersions{Clients: c, readable: &readable} }
				r.restart()
				r.ensure(svc)
				readable = false
				r.sleep(2 * time.Hour)
				r.ensure(svc)
				if m := r.mutations(); len(m) > 0 {
					r.t.Errorf("changes %v", m)
				}
				if !known {
					r.wantEvent("cannot be read")
				}
				r.launch("joins")
				r.update(svc)
				if n := len(r.membersAt(80)); n != len(r.nodes) {
					r.t.Errorf("%d members, want %d", n, len(r.nodes))
				}
				r.remove(svc)
				other := service(named("other"))
				r.ensure(other)
				r.remove(other)
				r.nothing()
			})
		})
	}
}
