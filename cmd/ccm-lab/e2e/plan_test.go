package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// Exit codes of ccm.
const (
	exitOK          = 0
	exitEnvironment = 1
	exitChanges     = 2
)

const newService = `apiVersion: v1
kind: Service
metadata: {name: new, namespace: default}
spec:
  type: LoadBalancer
  ports: [{name: https, port: 443, nodePort: 30443}]
`

// TestPlan follows one cluster: converged, changed by hand, without its routes. No plan touches the cloud.
func TestPlan(t *testing.T) {
	t.Parallel()
	c := newCluster(t, setup{noRoutes: true})
	c.must(
		c.session.JoinN(t.Context(), 2),
		c.session.Put(t.Context(), service("web", 80, 443)),
		c.session.Put(t.Context(), service("db", 5432)),
	)
	c.start()
	c.converge()
	c.live.Stop(t.Context())
	before := c.lastCall()

	t.Run("converged", func(t *testing.T) {
		stdout := c.plan(t, exitOK, "--all", "--configure-cloud-routes=false")
		if !strings.Contains(strings.ToLower(stdout), "no changes") {
			t.Errorf("printed\n%s\nwant: no changes", stdout)
		}
	})
	t.Run("missing routes", func(t *testing.T) {
		stdout := c.plan(t, exitChanges, "--all", "--cluster-cidr=10.244.0.0/16")
		for _, destination := range []string{"10.244.1.0/24", "10.244.2.0/24"} {
			if !strings.Contains(stdout, destination) {
				t.Errorf("the plan does not name the missing route to %s:\n%s", destination, stdout)
			}
		}
	})
	t.Run("new Service", func(t *testing.T) {
		document := c.planJSON(t, exitChanges, "-f", c.write("new.yaml", newService))
		if document.Summary.Create == 0 || document.Summary.Update != 0 || document.Summary.Delete != 0 {
			t.Errorf("a Service that is not there yet only creates, got %+v", document.Summary)
		}
	})
	t.Run("drift", func(t *testing.T) { c.planDrift(t, "web", "db") })

	if mutations := slices.DeleteFunc(c.calls(before), func(call sim.Call) bool { return !call.Mutating }); len(mutations) > 0 {
		t.Errorf("plans made mutating calls: %s", tally(mutations))
	}
	if len(c.calls(before)) == 0 {
		t.Error("plans made no calls at all: they cannot have looked")
	}
	// The next manager applies what the plans show, and then no changes are left.
	c.live.Options.Args = append(c.live.Options.Args, "--configure-cloud-routes=true")
	c.session.Capabilities.Routes = true
	c.start()
	c.converge()
	c.plan(t, exitOK, "--all", "--cluster-cidr=10.244.0.0/16")
}

// planDrift changes one Service's load balancer by hand.
func (c *cluster) planDrift(t *testing.T, changed, other string) {
	t.Helper()
	lb, err := c.session.Balancer(t.Context(), changed)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := c.world.Drift(lb.Name)
	if err != nil || len(fields) == 0 {
		t.Fatalf("nothing was changed by hand: %v", errors.Join(err))
	}
	text := c.plan(t, exitChanges, "--all", "--configure-cloud-routes=false")
	for _, field := range fields {
		if !strings.Contains(text, field) {
			t.Errorf("the plan does not name %s, which was changed by hand:\n%s", field, text)
		}
	}
	document := c.planJSON(t, exitChanges, "--all", "--configure-cloud-routes=false")
	named := map[string]bool{}
	for _, p := range document.Plans {
		if len(p.Changes) > 0 && p.Subject != fmt.Sprintf("Service %s/%s", namespace, changed) {
			t.Errorf("%s has planned changes, although nothing was changed: %+v", p.Subject, p.Changes)
		}
		for _, change := range p.Changes {
			if change.Action == plan.Update {
				for _, field := range change.Fields {
					named[field.Name] = true
				}
			}
		}
	}
	for _, field := range fields {
		if !named[field] {
			t.Errorf("no update in the JSON names %s, which was changed by hand", field)
		}
	}
	c.plan(t, exitOK, "--service="+namespace+"/"+other)
	t.Logf("drift in %s:\n%s", strings.Join(fields, ", "), text)
}

// plan runs ccm plan and demands an exit code.
func (c *cluster) plan(t *testing.T, want int, args ...string) string {
	t.Helper()
	stdout, stderr, code := ccm(t, append([]string{"plan"}, c.where(args...)...)...)
	if code != want {
		t.Fatalf("ccm plan %s: exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), code, want, stdout, stderr)
	}
	return stdout
}

func (c *cluster) planJSON(t *testing.T, want int, args ...string) plan.Document {
	t.Helper()
	stdout := c.plan(t, want, append(args, "-o", "json")...)
	var document plan.Document
	if err := json.Unmarshal([]byte(stdout), &document); err != nil {
		t.Fatalf("ccm plan -o json printed no JSON: %v\n%s", err, stdout)
	}
	if document.Provider != c.live.Options.Provider {
		t.Errorf("the document is of provider %q", document.Provider)
	}
	return document
}

// where returns the flags that say which cloud and cluster, and args.
func (c *cluster) where(args ...string) []string {
	o := c.live.Options
	return append([]string{
		"--cloud-provider=" + o.Provider, "--cloud-config=" + o.CloudConfig,
		"--kubeconfig=" + o.Kubeconfig, "--cluster-name=" + o.ClusterName,
	}, args...)
}
