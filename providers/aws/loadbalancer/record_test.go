package loadbalancer

import (
	"slices"
	"testing"
	"time"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	v1 "k8s.io/api/core/v1"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// plannedRecord returns the fields of the record that a plan would write; false if it writes none.
func (r *rig) plannedRecord(svc *v1.Service) (before, after string, planned bool) {
	r.t.Helper()
	p, err := r.manager.PlanLoadBalancer(r.t.Context(), clusterName, svc, r.nodes, lbcommon.PlanOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range p.Changes {
		if c.Kind == lbcommon.KindRecord {
			return c.Fields[0].Before, c.Fields[0].After, true
		}
	}
	return "", "", false
}

func TestLoadBalancerWithoutRecordGetsOneWithNextChange(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service()
	r.ensure(svc)
	arn := r.balancer(webName).LoadBalancerArn
	created := r.tagsOf(arn)
	if created[names.AppliedTag] == "" || created[names.TargetsTag] == "" {
		t.Fatalf("tags %v: the creation writes no record", created)
	}
	_, err := r.elbv2.RemoveTags(t.Context(), &elbv2.RemoveTagsInput{ResourceArns: []string{*arn}, TagKeys: []string{names.AppliedTag, names.TargetsTag}})
	if err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Hour)
	r.restart()
	r.ensure(svc)
	r.noMutations("taking over a load balancer without a record")
	if _, _, planned := r.plannedRecord(svc); planned {
		t.Error("the record alone is a change")
	}
	changed := service(annotate(annotation.KeyCrossZone, "true"))
	before, after, planned := r.plannedRecord(changed)
	if !planned || before != "" || after == "" {
		t.Errorf("the plan writes the record %t: %q → %q", planned, before, after)
	}
	r.ensure(changed)
	if tags := r.tagsOf(arn); tags[names.AppliedTag] == created[names.AppliedTag] || tags[names.TargetsTag] != created[names.TargetsTag] {
		t.Errorf("tags %v, before %v", tags, created)
	}
	r.steady(changed)
}

// One call records the targets of 20 load balancers that have the same nodes.
func TestTargetsAreRecordedTogether(t *testing.T) {
	r := newRig(t, sim.Options{Quotas: map[string]int{sim.QuotaRulesPerGroup: 1000}})
	list := services(25)
	for _, svc := range list {
		r.ensure(svc)
	}
	record := func() (calls int) {
		t.Helper()
		r.log().Reset()
		for _, svc := range list {
			if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes); err != nil {
				t.Fatal(err)
			}
		}
		if n := r.log().Count()["AddTags"]; n != 0 {
			t.Errorf("%d records are written with the targets", n)
		}
		if err := r.manager.WriteRecords(t.Context()); err != nil {
			t.Fatal(err)
		}
		return r.log().Count()["AddTags"]
	}
	before := r.nodes
	r.launch("d")
	if n := record(); n != 2 {
		t.Errorf("%d calls for 25 load balancers, want 2", n)
	}
	r.nodes = slices.Clone(before)
	if n := record(); n != 2 {
		t.Errorf("%d calls for 25 load balancers, want 2", n)
	}
	want := r.tagsOf(r.balancer(names.LoadBalancerName(list[0].UID)).LoadBalancerArn)[names.TargetsTag]
	for _, svc := range list {
		got := r.tagsOf(r.balancer(names.LoadBalancerName(svc.UID)).LoadBalancerArn)[names.TargetsTag]
		if got != want || got == "" {
			t.Errorf("%s: targets are recorded as %q, want %q", svc.Name, got, want)
		}
	}
	r.restart()
	for _, svc := range list {
		r.ensure(svc)
	}
	if n := r.log().Count()["DescribeTargetHealth"]; n > 0 {
		t.Errorf("%d reads of recorded targets after a restart", n)
	}
}
