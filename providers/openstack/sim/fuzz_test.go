package sim

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// FuzzRequest sends bodies to every operation: the response may be an error of the client, but no internal error.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{`{}`, `null`, `{"port": null}`, balancerBody("SUBNET"), `{"port": {"network_id": "NETWORK", "fixed_ips": [{}]}}`,
		`{"members": [{"address": "1.1.1.1", "protocol_port": 1}, null]}`, `{"listener": {"protocol": "TCP", "protocol_port": 1, "loadbalancer_id": "ID", "default_pool": {}}}`,
		`{"security_group_rule": {"security_group_id": "GROUP", "direction": "ingress", "protocol": 6, "port_range_min": 1}}`,
		`{"floatingip": {"floating_network_id": "PUBLIC", "port_id": 5}}`, `{"router": {"routes": [{"destination": "::/0", "nexthop": "x"}]}}`,
		`{"auth": {"identity": {"methods": ["token"]}, "scope": "unscoped"}}`, `{"pool": {"protocol": "UDP", "lb_algorithm": null, "loadbalancer_id": "ID", "session_persistence": {"type": "SOURCE_IP"}}}`} {
		f.Add(body, uint64(1))
	}
	f.Fuzz(func(t *testing.T, body string, seed uint64) {
		cloud, k := newClient(t, Options{IPv6: true})
		if _, err := cloud.Launch(world.Machine{Name: "a"}); err != nil {
			t.Fatal(err)
		}
		p := cloud.Places()
		made := k.do("POST", "/load-balancer/v2.0/lbaas/loadbalancers", balancerBody(p.PrivateSubnet))
		ids := append(idsIn(made.body), p.PrivateNetwork, p.PrivateSubnet, p.Router, p.DefaultGroup, cloud.Server("a"), "x")
		body = strings.NewReplacer("SUBNET", p.PrivateSubnet, "NETWORK", p.PrivateNetwork, "GROUP", p.DefaultGroup, "PUBLIC",
			p.PublicNetwork, "ID", ids[0]).Replace(body)
		random := rand.New(rand.NewPCG(seed, 0))
		operations := catalogue()
		for _, service := range core.SortedKeys(operations) {
			for _, o := range operations[service] {
				path := "/" + service + "/" + core.VersionOf(service)
				for _, part := range o.Path {
					if strings.HasPrefix(part, "{") && part != "{kind}" {
						part = ids[random.IntN(len(ids))]
					}
					path += "/" + part
				}
				if r := k.do(o.Method, path, body); r.status >= 500 && r.status != http.StatusNotImplemented {
					t.Fatalf("%s %s: %d %s", o.Method, path, r.status, r.body)
				}
				if err := cloud.Check(); err != nil {
					t.Fatalf("after %s %s: %v", o.Method, path, err)
				}
			}
		}
	})
}
