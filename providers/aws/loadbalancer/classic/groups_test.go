package classic

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

const managedName = "k8s-elb-a1111111122223333444455555555555"

func named(name string) func(*v1.Service) {
	return func(svc *v1.Service) {
		svc.Name, svc.UID = name, types.UID(strings.Repeat(name[:1], 8)+"-2222-3333-4444-555555555555")
	}
}

func TestManagedGroupHasOnlyWantedRules(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service()
	r.ensure(svc)
	group := r.group(managedName)
	if _, err := r.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: []ec2types.IpPermission{
		{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80), Ipv6Ranges: []ec2types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}},
		{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}},
		{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(443), ToPort: aws.Int32(443), PrefixListIds: []ec2types.PrefixListId{{PrefixListId: aws.String("pl-1")}}},
	}}); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.ensure(svc)
	if got := r.mutations(); !slices.Equal(got, []string{"RevokeSecurityGroupIngress"}) {
		t.Errorf("calls %v", got)
	}
	for _, p := range r.group(managedName).IpPermissions {
		if len(p.Ipv6Ranges)+len(p.PrefixListIds) > 0 || aws.ToInt32(p.FromPort) == 22 {
			t.Errorf("rules by hand stay: %+v", p)
		}
	}
}

// TestManagedGroupIsAdopted pins that a group of our name without tags gets them instead of being made twice.
func TestManagedGroupIsAdopted(t *testing.T) {
	r := newRig(t, sim.Options{})
	id := r.newGroup(managedName)
	r.ensure(service())
	if got := r.balancer().SecurityGroups; !slices.Equal(got, []string{id}) {
		t.Errorf("groups %v, want %s", got, id)
	}
	tags := map[string]string{}
	for _, tag := range r.group(managedName).Tags {
		tags[*tag.Key] = *tag.Value
	}
	if tags["kubernetes.io/cluster/sim"] != "owned" {
		t.Errorf("tags %v", tags)
	}
}

func TestGroupOfAnotherClusterIsRefused(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.newGroup(managedName, ec2types.Tag{Key: aws.String("kubernetes.io/cluster/other"), Value: aws.String("owned")})
	r.mutations()
	err := r.ensureError(service())
	if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), managedName) {
		t.Errorf("error %v", err)
	}
	if got := r.mutations(); len(got) != 0 {
		t.Errorf("calls %v", got)
	}
	r.remove(service())
	if r.group(managedName) == nil {
		t.Error("another cluster's group was deleted")
	}
}

// TestListedGroups pins the way from the managed group to listed ones and back: nothing leaks, and
// the listed groups are never edited nor deleted.
func TestListedGroups(t *testing.T) {
	r := newRig(t, sim.Options{})
	own := ec2types.Tag{Key: aws.String("kubernetes.io/cluster/sim"), Value: aws.String("owned")}
	one, two := r.newGroup("one", own), r.newGroup("two")
	r.ensure(service())
	listed := service(annotate("security-groups", one, "extra-security-groups", two))
	r.ensure(listed)
	if got := r.balancer().SecurityGroups; !slices.Equal(got, []string{one, two}) {
		t.Errorf("groups %v", got)
	}
	if r.group(managedName) != nil {
		t.Error("the managed group leaks")
	}
	if got := r.sourceGroups(); !slices.Equal(got, []string{one}) {
		t.Errorf("nodes let traffic in from %v, want %s", got, one)
	}
	r.ensure(service())
	if got := r.sourceGroups(); !slices.Equal(got, r.balancer().SecurityGroups) {
		t.Errorf("nodes let traffic in from %v, want %v", got, r.balancer().SecurityGroups)
	}
	if g := r.group("one"); g == nil || len(g.IpPermissions) > 0 {
		t.Errorf("the listed group was edited or deleted: %+v", g)
	}
}

// TestSharedGroup pins that the rule of a group that several load balancers use goes with the last of them.
func TestSharedGroup(t *testing.T) {
	var shared string
	r := newRig(t, sim.Options{})
	shared = r.newGroup("shared")
	r.settings.SecurityGroup = shared
	r.restart()
	a, b := service(named("aaa")), service(named("bbb"))
	r.ensure(a)
	r.ensure(b)
	if got := r.sourceGroups(); !slices.Equal(got, []string{shared}) {
		t.Fatalf("nodes let traffic in from %v", got)
	}
	r.restart()
	r.remove(a)
	if got := r.sourceGroups(); !slices.Equal(got, []string{shared}) {
		t.Errorf("the rule that another load balancer needs is missing")
	}
	r.remove(b)
	if got := r.sourceGroups(); len(got) != 0 {
		t.Errorf("the last one left the rule behind")
	}
	if r.group("shared") == nil {
		t.Error("the shared group was deleted")
	}
}

