package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// A value that is changed by hand while another one is held is put back, also after a restart. Together with a new
// configuration it is held, because nothing shows which of the two it is.
func TestDriftBesideHeldChange(t *testing.T) {
	const held, other = "lb-web/80-TCP", "lb-web/443-TCP"
	for name, tc := range map[string]struct {
		before, after func(*cluster)
		want          string
	}{
		"after the change was held":     {after: func(c *cluster) { c.cloud.have[ref("listener", other)] = "by hand" }},
		"together with the change":      {before: func(c *cluster) { c.cloud.have[ref("listener", other)] = "by hand" }, want: "by hand"},
		"of the held value":             {after: func(c *cluster) { c.cloud.have[ref("listener", held)] = "by hand" }},
		"with another configuration":    {after: func(c *cluster) { c.cloud.have[ref("listener", other)] = "by hand"; c.cloud.discovered = "again" }, want: "by hand"},
		"of a load balancer taken over": {before: func(c *cluster) { takeOver(c.keepingFixture); c.conditions = nil }, after: func(c *cluster) { c.cloud.have[ref("listener", other)] = "by hand" }, want: "by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.sync(t)
			c.cloud.discoveredAt = held
			c.wantByConfiguration()
			if tc.before != nil {
				tc.before(c)
			}
			c.sync(t)
			if tc.after != nil {
				tc.after(c)
			}
			c.restart()
			was := c.cloud.have[ref("listener", held)]
			c.sync(t)
			if got := c.cloud.have[ref("listener", other)]; got != tc.want {
				t.Errorf("the other listener is %q, not %q", got, tc.want)
			}
			if got := c.cloud.have[ref("listener", held)]; got != was {
				t.Errorf("the held listener is %q, and was %q", got, was)
			}
			writes := c.writes
			c.sync(t)
			c.restart()
			c.sync(t)
			if c.writes != writes {
				t.Errorf("%d writes of idle syncs", c.writes-writes)
			}
		})
	}
}

// A value that is changed by hand is put back by the sync of an unrelated edit, too: its wanted value is still the one
// that this manager had applied. What is held beside it stays.
func TestDriftBesideAnUnrelatedEdit(t *testing.T) {
	const held, other = "lb-web/80-TCP", "lb-web/443-TCP"
	port := func(svc *v1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: 8443, NodePort: 30843})
	}
	for name, tc := range map[string]struct {
		prepare func(*cluster)
		edits   []func(*v1.Service)
		want    string
	}{
		"nothing is held":       {edits: []func(*v1.Service){port}},
		"another value is held": {prepare: func(c *cluster) { c.cloud.discoveredAt = held; c.wantByConfiguration() }, edits: []func(*v1.Service){port}},
		"an annotation is edited": {
			prepare: func(c *cluster) { c.cloud.discoveredAt = held; c.wantByConfiguration() },
			edits:   []func(*v1.Service){annotated(intent.KeyScheme, "internal")},
		},
		"it is held itself": {prepare: func(c *cluster) { c.cloud.discoveredAt = other; c.wantByConfiguration() }, edits: []func(*v1.Service){port}, want: "by hand"},
		"it was only seen":  {prepare: func(c *cluster) { takeOver(c.keepingFixture); c.conditions = nil }, edits: []func(*v1.Service){port}, want: "by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.sync(t)
			if tc.prepare != nil {
				tc.prepare(c)
			}
			c.sync(t)
			c.restart()
			was := c.cloud.have[ref("listener", held)]
			c.cloud.have[ref("listener", other)] = "by hand"
			c.sync(t, tc.edits...)
			if got := c.cloud.have[ref("listener", other)]; got != tc.want {
				t.Errorf("the other listener is %q, want %q", got, tc.want)
			}
			if got := c.cloud.have[ref("listener", held)]; got != was {
				t.Errorf("the held listener is %q, and was %q", got, was)
			}
		})
	}
}

// A value that differs after another manager has led is not put back, although the applied record is that of this one:
// the other manager may have set it. From then on, changes by hand of other values are drift again.
func TestChangeOfAnotherManagerIsNoDrift(t *testing.T) {
	const theirs, other = "lb-web/80-TCP", "lb-web/443-TCP"
	edit := ranges("10.0.0.0/8")
	c := newCluster(t)
	c.lead("1")
	c.sync(t, edit)
	c.sync(t, edit)
	c.cloud.have[ref("listener", theirs)] = "by another manager"
	for range 2 {
		c.restart()
		c.lead("2")
		c.sync(t, edit)
		if got := c.cloud.have[ref("listener", theirs)]; got != "by another manager" {
			t.Fatalf("listener %q", got)
		}
	}
	c.cloud.have[ref("listener", other)] = "by hand"
	c.sync(t, edit)
	if got := c.cloud.have[ref("listener", other)]; got != "10.0.0.0/8" {
		t.Errorf("drift is not put back: listener %q", got)
	}
	if got := c.cloud.have[ref("listener", theirs)]; got != "by another manager" {
		t.Errorf("listener %q after drift of another one", got)
	}
}
