package gce_test

import (
	"net/http"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/gce"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// clusterID is that of the ConfigMap ingress-uid.
const clusterID = "1234567890abcdef"

// subject is the provider on a new simulated cloud, with load balancers of one kind.
func subject(scheme intent.Scheme) conformance.Subject {
	return conformance.Subject{
		Name:         gce.ProviderName,
		Capabilities: gce.Descriptor().Capabilities, Disruptions: gce.Descriptor().Disruptions,
		Portable:           gce.Descriptor().Portable,
		ServiceAnnotations: map[string]string{intent.KeyScheme: string(scheme)},
		Sample:             2,
		Unsupported:        unsupported(scheme),
		New: func(t testing.TB) (conformance.World, conformance.Manager) {
			world := newWorld(t, sim.Options{})
			return world, func(o conformance.ManagerOptions) (cloudprovider.Interface, error) {
				cloud, err := newCloud(world, "")
				if err != nil {
					return nil, err
				}
				return guard.Wrap(cloud, guard.Options{
					DryRun: o.DryRun, Disruption: o.Disruption, Started: o.Started,
				}), nil
			}
		},
	}
}

// unsupported returns the scenarios that a kind of load balancer does not support.
func unsupported(scheme intent.Scheme) map[string]string {
	const ports = "a forwarding rule gets no port beside those that are held, because it is replaced for each other range"
	scenarios := map[string]string{
		"UDP and TCP on one port":         "a forwarding rule has one protocol, and the Service is refused",
		"source ranges of ports":          "a load balancer has one firewall, with the same sources for all ports",
		"held changes":                    ports,
		"edit beside a held change":       ports,
		"hand-made change beside an edit": ports,
		"restored cluster":                "only the status of the Service shows what was applied, so that what it lacks counts as changed by hand",
	}
	if scheme == intent.Internal {
		scenarios["Service becomes invalid"] = "the scenario makes the annotation invalid that selects this kind"
	}
	return scenarios
}

func newWorld(t testing.TB, o sim.Options) *sim.Cloud {
	t.Helper()
	world, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Check(); err != nil {
			t.Errorf("the world contradicts itself: %v", err)
		}
	})
	return world
}

// newCloud returns the provider on a simulated cloud, with further lines of gce.conf.
func newCloud(world *sim.Cloud, lines string) (*gce.Cloud, error) {
	cfg, _, err := config.Read("", []byte(world.CloudConfig("http://compute.test")+lines))
	if err != nil {
		return nil, err
	}
	return gce.NewCloud(cfg, gce.WithTransport(authorized{world}), gce.WithClusterID(clusterID)), nil
}

// authorized adds the token of a simulated cloud to requests.
type authorized struct{ world *sim.Cloud }

// RoundTrip implements http.RoundTripper.
func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.world.Token())
	return a.world.Front().Transport().RoundTrip(r)
}

func TestConformance(t *testing.T) {
	t.Run("external", func(t *testing.T) { conformance.Run(t, subject(intent.Public)) })
	t.Run("internal", func(t *testing.T) { conformance.Run(t, subject(intent.Internal)) })
}

func TestFaults(t *testing.T) {
	t.Run("external", func(t *testing.T) { conformance.RunFaults(t, subject(intent.Public)) })
	t.Run("internal", func(t *testing.T) { conformance.RunFaults(t, subject(intent.Internal)) })
}

func TestRandomLoad(t *testing.T) { conformance.RunRandom(t, subject(intent.Public)) }
