package openstack_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	sdk "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// takeOver prepares a simulated cloud for the take-over from OpenStack's own manager.
func takeOver(driver string) *conformance.TakeOver {
	reads := 0
	if driver == model.ProviderOVN {
		reads = 3 // members of two ports, and the ports with the security group
	}
	return &conformance.TakeOver{
		ReadsPerLoadBalancer: reads,
		Create: func(ctx context.Context, w conformance.World, svc *v1.Service,
			nodes []*v1.Node) (conformance.ServiceUpdate, error) {
			o, err := newOtherManager(ctx, w.(*sim.Cloud), driver, svc, nodes)
			if err != nil {
				return conformance.ServiceUpdate{}, err
			}
			return o.create(ctx)
		},
		Discover: func(w conformance.World) error {
			world := w.(*sim.Cloud)
			if _, _, err := world.AddNetwork("a-public", netip.MustParsePrefix("198.18.0.0/24"), true); err != nil {
				return err
			}
			_, err := world.AddSubnet(world.Places().PrivateNetwork, "a-private", netip.MustParsePrefix("10.9.0.0/24"))
			return err
		},
		SetFailed: func(w conformance.World, name string, failed bool) error {
			status := api.Active
			if failed {
				status = api.Error
			}
			return w.(*sim.Cloud).SetLoadBalancerStatus(name, status)
		},
	}
}

// otherManager creates what openstack-cloud-controller-manager creates for a Service, with the configuration of subject
// and the same names, tags and descriptions, but none of the tags that only this manager writes.
type otherManager struct {
	octavia, neutron *gophercloud.ServiceClient
	world            *sim.Cloud
	driver           string
	svc              *v1.Service
	service          types.NamespacedName
	nodes            []*v1.Node
	name             string
}

func newOtherManager(ctx context.Context, world *sim.Cloud, driver string, svc *v1.Service,
	nodes []*v1.Node) (*otherManager, error) {
	a := world.Account()
	client, err := sdk.NewClient("http://openstack.invalid/identity/v3")
	if err != nil {
		return nil, err
	}
	client.HTTPClient = http.Client{Transport: world.Front().Direct()}
	err = sdk.AuthenticateV3(ctx, client, &gophercloud.AuthOptions{
		Username: a.Username, Password: a.Password, DomainName: a.DomainName, TenantName: a.ProjectName,
	}, gophercloud.EndpointOpts{})
	if err != nil {
		return nil, err
	}
	region := gophercloud.EndpointOpts{Region: a.Region}
	octavia, err := sdk.NewLoadBalancerV2(client, region)
	if err != nil {
		return nil, err
	}
	neutron, err := sdk.NewNetworkV2(client, region)
	service := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	return &otherManager{octavia: octavia, neutron: neutron, world: world, driver: driver, svc: svc, service: service,
		nodes: nodes, name: names.LoadBalancer(conformance.ClusterName, service)}, err
}

// create creates the load balancer with all that is in it, waits until it is ACTIVE, and attaches a floating IP.
func (o *otherManager) create(ctx context.Context) (conformance.ServiceUpdate, error) {
	places := o.world.Places()
	spec := loadbalancers.CreateOpts{
		Name: o.name, Tags: []string{o.name}, VipSubnetID: places.PrivateSubnet, Provider: o.driver,
		Description: names.LoadBalancerDescription(conformance.ClusterName, o.service),
	}
	for i := range o.svc.Spec.Ports {
		spec.Listeners = append(spec.Listeners, o.listener(i))
	}
	lb, err := loadbalancers.Create(ctx, o.octavia, spec).Extract()
	if err != nil {
		return conformance.ServiceUpdate{}, err
	}
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		now, err := loadbalancers.Get(ctx, o.octavia, lb.ID).Extract()
		return err == nil && now.ProvisioningStatus == api.Active, err
	})
	if err != nil {
		return conformance.ServiceUpdate{}, err
	}
	address, err := floatingips.Create(ctx, o.neutron, floatingips.CreateOpts{
		FloatingNetworkID: places.PublicNetwork, PortID: lb.VipPortID,
		Description: names.FloatingIPDescription(conformance.ClusterName, o.service),
	}).Extract()
	if err == nil && o.driver == model.ProviderOVN {
		err = o.openNodes(ctx)
	}
	if err != nil {
		return conformance.ServiceUpdate{}, err
	}
	return conformance.ServiceUpdate{
		Annotations: map[string]string{
			annotation.KeyLoadBalancerID: lb.ID, annotation.KeyLoadBalancerAddress: address.FloatingIP,
		},
		Status: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: address.FloatingIP}}},
	}, nil
}

