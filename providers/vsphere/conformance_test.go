package vsphere_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/orphantest"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

// subject is the provider on a new simulated vCenter, without load balancers and routes.
func subject() conformance.Subject {
	return conformance.Subject{
		Name:         vsphere.ProviderName,
		Capabilities: provider.Capabilities{InstancesV2: true},
		New: func(t testing.TB) (conformance.World, conformance.Manager) {
			world := newWorld(t, "")
			return world, func(o conformance.ManagerOptions) (cloudprovider.Interface, error) {
				cloud, err := newCloud("", world)
				if err != nil {
					return nil, err
				}
				return guard.Wrap(cloud, guard.Options{DryRun: o.DryRun, Disruption: o.Disruption, Started: o.Started}), nil
			}
		},
	}
}

// nsxtSubject is the provider on a new simulated vCenter with NSX-T.
func nsxtSubject() conformance.Subject {
	return conformance.Subject{
		Name:         vsphere.ProviderName,
		Capabilities: vsphere.Descriptor().Capabilities, Disruptions: vsphere.Descriptor().Disruptions,
		Portable: vsphere.Descriptor().Portable,
		TakeOver: takeOver(),
		Sample:   2,
		New: func(t testing.TB) (conformance.World, conformance.Manager) {
			world, err := sim.New(sim.Options{NSXT: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = world.Close() })
			return world, func(o conformance.ManagerOptions) (cloudprovider.Interface, error) {
				cloud, err := newCloud(nsxtLines(o.OtherDefaults), world)
				if err != nil {
					return nil, err
				}
				return guard.Wrap(cloud, guard.Options{DryRun: o.DryRun, Disruption: o.Disruption, Started: o.Started}), nil
			}
		},
	}
}

// nsxtLines are the sections of NSX-T. Other defaults apply to new load balancers only.
func nsxtLines(other bool) string {
	pool := nsxt.PublicPool
	if other {
		pool = nsxt.InternalPool
	}
	return fmt.Sprintf("[NSXT]\nhost = vcenter-0.test\nuser = %s\npassword = %q\n"+
		"[LoadBalancer]\nsize = LARGE\ntier1-gateway-path = %s\nip-pool-name = %s\nsnat-disabled = %t\n"+
		"[LoadBalancerClass \"internal\"]\nip-pool-id = %s\n[Route]\nrouter-path = %s\n",
		nsxt.User, nsxt.Password, nsxt.Tier1, pool, other, nsxt.InternalPool, nsxt.Tier1)
}

func newWorld(t testing.TB, name string) *sim.Cloud {
	t.Helper()
	return newSlowWorld(t, name, 0)
}

// newSlowWorld returns a simulated vCenter with a latency for each call.
func newSlowWorld(t testing.TB, name string, latency time.Duration) *sim.Cloud {
	t.Helper()
	world, err := sim.New(sim.Options{Name: name, Latency: latency})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = world.Close() })
	return world
}

// newCloud returns the provider for vCenters, with zones and further lines of the configuration. The vCenters are
// vcenter-0.test and so on.
func newCloud(lines string, worlds ...*sim.Cloud) (*vsphere.Cloud, error) {
	transports := map[string]http.RoundTripper{}
	for i, world := range worlds {
		transports[fmt.Sprintf("vcenter-%d.test", i)] = world.Front().Transport()
	}
	return newCloudOver(lines, transports)
}

// newCloudOver is newCloud with the transport of each vCenter.
func newCloudOver(lines string, transports map[string]http.RoundTripper) (*vsphere.Cloud, error) {
	text := fmt.Sprintf("[Global]\nuser = %s\npassword = %q\n[Labels]\nregion = %s\nzone = %s\n", sim.User, sim.Password,
		sim.CategoryRegion, sim.CategoryZone)
	for _, server := range slices.Sorted(maps.Keys(transports)) {
		text += fmt.Sprintf("[VirtualCenter %q]\n", server)
	}
	cfg, _, err := config.ReadWith("vsphere.conf", []byte(text+lines), nil)
	if err != nil {
		return nil, err
	}
	return vsphere.NewCloud(cfg, vsphere.WithTransport(func(server string) http.RoundTripper { return transports[server] }))
}

// each runs a suite with the nodes alone, and with NSX-T.
func each(t *testing.T, suite func(*testing.T, conformance.Subject)) {
	t.Run("nodes", func(t *testing.T) { suite(t, subject()) })
	t.Run("nsxt", func(t *testing.T) { suite(t, nsxtSubject()) })
}

func TestConformance(t *testing.T) { each(t, conformance.Run) }

func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, s conformance.Subject) { conformance.RunFaults(t, s) })
}

func TestRandomLoad(t *testing.T) { each(t, conformance.RunRandom) }

func TestOrphans(t *testing.T) {
	orphantest.Run(t, nsxtSubject(), orphantest.Options{
		Volatile: []string{"_revision", "_last_modified_time"},
		Lists: map[string][]string{
			"GET lb-services": {"load balancer service"}, "GET lb-virtual-servers": {"virtual server"},
			"GET lb-pools": {"pool"}, "GET lb-monitor-profiles": {"monitor"}, "GET groups": {"group"},
			"GET ip-allocations": {"IP allocation"}, "GET ip-pools": {"IP allocation"}, "GET static-routes": {"route"},
		},
		MaxLists: 17, OrphanedRoutes: true,
	})
}
