package loadbalancer

import "testing"

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
