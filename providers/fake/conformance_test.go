package fake_test

import (
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/orphantest"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/providers/fake"
	"github.com/unified-ccm/unified-ccm/providers/fake/config"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// subject is the provider on a simulated cloud of its own, reached through its HTTP API.
func subject() conformance.Subject {
	return conformance.Subject{
		Name:         fake.ProviderName,
		Capabilities: fake.Descriptor().Capabilities, Disruptions: fake.Descriptor().Disruptions,
		Portable: fake.Descriptor().Portable,
		TakeOver: takeOver(),
		New: func(t testing.TB) (conformance.World, conformance.Manager) {
			world, err := sim.New(sim.Options{ProvisionTime: 3 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := world.Check(); err != nil {
					t.Errorf("the world contradicts itself: %v", err)
				}
				if err := world.Close(); err != nil {
					t.Error(err)
				}
			})
			return world, func(o conformance.ManagerOptions) (cloudprovider.Interface, error) {
				cfg, _, err := config.Read("", []byte("[Global]\nadopt-unknown-nodes = false\n"))
				if err != nil {
					return nil, err
				}
				cloud, err := fake.NewCloud(cfg, fake.WithTransport(world.Front().Transport()))
				if err != nil {
					return nil, err
				}
				return guard.Wrap(cloud, guard.Options{DryRun: o.DryRun, Disruption: o.Disruption, Started: o.Started}), nil
			}
		},
	}
}

func TestConformance(t *testing.T) { conformance.Run(t, subject()) }

func TestFaults(t *testing.T) { conformance.RunFaults(t, subject()) }

func TestRandomLoad(t *testing.T) { conformance.RunRandom(t, subject()) }

func TestOrphans(t *testing.T) {
	orphantest.Run(t, subject(), orphantest.Options{
		Lists: map[string][]string{"ListLoadBalancers": {"listener", "load balancer", "pool"}, "ListAddresses": {"address"},
			"ListRoutes": {"route"}},
		MaxLists: 9,
	})
}