func TestDisabledIngress(t *testing.T) {
	r := newRig(t, sim.Options{}, func(o *Options) { o.NoNodeRules = true })
	r.ensure(service())
	if got := r.sourceGroups(); len(got) != 0 {
		t.Errorf("nodes let traffic in from %v", got)
	}
	r.remove(service())
	if r.group(managedName) != nil {
		t.Error("the managed group leaks")
	}
}

// TestSeveralNodeGroups pins that an instance with several groups of the cluster gets the rule in
// each, and one without any clear group is named.
func TestSeveralNodeGroups(t *testing.T) {
	r := newRig(t, sim.Options{})
	more := r.newGroup("more", ec2types.Tag{Key: aws.String("kubernetes.io/cluster/sim"), Value: aws.String("shared")})
	nodes := *r.group("nodes.sim").GroupId
	r.setGroups(r.nodes[0], nodes, more)
	r.ensure(service())
	found := 0
	for _, p := range r.group("more").IpPermissions {
		found += len(p.UserIdGroupPairs)
	}
	if found != 1 || len(r.sourceGroups()) != 1 {
		t.Errorf("rules: %d in one group, %d in the other", found, len(r.sourceGroups()))
	}
}

func TestAmbiguousNodeGroupIsRefused(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.setGroups(r.nodes[0], r.newGroup("x"), r.newGroup("y"))
	err := r.ensureError(service())
	if !strings.Contains(err.Error(), r.nodes[0].Spec.ProviderID) || !strings.Contains(err.Error(), "kubernetes.io/cluster/sim=owned") {
		t.Errorf("message %v", err)
	}
	if got := r.mutations(); len(got) != 0 {
		t.Errorf("calls %v", got)
	}
}

func (r *rig) setGroups(node *v1.Node, groups ...string) {
	r.t.Helper()
	if _, err := r.ec2.ModifyInstanceAttribute(r.t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: aws.String(node.Spec.ProviderID), Groups: groups}); err != nil {
		r.t.Fatal(err)
	}
	r.restart()
}

// TestForeign pins that another cluster's load balancer is refused and survives, and that one of
// ours without tags is taken over.
func TestForeign(t *testing.T) {
	for _, tc := range []struct {
		name    string
		tags    map[string]string
		foreign bool
	}{
		{"another cluster's", map[string]string{"kubernetes.io/cluster/other": "owned"}, true},
		{"another cluster's, by the legacy tag", map[string]string{"KubernetesCluster": "other"}, true},
		{"without any mark", nil, false},
		{"ours", map[string]string{"kubernetes.io/cluster/sim": "owned", "kubernetes.io/service-name": "default/web"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			svc := service()
			r.ensure(svc)
			name := Name(lbcommon.Key{UID: svc.UID})
			if _, err := r.elb.RemoveTags(t.Context(), &elb.RemoveTagsInput{LoadBalancerNames: []string{name}, Tags: tagKeys("kubernetes.io/cluster/sim", "kubernetes.io/service-name")}); err != nil {
				t.Fatal(err)
			}
			if len(tc.tags) > 0 {
				if _, err := r.elb.AddTags(t.Context(), &elb.AddTagsInput{LoadBalancerNames: []string{name}, Tags: toTags(tc.tags)}); err != nil {
					t.Fatal(err)
				}
			}
			r.restart()
			if tc.foreign {
				if err := r.ensureError(svc); !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), name) {
					t.Errorf("error %v", err)
				}
				r.remove(svc)
				if len(r.sim.LoadBalancers()) != 1 {
					t.Error("another cluster's load balancer was deleted")
				}
				if got := r.mutations(); len(got) != 0 {
					t.Errorf("calls %v", got)
				}
				return
			}
			r.ensure(svc)
			r.remove(svc)
			if len(r.sim.LoadBalancers()) != 0 {
				t.Error("the load balancer was not deleted")
			}
		})
	}
}
