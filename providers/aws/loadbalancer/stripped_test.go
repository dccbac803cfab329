package loadbalancer

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// The tests in this file remove tags behind the manager's back, as jobs that enforce a tag policy do.

// parts returns the ARNs of the network load balancer, its listeners and all target groups.
func (r *rig) parts() []string {
	r.t.Helper()
	ctx := r.t.Context()
	balancer := r.balancer(webName).LoadBalancerArn
	arns := []string{*balancer}
	for _, g := range must(r.elbv2.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{}))(r.t).TargetGroups {
		arns = append(arns, *g.TargetGroupArn)
	}
	in := &elbv2.DescribeListenersInput{LoadBalancerArn: balancer}
	for _, l := range must(r.elbv2.DescribeListeners(ctx, in))(r.t).Listeners {
		arns = append(arns, *l.ListenerArn)
	}
	return arns
}

// strip removes the tags with these prefixes from the network load balancer and all its parts.
func (r *rig) strip(prefixes ...string) {
	r.t.Helper()
	for _, arn := range r.parts() {
		var keys []string
		for key := range r.tagsOf(&arn) {
			if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
				keys = append(keys, key)
			}
		}
		if len(keys) > 0 {
			must(r.elbv2.RemoveTags(r.t.Context(), &elbv2.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: keys}))(r.t)
		}
	}
}

// stripped are the tags that jobs remove: those of Kubernetes, and all.
func stripped() map[string][]string {
	return map[string][]string{
		"tags of Kubernetes": {"kubernetes.io/"}, "all tags": {""}, "all but the Service": {"kubernetes.io/cluster", "unified-ccm.io/"},
	}
}

func TestLoadBalancerWithoutTagsFollowsItsService(t *testing.T) {
	for name, prefixes := range stripped() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			before := r.bare()
			r.ensure(service())
			r.strip(prefixes...)
			r.restart()
			r.ensure(service())
			r.updateTo(service(), "d")
			if calls := r.calls(); !strings.Contains(calls, "RegisterTargets") {
				t.Errorf("a node joins by %s", calls)
			}
			changed := service(annotate(annotation.KeyCrossZone, "true"))
			changed.Spec.Ports = changed.Spec.Ports[:1]
			r.ensure(changed)
			for _, arn := range r.parts() {
				if got := r.tagsOf(&arn)["kubernetes.io/cluster/sim"]; got != "owned" {
					t.Errorf("%s is not marked again with the next change", arn)
				}
			}
			r.steady(changed)
			r.remove(changed)
			before["instances"]++
			r.sameInventory(before)
		})
	}
}

func TestInvalidServiceFollowsNodesWithoutTags(t *testing.T) {
	r := newRig(t, sim.Options{})
	status := r.ensure(service())
	r.strip("")
	r.restart()
	invalid := service(annotate(annotation.KeyCrossZone, "perhaps"))
	invalid.Status.LoadBalancer = *status
	r.updateTo(invalid, "d")
	if calls := r.calls(); !strings.Contains(calls, "RegisterTargets") {
		t.Errorf("a node joins by %s", calls)
	}
}

// TestDeletionWithoutTagsLeavesNothing also interrupts the deletion, after which no load balancer proves whose the
// target groups are.
func TestDeletionWithoutTagsLeavesNothing(t *testing.T) {
	for name, prefixes := range stripped() {
		for _, interruptAt := range []string{"", "DeleteLoadBalancer", "DeleteTargetGroup"} {
			t.Run(name+", interrupted at "+interruptAt, func(t *testing.T) {
				r := newRig(t, sim.Options{})
				before := r.bare()
				r.ensure(service())
				r.strip(prefixes...)
				r.restart()
				if interruptAt != "" {
					r.interrupt(interruptAt, func() {
						_ = r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, service())
					})
				}
				r.remove(service())
				r.sameAs(t, before)
				if rules := r.rules(); len(rules) != 0 {
					t.Errorf("rules are left on nodes: %q", rules)
				}
			})
		}
	}
}

// TestSurplusTargetGroupWithoutTagsIsDeleted removes a port, and ends the manager when the listener is deleted.
func TestSurplusTargetGroupWithoutTagsIsDeleted(t *testing.T) {
	for name, change := range map[string]func(*v1.Service){
		"port is removed":      func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] },
		"node port is changed": func(s *v1.Service) { s.Spec.Ports[1].NodePort = 30444 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			r.ensure(service())
			r.strip("")
			r.clock.Step(time.Hour) // the manager reads the tags again, and knows what it applied
			r.interrupt("DeleteTargetGroup", func() {
				_, _ = r.manager.EnsureLoadBalancer(t.Context(), clusterName, service(change), r.nodes)
				if calls := r.log().Count(); calls["DeleteListener"]+calls["ModifyListener"] == 0 {
					t.Fatalf("no listener leaves its target group: %v", calls)
				}
			})
			r.ensure(service(change))
			r.clock.Step(time.Hour)
			r.ensure(service(change))
			groups := must(r.elbv2.DescribeTargetGroups(t.Context(), &elbv2.DescribeTargetGroupsInput{}))(t).TargetGroups
			for _, g := range groups {
				if len(g.LoadBalancerArns) == 0 {
					t.Errorf("target group %s is left", *g.TargetGroupName)
				}
			}
			r.steady(service(change))
		})
	}
}

// TestMarkOfAnotherOwnerRefuses gives a load balancer with the Service's name the tags of others.
func TestMarkOfAnotherOwnerRefuses(t *testing.T) {
	for name, tags := range map[string]map[string]string{
		"another cluster":                {"kubernetes.io/cluster/other": "owned"},
		"another cluster, legacy tag":    {"KubernetesCluster": "other"},
		"another cluster of our ID":      {"kubernetes.io/cluster/sim": "owned", "unified-ccm.io/cluster-uid": "cluster-2"},
		"another cluster, UID only":      {"unified-ccm.io/cluster-uid": "cluster-2"},
		"another Service":                {"kubernetes.io/service-name": "default/other"},
		"AWS Load Balancer Controller's": {"elbv2.k8s.aws/cluster": "other"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			r.ensure(service())
			r.strip("")
			for key, value := range tags {
				for _, arn := range r.parts() {
					must(r.elbv2.AddTags(t.Context(), &elbv2.AddTagsInput{ResourceArns: []string{arn},
						Tags: []elbv2types.Tag{{Key: awssdk.String(key), Value: awssdk.String(value)}}}))(t)
				}
			}
			r.restart()
			before := r.bare()
			r.ensureError(service(), webName, "left alone")
			_ = r.manager.UpdateLoadBalancer(t.Context(), clusterName, service(), r.nodes[:2])
			r.noMutations("an update")
			r.remove(service())
			after := r.bare()
			// The rules on nodes have the name of the load balancer, which nobody else writes.
			maps.DeleteFunc(before, func(k string, _ int) bool { return strings.Contains(k, "rule") })
			maps.DeleteFunc(after, func(k string, _ int) bool { return strings.Contains(k, "rule") })
			if !maps.Equal(before, after) {
				t.Errorf("objects\nbefore %v\nafter  %v", before, after)
			}
		})
	}
}

// interrupt ends the manager before a call of an operation, and starts another one.
func (r *rig) interrupt(operation string, during func()) {
	r.t.Helper()
	r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultKillBefore, Operation: operation, Times: 1})
	r.sim.Front().OnKill(func() {})
	during()
	r.sim.Front().SetFaults()
	r.sim.Front().Revive()
	r.restart()
}