// listener returns the listener of one port, with its pool and health monitor.
func (o *otherManager) listener(i int) listeners.CreateOpts {
	port := o.svc.Spec.Ports[i]
	pool := pools.CreateOpts{Name: names.Pool(i, o.name), Protocol: pools.Protocol(port.Protocol),
		LBMethod: pools.LBMethodRoundRobin}
	spec := listeners.CreateOpts{Name: names.Listener(i, o.name), Protocol: listeners.Protocol(port.Protocol),
		ProtocolPort: int(port.Port), ConnLimit: ptr.To(-1), Tags: []string{o.name}}
	if o.driver == model.ProviderOVN {
		pool.LBMethod = pools.LBMethodSourceIpPort
	} else {
		spec.TimeoutClientData, spec.TimeoutMemberData = ptr.To(50000), ptr.To(50000)
		spec.TimeoutMemberConnect, spec.TimeoutTCPInspect = ptr.To(5000), ptr.To(0)
		spec.AllowedCIDRs = []string{"0.0.0.0/0"}
	}
	pool.Monitor = monitors.CreateOpts{Name: names.HealthMonitor(i, o.name), Type: monitors.TypeTCP, Delay: 5, Timeout: 3,
		MaxRetries: 1, MaxRetriesDown: 3}
	subnet := o.world.Places().PrivateSubnet
	for _, n := range o.nodes {
		pool.Members = append(pool.Members, pools.CreateMemberOpts{Name: n.Name, ProtocolPort: int(port.NodePort),
			Address: model.NodeAddress(n, v1.IPv4Protocol), SubnetID: subnet})
	}
	spec.DefaultPool = &pool
	return spec
}

// openNodes creates the security group of manage-security-groups, and adds it to the nodes' ports.
func (o *otherManager) openNodes(ctx context.Context) error {
	group, err := groups.Create(ctx, o.neutron, groups.CreateOpts{
		Name:        names.SecurityGroup(o.svc.UID, o.service),
		Description: names.SecurityGroupDescription(conformance.ClusterName, o.service),
	}).Extract()
	if err != nil {
		return err
	}
	for _, rule := range group.Rules {
		if err := rules.Delete(ctx, o.neutron, rule.ID).ExtractErr(); err != nil {
			return err
		}
	}
	for _, p := range o.svc.Spec.Ports {
		_, err := rules.Create(ctx, o.neutron, rules.CreateOpts{SecGroupID: group.ID, Direction: rules.DirIngress,
			EtherType: rules.EtherType4, Protocol: rules.RuleProtocol(strings.ToLower(string(p.Protocol))),
			PortRangeMin: int(p.NodePort), PortRangeMax: int(p.NodePort), RemoteIPPrefix: "0.0.0.0/0"}).Extract()
		if err != nil {
			return err
		}
	}
	for _, n := range o.nodes {
		if err := o.addGroup(ctx, n.Name, group.ID); err != nil {
			return fmt.Errorf("adding the group to the port of node %s: %w", n.Name, err)
		}
	}
	return nil
}

func (o *otherManager) addGroup(ctx context.Context, node, group string) error {
	page, err := ports.List(o.neutron, ports.ListOpts{DeviceID: o.world.Server(node)}).AllPages(ctx)
	if err != nil {
		return err
	}
	list, err := ports.ExtractPorts(page)
	if err != nil {
		return err
	}
	for _, p := range list {
		groups := append(p.SecurityGroups, group)
		if _, err := ports.Update(ctx, o.neutron, p.ID, ports.UpdateOpts{SecurityGroups: &groups}).Extract(); err != nil {
			return err
		}
	}
	return nil
}
