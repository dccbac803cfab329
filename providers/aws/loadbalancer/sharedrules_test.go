package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestSharedHealthRuleOfTakenOverLoadBalancerStays verifies that a load balancer with a security group keeps the rule
// for its probes that an earlier manager wrote, when the load balancer whose name is in the rule is deleted.
func TestSharedHealthRuleOfTakenOverLoadBalancerStays(t *testing.T) {
	a := adoption{settings: func(s *Settings) { s.ManagedGroups = true }, svc: service(local)}
	r := a.rig(t)
	manager := oldManager{r, t.Context()}
	manager.network(networkShape{managed: true, local: true})
	deleted := service(func(s *v1.Service) {
		s.Name, s.UID = "deleted", types.UID("89abcdef-4567-89ef-0123-456789abcdef")
	})
	_, networks := manager.publicSubnets()
	group := manager.nodeGroup()
	if _, err := r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{
		GroupId: &group, IpPermissions: []ec2types.IpPermission{cidr("tcp", 31000, 31000, "", networks...)},
	}); err != nil {
		t.Fatal(err)
	}
	rule := names.HealthRule(names.LoadBalancerName(deleted.UID))
	manager.authorize(group, cidr("tcp", 31000, 31000, rule, networks...))
	r.restart()
	r.ensure(a.svc)
	r.noMutations("taking over")

	r.remove(deleted)
	var want []string
	for _, network := range networks {
		want = append(want, "tcp 31000-31000 "+network+" "+oldHealthRule)
	}
	slices.Sort(want)
	got := slices.DeleteFunc(r.rules(), func(rule string) bool { return !strings.HasPrefix(rule, "tcp 31000-") })
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("rules for probes %q, want %q", got, want)
	}
	r.steady(a.svc)
}

// TestSharedHealthRuleStaysIfEC2IsBusy deletes the load balancer whose name is in a rule for probes that another one
// needs as well, while EC2 is too busy to write the rule again for that one.
func TestSharedHealthRuleStaysIfEC2IsBusy(t *testing.T) {
	r := newRig(t, sim.Options{}, func(s *Settings) { s.Shared = &annotation.SharedProbe{Port: 10256, Path: "/healthz"} })
	other := service(func(s *v1.Service) {
		s.Name, s.UID = "other", types.UID("89abcdef-4567-89ef-0123-456789abcdef")
		s.Spec.Ports = s.Spec.Ports[:1]
		s.Spec.Ports[0].NodePort = 31080
	})
	r.ensure(service())
	r.ensure(other)
	probes := func() []string {
		return slices.DeleteFunc(r.rules(), func(rule string) bool { return !strings.HasPrefix(rule, "tcp 10256-") })
	}
	before := probes()
	r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Operation: "AuthorizeSecurityGroupIngress", Times: 2})
	r.insist("delete", func() error { return r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, service()) })
	if got := probes(); len(before) == 0 || len(got) != len(before) {
		t.Errorf("rules for probes %q, want as many as %q", got, before)
	}
	r.steady(other)
}
