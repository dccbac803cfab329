package classic

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestDeletionRetriesSecurityGroupInUse pins that no worker waits for AWS to release the security group: the
// deletion says when to come back.
func TestDeletionRetriesSecurityGroupInUse(t *testing.T) {
	r := newRig(t, sim.Options{ReleaseTime: time.Minute})
	svc := service()
	r.ensure(svc)
	r.mutations()
	err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, svc)
	var retry *api.RetryError
	if !errors.As(err, &retry) || retry.RetryAfter() != 2*time.Second {
		t.Errorf("error %v, want one that says to come back in 2 s", err)
	}
	if _, exists, err := r.manager.GetLoadBalancer(t.Context(), clusterName, svc); !exists || err != nil {
		t.Errorf("exists %t, error %v, while its group is left", exists, err)
	}
	r.restart() // a new manager finds the group by its name
	r.remove(svc)
	if r.group(managedName) != nil {
		t.Error("the group leaks")
	}
	if _, exists, err := r.manager.GetLoadBalancer(t.Context(), clusterName, svc); exists || err != nil {
		t.Errorf("exists %t, error %v, after the end", exists, err)
	}
}

// TestDeletionFindsOrphans pins that orphans are found although the load balancer was deleted.
func TestDeletionFindsOrphans(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service()
	r.ensure(svc)
	if err := r.sim.DeleteLoadBalancer("a1111111122223333444455555555555"); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.remove(svc)
	if r.group(managedName) != nil || len(r.sourceGroups()) != 0 {
		t.Errorf("orphans: group %v, rules %v", r.group(managedName), r.sourceGroups())
	}
}

// TestDeletionWithinCallBudget pins what a deletion costs.
func TestDeletionWithinCallBudget(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service()
	r.ensure(svc)
	r.mutations()
	r.remove(svc)
	if got := r.lbCalls(); got > 8 {
		t.Errorf("%d calls: %v", got, operations(r.sim.Front().Log().Calls()))
	}
}

// TestFaultAtEveryCall lets every single call of every step go wrong in every way, and then tries again:
// everything converges, and nothing is doubled or left behind.
func TestFaultAtEveryCall(t *testing.T) {
	first := service(annotate("ssl-cert", certificate, "ssl-ports", "443", "proxy-protocol", "*", "additional-resource-tags", "a=b"))
	second := service(local, annotate("ssl-cert", otherCertificate, "ssl-ports", "443", "ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01",
		"additional-resource-tags", "c=d", "connection-idle-timeout", "90"))
	second.Spec.Ports[0].NodePort = 31080
	second.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	injected := 0
	for _, kind := range []kit.FaultKind{kit.FaultError, kit.FaultThrottle, kit.FaultLostReply} {
		for _, step := range []string{"create", "change", "delete"} {
			for k := 1; ; k++ {
				r := newRig(t, sim.Options{})
				before := r.sim.Objects()
				if step != "create" {
					r.ensure(first)
				}
				r.restart()
				r.setFault(kit.Fault{Kind: kind, Call: k})
				switch step {
				case "create":
					r.until(func() error {
						_, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, first, r.nodes)
						return err
					})
				case "change":
					r.until(func() error {
						_, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, second, r.nodes)
						return err
					})
				default:
					r.until(func() error { return r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, first) })
				}
				hit := r.sim.Front().Injected()
				r.setFault(kit.Fault{Kind: kind, Call: 1 << 30})
				r.check(step, kind, k, map[string]any{"create": first, "change": second}[step], before)
				if hit == 0 {
					break
				}
				injected += hit
			}
		}
	}
	t.Logf("%d faults injected", injected)
}

// TestDeletionRevokesRulesThatReferToGroup pins that rules in groups without the cluster's tag are found when they keep
// the security group of a load balancer from being deleted, by a manager that has never seen them.
func TestDeletionRevokesRulesThatReferToGroup(t *testing.T) {
	r := newRig(t, sim.Options{})
	only := r.newGroup("only")
	for _, node := range r.nodes {
		r.setGroups(node, only)
	}
	svc := service()
	r.ensure(svc)
	if got := len(r.group("only").IpPermissions); got != 1 {
		t.Fatalf("%d rules in the only group of the nodes", got)
	}
	r.restart()
	r.remove(svc)
	if got := len(r.group("only").IpPermissions); got != 0 || r.group(managedName) != nil {
		t.Errorf("%d rules are left, and the group %v", got, r.group(managedName))
	}
}

// TestDeletionNamesForeignRulesThatReferToGroup pins that a rule of another owner is not removed but named.
func TestDeletionNamesForeignRulesThatReferToGroup(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service()
	r.ensure(svc)
	mine := r.newGroup("mine")
	permission := []ec2types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(9000), ToPort: aws.Int32(9000),
		UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: r.group(managedName).GroupId}}}}
	if _, err := r.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &mine, IpPermissions: permission}); err != nil {
		t.Fatal(err)
	}
	err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, svc)
	if !cloudapi.Is(err, cloudapi.Conflict) || !strings.Contains(err.Error(), mine+" (mine): tcp 9000") {
		t.Errorf("error %v", err)
	}
	if _, err := r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &mine, IpPermissions: permission}); err != nil {
		t.Fatal(err)
	}
	r.remove(svc)
}
