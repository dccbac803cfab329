package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/internal/ccmapp"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	linked "github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// refusedExamples are the examples that a cloud cannot do, with a part of the message, which says what to do instead.
var refusedExamples = map[string]string{
	"aws/udp":              "aws-load-balancer-type to nlb",
	"aws/mixed-protocols":  "aws-load-balancer-type to nlb",
	"aws/session-affinity": "stickiness.enabled=true",

	"fake/tls":                  "load balancers of the cloud fake cannot do it: remove it",
	"openstack/tls":             "container or secret that Barbican shows",
	"vsphere/tls":               "load balancers of the cloud vsphere cannot do it: remove it",
	"vsphere/forwarded-headers": "load balancers of the cloud vsphere cannot do it: remove it",
	"fake/forwarded-headers":    "load balancers of the cloud fake cannot do it: remove it",
	"gce/tls":                   "load balancers of the cloud gce cannot do it: remove it",
	"gce/forwarded-headers":     "load balancers of the cloud gce cannot do it: remove it",
	"gce/mixed-protocols":       "write a Service for each protocol",
}

// ignoredExamples are the examples that a cloud applies without their setting, with a part of the warning.
var ignoredExamples = map[string]string{
	"fake/connection-draining":      "the cloud fake does not support it",
	"vsphere/connection-draining":   "the cloud vsphere does not support it",
	"openstack/connection-draining": "the cloud openstack does not support it",
}

// TestExamplesArePlannedOnEveryCloud plans each manifest of examples/ on each simulated cloud with load balancers.
func TestExamplesArePlannedOnEveryCloud(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIASIMULATED")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "simulated")
	examples, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	nodes := filepath.Join(t.TempDir(), "nodes.yaml")
	write(t, nodes, "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n")
	for _, provider := range lab.Providers() {
		if d, ok := linked.Get(provider); !ok || !d.Capabilities.LoadBalancer {
			continue
		}
		cloud, err := lab.StartCloud(t.Context(), provider, "127.0.0.1:0", lab.SimulatorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cloud.Close(); err != nil {
				t.Error(err)
			}
		})
		config := filepath.Join(t.TempDir(), "cloud.conf")
		write(t, config, cloud.Config)
		for _, example := range examples {
			name := provider + "/" + strings.TrimSuffix(filepath.Base(example), ".yaml")
			t.Run(name, func(t *testing.T) {
				var out, messages bytes.Buffer
				code := ccmapp.Main(t.Context(), []string{"plan", "--cloud-provider=" + provider, "--cloud-config=" + config,
					"-f", example, "-f", nodes}, ccmapp.Streams{Out: &out, Err: &messages})
				refusal, refused := refusedExamples[name]
				switch {
				case refused && (code == cli.ExitUsage || !strings.Contains(messages.String(), refusal)):
					t.Errorf("exit code %d, want a refusal with %q:\n%s%s", code, refusal, &out, &messages)
				case !refused && code != cli.ExitUsage:
					t.Errorf("exit code %d, want a plan with changes:\n%s%s", code, &out, &messages)
				case ignoredExamples[name] != "":
					if all := out.String() + messages.String(); !strings.Contains(all, ignoredExamples[name]) {
						t.Errorf("want the warning %q:\n%s", ignoredExamples[name], all)
					}
				case !refused && strings.Contains(out.String(), "annotation"):
					t.Errorf("the plan warns about an annotation:\n%s", &out)
				}
			})
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
