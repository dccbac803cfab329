package e2e

import (
	"os"
	"path"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
)

// TestConformance runs the scenarios that every provider passes in process with the ccm binary, for each kind of load
// balancer of its cloud.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, name := range conformanceProviders() {
		descriptor, ok := provider.Get(name)
		if !ok {
			continue // Left out of this build.
		}
		for i, kind := range lab.Balancers(name) {
			for _, scenario := range conformance.Scenarios() {
				if i > 0 && scenario.Needs.Routes {
					continue // Pod routes do not depend on load balancers.
				}
				t.Run(path.Join(name, kind.Name, scenario.Name), func(t *testing.T) {
					t.Parallel()
					conform(t, scenario, kind, descriptor)
				})
			}
		}
	}
}

// conform runs one scenario on a cluster of its own.
func conform(t *testing.T, scenario conformance.Scenario, kind lab.BalancerKind, descriptor provider.Descriptor) {
	t.Helper()
	if lack := scenario.Missing(descriptor.Capabilities, descriptor.Portable); lack != "" {
		t.Skipf("provider %s has no %s", descriptor.Name, lack)
	}
	if reason, cannot := kind.Unsupported[scenario.Name]; cannot {
		t.Skip(reason)
	}
	if scenario.SkipsTime {
		t.Skip("it takes many minutes, and real controllers cannot skip them")
	}
	c := newCluster(t, setup{
		provider: descriptor.Name, balancers: kind, noRoutes: !scenario.Needs.Routes,
		simulator: lab.SimulatorOptions{Services: realServices()},
	})
	if lack := scenario.MissingIn(c.world); lack != "" {
		t.Skipf("the cloud of provider %s has no %s", descriptor.Name, lack)
	}
	c.start()
	if err := scenario.Steps(t.Context(), c.session); err != nil {
		t.Fatalf("%s\n%v", scenario.Doc, err)
	}
	if !c.driver.dryRun {
		c.converge()
	}
	c.clear()
	c.must(c.consistent(t.Context()))
}

// realServices returns the folder of a lab of real OpenStack services, if the scenarios run on those.
func realServices() string { return os.Getenv("OPENSTACK_LAB") }

// conformanceProviders are the clouds that the scenarios run on.
func conformanceProviders() []string {
	if realServices() != "" {
		return []string{openstack.ProviderName}
	}
	return lab.Providers()
}
