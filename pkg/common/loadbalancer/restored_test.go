package loadbalancer

import (
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func version(v string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.ResourceVersion = v }
}

// A restored cluster brings back an older Service with its history. What was done since is no edit, and is not undone
// without one, whether this process has seen it or not.
func TestRestoredCluster(t *testing.T) {
	edit := ranges("10.0.0.0/8")
	for name, tc := range map[string]struct {
		restart  bool
		version  string
		older    bool // the status
		listener string
	}{
		"before a restart":                      {true, "5", true, "10.0.0.0/8"},
		"under a running manager":               {false, "5", true, "10.0.0.0/8"},
		"a Service that a user has edited back": {false, "30", false, ""},
		"one whose status comes later":          {false, "30", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.sync(t, version("5"))
			backup := slices.Clone(c.conditions)
			c.sync(t, version("20"), edit)
			if got := c.listener(); got != "10.0.0.0/8" {
				t.Fatalf("listener %q", got)
			}
			if tc.older {
				c.conditions = backup
			}
			if tc.restart {
				c.restart()
			}
			for range 2 {
				c.sync(t, version(tc.version))
				if got := c.listener(); got != tc.listener {
					t.Errorf("listener %q, want %q", got, tc.listener)
				}
			}
		})
	}
}

// The audit may meet a Service of a restored cluster before its sync does.
func TestAuditOfARestoredCluster(t *testing.T) {
	c := newCluster(t)
	c.sync(t, version("5"))
	backup := slices.Clone(c.conditions)
	c.sync(t, version("20"), ranges("10.0.0.0/8"))
	c.conditions = backup
	if _, _, err := c.AuditLoadBalancer(t.Context(), "prod", func() (*v1.Service, []*v1.Node) {
		return c.service(version("5")), []*v1.Node{node("a")}
	}); err != nil {
		t.Fatal(err)
	}
	if got := c.listener(); got != "10.0.0.0/8" {
		t.Errorf("listener %q", got)
	}
}

// A change that was started and has not succeeded is finished with the value that is wanted now: its object is
// disrupted once, as its edit requires. The same change of another object has no cause, and once it is finished, neither
// has a further one.
func TestStartedChangeIsFinishedWithTheValueOfNow(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	c.cloud.discoveredAt = "lb-web/443-TCP"
	c.wantByConfiguration() // so that the edit causes only the listener of port 80
	c.sync(t)
	c.cloud.fault = func(int, bool) error { return errors.New("denied") }
	edit := ranges("10.0.0.0/8")
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", c.service(edit), []*v1.Node{node("a")}); err == nil {
		t.Fatal("the change was not denied")
	}
	c.cloud.fault = nil
	c.restart()
	c.cloud.discoveredAt = ""
	c.cloud.discovered = "by another configuration"
	c.sync(t, edit)
	if got := c.listener(); got != "by another configuration" {
		t.Errorf("the started listener is %q", got)
	}
	if got := c.cloud.have[ref("listener", "lb-web/443-TCP")]; got != "" {
		t.Errorf("the other listener is %q", got)
	}
	c.cloud.discovered = "by a third configuration"
	c.sync(t, edit)
	if got := c.listener(); got != "by another configuration" {
		t.Errorf("a finished cause was used again: listener %q", got)
	}
}
