package openstack_test

import (
	"fmt"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/orphantest"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// subject is the provider on a new simulated cloud, with that driver for load balancers.
func subject(driver string) conformance.Subject { return subjectWith(driver, nil, func(*sim.Cloud) {}) }

// subjectWith is subject with access rules for the manager's application credential. It calls created with each cloud.
func subjectWith(driver string, rules []sim.AccessRule, created func(*sim.Cloud)) conformance.Subject {
	return conformance.Subject{
		Name:         openstack.ProviderName,
		Capabilities: openstack.Descriptor().Capabilities, Disruptions: openstack.Descriptor().Disruptions,
		Portable: openstack.Descriptor().Portable, Unsupported: cannot(driver),
		TakeOver: takeOver(driver),
		New: func(t testing.TB) (conformance.World, conformance.Manager) {
			world, err := sim.New(sim.Options{ProvisionTime: 3 * time.Second, SettleTime: 500 * time.Millisecond,
				TokenLife: 24 * time.Hour, AccessRules: rules})
			if err != nil {
				t.Fatal(err)
			}
			created(world)
			return world, func(o conformance.ManagerOptions) (cloudprovider.Interface, error) {
				a := world.Account()
				internal := ""
				if o.OtherDefaults {
					internal = "internal-lb = true"
				}
				cfg, _, err := config.Read("", fmt.Appendf(nil, `[Global]
auth-url = http://openstack.invalid/identity/v3
application-credential-id = %s
application-credential-secret = %s
region = %s
[LoadBalancer]
lb-provider = %s
subnet-id = %s
create-monitor = true
manage-security-groups = %t
%s
[Route]
router-id = %s
`, a.ApplicationCredentialID, a.ApplicationCredentialSecret, a.Region, driver, world.Places().PrivateSubnet,
					driver == model.ProviderOVN, internal, world.Places().Router))
				if err != nil {
					return nil, err
				}
				cloud, err := openstack.NewCloud(cfg, openstack.WithTransport(world.Front().Transport()))
				if err != nil {
					return nil, err
				}
				return guard.Wrap(cloud, guard.Options{DryRun: o.DryRun, Disruption: o.Disruption, Started: o.Started}), nil
			}
		},
	}
}

// cannot are the scenarios that a driver does not support.
func cannot(driver string) map[string]string {
	if driver != model.ProviderOVN {
		return nil
	}
	const layer4 = "OVN forwards TCP, UDP and SCTP only"
	return map[string]string{"TLS at the load balancer": layer4, "forwarded headers": layer4}
}

// drivers are Octavia's providers. Load balancers of the provider ovn keep the addresses of clients, so
// that the security groups of the nodes' ports restrict who connects.
func drivers() []string { return []string{"amphora", model.ProviderOVN} }

func TestConformance(t *testing.T) {
	for _, driver := range drivers() {
		t.Run(driver, func(t *testing.T) { conformance.Run(t, subject(driver)) })
	}
}

func TestFaults(t *testing.T) {
	for _, driver := range drivers() {
		t.Run(driver, func(t *testing.T) { conformance.RunFaults(t, subject(driver)) })
	}
}

func TestRandomLoad(t *testing.T) {
	for _, driver := range drivers() {
		t.Run(driver, func(t *testing.T) { conformance.RunRandom(t, subject(driver)) })
	}
}

func TestOrphans(t *testing.T) {
	for _, driver := range drivers() {
		t.Run(driver, func(t *testing.T) {
			orphantest.Run(t, subject(driver), orphantest.Options{
				Volatile: []string{"revision_number", "updated_at"}, Shared: []string{"security_groups", "allowed_address_pairs"},
				Lists: map[string][]string{
					"ListLoadBalancers": {"load balancer", "tag"}, "ListListeners": {"listener"}, "ListPools": {"pool"},
					"ListHealthMonitors": {"health monitor"}, "ListFloatingIPs": {"floating IP"},
					"ListSecurityGroups": {"security group"}, "ListPorts": {"port"}, "ShowRouter": {"route"},
				},
				Restrict: restrict, MaxLists: 30, OrphanedRoutes: true,
				// Once it is detached from the nodes, nothing on a group proves its cluster.
				Unproven: []string{"security group", "security group rule"},
			})
		})
	}
}

// restrict limits the manager's application credential to other operations than one.
func restrict(world conformance.World, operation string) {
	world.(*sim.Cloud).SetAccessRules(func(_, name string) bool { return name != operation })
}
