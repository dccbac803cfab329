package loadbalancer

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/gce/config"
)

func TestExternalLoadBalancer(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s := service("web", webUID, 80, 443)
	ip := r.ensure(s, node("r1-b", "node-1"), node("r1-c", "node-2"))
	r.verify(map[string][]string{
		"forwardingRules": {web}, "targetPools": {web}, "httpHealthChecks": {"k8s-" + testCluster + "-node"},
		"firewalls": {"k8s-fw-" + web, "k8s-" + testCluster + "-node-http-hc"},
	})
	r.verifyChanges("targetPools.insert", "forwardingRules.insert", "httpHealthChecks.insert", "firewalls.insert",
		"firewalls.insert")
	r.clock.Step(snapshotAge)
	if again := r.ensure(s, node("r1-b", "node-1"), node("r1-c", "node-2")); again != ip {
		t.Errorf("address %s, then %s", ip, again)
	}
	reads, changes := r.calls()
	if len(changes) > 0 || len(reads) > 4 {
		t.Errorf("without a change: reads %q, changes %q", reads, changes)
	}
	r.update(s, node("r1-c", "node-2"), node("r1-b", "node-3"))
	r.verifyChanges("targetPools.addInstance", "targetPools.removeInstance")
	r.remove(s)
	r.verify(nil)
}
