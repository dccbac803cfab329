package vsphere_test

import (
	"testing"
	"testing/synctest"

	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/puretest"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/client"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
)

// TestDiffIsPure verifies that a plan that is printed or held changes nothing, during the life of load balancers.
func TestDiffIsPure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		cluster := joinCluster(t, w, "first")
		cfg, _, err := config.ReadWith("vsphere.conf", []byte("[Global]\nuser = u\npassword = p\n[VirtualCenter \"vcenter-0.test\"]\n"+nsxtLines(false)), nil)
		if err != nil {
			t.Fatal(err)
		}
		nsxt, err := client.NewPolicy(client.PolicyOptions{NSX: *cfg.NSXT, Secrets: &client.Secrets{}, Transport: w.Front().Transport()})
		if err != nil {
			t.Fatal(err)
		}
		checked := puretest.Check[loadbalancer.SharedState, loadbalancer.Desired, loadbalancer.Observed](t, loadbalancer.New(nsxt, *cfg.LoadBalancer, nil))
		manager := lbcommon.New(lbcommon.Options{Provider: "vsphere", Vocabulary: annotation.Vocabulary("vsphere")}, checked)
		manager.SetRuntime(provider.Runtime{Recorder: &record.FakeRecorder{}, ClusterUID: "first"})
		for _, ports := range [][]int32{{80, 443}, {80}} {
			svc := webService("uid-a", ports...)
			if _, err := manager.EnsureLoadBalancer(t.Context(), "kubernetes", svc, cluster.nodes); err != nil {
				t.Fatal(err)
			}
			if _, err := manager.PlanLoadBalancer(t.Context(), "kubernetes", svc, cluster.nodes[:1], lbcommon.PlanOptions{Remove: true}); err != nil {
				t.Fatal(err)
			}
			if err := manager.UpdateLoadBalancer(t.Context(), "kubernetes", svc, cluster.nodes[1:]); err != nil {
				t.Fatal(err)
			}
		}
		if err := manager.EnsureLoadBalancerDeleted(t.Context(), "kubernetes", webService("uid-a", 80)); err != nil {
			t.Fatal(err)
		}
		if checked.Plans < 5 {
			t.Errorf("only %d plans have changes", checked.Plans)
		}
	})
}
