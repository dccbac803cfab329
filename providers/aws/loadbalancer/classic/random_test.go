package classic

import (
	"math/rand/v2"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestRandomChanges walks one Service through random changes, with faults and restarts on the way:
// after every step a manager that knows nothing finds what is wanted, and at the end nothing is left.
func TestRandomChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	r := newRig(t, sim.Options{})
	before := r.sim.Objects()
	subnets := r.publicSubnets()
	groups := []string{r.newGroup("one"), r.newGroup("two"), r.newGroup("three")}
	some := func(list []string, least int) string {
		n := least + random.IntN(len(list)-least+1)
		order := random.Perm(len(list))[:n]
		picked := make([]string, n)
		for i, at := range order {
			picked[i] = list[at]
		}
		return strings.Join(picked, ",")
	}
	variants := []func(*v1.Service){
		local,
		annotate("proxy-protocol", "*"),
		annotate("ssl-cert", certificate),
		annotate("ssl-cert", otherCertificate, "ssl-ports", "443"),
		annotate("ssl-cert", certificate, "ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01"),
		annotate("ssl-cert", certificate, "backend-protocol", "https"),
		annotate("backend-protocol", "http"),
		annotate("additional-resource-tags", "a=b,c=d"),
		annotate("additional-resource-tags", "c=e"),
		annotate("access-log-enabled", "true", "access-log-s3-bucket-name", "b"),
		annotate("connection-draining-enabled", "true", "connection-draining-timeout", "30", "connection-idle-timeout", "70"),
		annotate("healthcheck-interval", "30"),
		func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] },
		func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 32080 },
		func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "192.0.2.0/24"} },
		func(svc *v1.Service) { annotate("subnets", some(subnets[:3], 1))(svc) },
		func(svc *v1.Service) { annotate("security-groups", some(groups, 1))(svc) },
		func(svc *v1.Service) { annotate("extra-security-groups", some(groups, 1))(svc) },
	}
	var svc *v1.Service
	for step := range 120 {
		svc = service()
		for range random.IntN(5) {
			variants[random.IntN(len(variants))](svc)
		}
		if random.IntN(3) == 0 {
			r.nodes = append(r.nodes[1:], r.nodes[0])
			r.nodes = r.nodes[:2+random.IntN(len(r.nodes)-1)]
			r.launch()
		}
		if random.IntN(4) == 0 {
			r.restart()
		}
		r.setFault(kit.Fault{Kind: []kit.FaultKind{kit.FaultError, kit.FaultThrottle, kit.FaultLostReply}[random.IntN(3)], Rate: 0.05, Times: kit.Always})
		r.until(func() error {
			_, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes)
			return err
		})
		r.sim.Front().SetFaults()
		if err := r.manager.WriteRecords(t.Context()); err != nil { // of a plan whose record alone had failed
			t.Fatal(err)
		}
		keep := r.manager
		r.restart()
		if p := r.remaining(svc); !p.Empty() {
			t.Fatalf("step %d, %v: left to do: %v", step, svc.Annotations, p.Changes)
		}
		if random.IntN(2) == 0 {
			r.manager = keep
		}
	}
	r.remove(svc)
	after := r.sim.Objects()
	if after["security-groups"] != before["security-groups"]+len(groups) || after["classic-load-balancers"] != 0 || len(r.sourceGroups()) != 0 {
		t.Errorf("objects before %v, after %v, rules %v", before, after, r.sourceGroups())
	}
}
