package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// mistake is a way in which a provider can be wrong, which the suite must find.
type mistake string

const (
	noMistake      mistake = ""
	errorIsGone    mistake = "reads a failed call as 'the instance is gone'"
	alwaysWrites   mistake = "writes load balancers without looking at what is there"
	remembersOnly  mistake = "finds its load balancers only in memory"
	keepsBalancers mistake = "does not delete load balancers"
	forgetsRanges  mistake = "ignores source ranges"
	greedyRoutes   mistake = "takes every route for its own"
	blindPlan      mistake = "plans nothing, ever"
	wrongZone      mistake = "labels every node with one zone"
	externalFirst  mistake = "lists external addresses first"
	misnamed       mistake = "calls itself something else"
)

type toyInterface = cloudprovider.Interface

var toyCapabilities = provider.Capabilities{InstancesV2: true, LoadBalancer: true, Routes: true}

// toyProvider implements every interface that the framework asks for over toyClient.
type toyProvider struct {
	client  toyClient
	mistake mistake
	// serial is different for each manager, for remembersOnly.
	serial int
	// balancers is held during a change of a load balancer: the framework updates and deletes concurrently.
	balancers locks.Mutex
}

func newToyProvider(w *toyWorld, m mistake, o ManagerOptions) cloudprovider.Interface {
	w.mu.Lock()
	w.made++
	serial := w.made
	w.mu.Unlock()
	p := &toyProvider{client: toyClient{&http.Client{Transport: w.front.Transport()}}, mistake: m, serial: serial}
	return guard.Wrap(p, guard.Options{DryRun: o.DryRun})
}

func (p *toyProvider) ProviderName() string {
	if p.mistake == misnamed {
		return "toe"
	}
	return "toy"
}
func (p *toyProvider) HasClusterID() bool                                                { return true }
func (p *toyProvider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (p *toyProvider) LoadBalancer() (cloudprovider.LoadBalancer, bool)                  { return p, true }
func (p *toyProvider) Instances() (cloudprovider.Instances, bool)                        { return nil, false }
func (p *toyProvider) InstancesV2() (cloudprovider.InstancesV2, bool)                    { return p, true }
func (p *toyProvider) Zones() (cloudprovider.Zones, bool)                                { return nil, false }
func (p *toyProvider) Clusters() (cloudprovider.Clusters, bool)                          { return nil, false }
func (p *toyProvider) Routes() (cloudprovider.Routes, bool)                              { return p, true }

func (p *toyProvider) machine(ctx context.Context, node *v1.Node) (*toyMachine, error) {
	var machines []*toyMachine
	if err := p.client.call(ctx, http.MethodGet, "machines", nil, &machines); err != nil {
		return nil, err
	}
	for _, m := range machines {
		if node.Spec.ProviderID == "toy://"+m.ID || (node.Spec.ProviderID == "" && node.Name == m.Name) {
			return m, nil
		}
	}
	return nil, nil
}

func (p *toyProvider) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	m, err := p.machine(ctx, node)
	if p.mistake == errorIsGone {
		err = nil
	}
	return m != nil, err
}

func (p *toyProvider) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	m, err := p.machine(ctx, node)
	return m != nil && m.Stop, err
}

func (p *toyProvider) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, err := p.machine(ctx, node)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, cloudprovider.InstanceNotFound
	}
	out := &cloudprovider.InstanceMetadata{
		ProviderID: "toy://" + m.ID, InstanceType: m.Type, Zone: m.Zone, Region: m.Region,
		NodeAddresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}, {Type: v1.NodeExternalIP, Address: "192.0.2.1"}},
	}
	if p.mistake == externalFirst {
		slices.Reverse(out.NodeAddresses)
	}
	if p.mistake == wrongZone {
		out.Zone = "z0"
	}
	return out, nil
}

func (p *toyProvider) GetLoadBalancerName(_ context.Context, _ string, svc *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(svc)
}

// name is GetLoadBalancerName, or with remembersOnly a new one for each manager.
func (p *toyProvider) name(svc *v1.Service) string {
	name := cloudprovider.DefaultLoadBalancerName(svc)
	if p.mistake == remembersOnly {
		name = fmt.Sprintf("%s-%d", name, p.serial)
	}
	return name
}

func (p *toyProvider) find(ctx context.Context, svc *v1.Service) (*toyBalancer, error) {
	var all []*toyBalancer
	if err := p.client.call(ctx, http.MethodGet, "balancers", nil, &all); err != nil {
		return nil, err
	}
	for _, b := range all {
		if b.Name == p.name(svc) {
			return b, nil
		}
	}
	return nil, nil
}

func (p *toyProvider) GetLoadBalancer(ctx context.Context, _ string, svc *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	b, err := p.find(ctx, svc)
	if err != nil || b == nil {
		return nil, false, err
	}
	return toyStatus(b), true, nil
}

func (p *toyProvider) desired(svc *v1.Service, nodes []*v1.Node) *toyBalancer {
	b := &toyBalancer{Name: p.name(svc), Internal: svc.Annotations[intent.KeyScheme] == "internal"}
	var members []string
	for _, n := range nodes {
		members = append(members, n.Name)
	}
	slices.Sort(members)
	for _, port := range svc.Spec.Ports {
		l := Listener{Protocol: port.Protocol, Port: port.Port, MemberPort: port.NodePort, Members: members, SourceRanges: compare.RangesAt(svc, port)}
		if p.mistake == forgetsRanges {
			l.SourceRanges = nil
		}
		b.Listeners = append(b.Listeners, l)
	}
	return b
}

func (p *toyProvider) PlanLoadBalancer(ctx context.Context, _ string, svc *v1.Service, nodes []*v1.Node,
	o loadbalancer.PlanOptions) (plan.Plan, error) {
	have, err := p.find(ctx, svc)
	if err != nil || p.mistake == blindPlan {
		return plan.Plan{}, err
	}
	want := p.desired(svc, nodes)
	ref := plan.Ref{Kind: "balancer", Name: want.Name}
	switch {
	case o.Remove && have == nil:
		return plan.Plan{}, nil
	case o.Remove:
		ref.Action = plan.Delete
	case have == nil:
		ref.Action = plan.Create
	default:
		want.Address = have.Address
		if reflect.DeepEqual(have, want) {
			return plan.Plan{}, nil
		}
		ref.Action = plan.Update
	}
	return plan.Plan{Changes: []plan.Change{{Ref: ref}}}, nil
}

func (p *toyProvider) EnsureLoadBalancer(ctx context.Context, _ string, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	unlock, err := p.balancers.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	have, err := p.find(ctx, svc)
	if err != nil {
		return nil, err
	}
	return p.ensure(ctx, svc, nodes, have)
}

func (p *toyProvider) ensure(ctx context.Context, svc *v1.Service, nodes []*v1.Node, have *toyBalancer) (*v1.LoadBalancerStatus, error) {
	want := p.desired(svc, nodes)
	if have != nil {
		want.Address = have.Address
	}
	if p.mistake == alwaysWrites || !reflect.DeepEqual(have, want) {
		if err := p.client.call(ctx, http.MethodPut, "balancers/"+want.Name, want, nil); err != nil {
			return nil, err
		}
	}
	made, err := p.find(ctx, svc)
	if err != nil || made == nil {
		return nil, fmt.Errorf("%w: no balancer after creation: %w", errToy, errors.Join(err))
	}
	return toyStatus(made), nil
}

// UpdateLoadBalancer creates nothing: the framework calls it for a Service that is being deleted, too.
func (p *toyProvider) UpdateLoadBalancer(ctx context.Context, _ string, svc *v1.Service, nodes []*v1.Node) error {
	unlock, err := p.balancers.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	have, err := p.find(ctx, svc)
	if err != nil || have == nil {
		return err
	}
	_, err = p.ensure(ctx, svc, nodes, have)
	return err
}

func (p *toyProvider) EnsureLoadBalancerDeleted(ctx context.Context, _ string, svc *v1.Service) error {
	if p.mistake == keepsBalancers {
		return nil
	}
	unlock, err := p.balancers.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return p.client.call(ctx, http.MethodDelete, "balancers/"+p.name(svc), nil, nil)
}

func (p *toyProvider) AuditsTogether() bool { return false }

func (p *toyProvider) AuditLoadBalancer(context.Context, string, loadbalancer.CurrentFunc) (plan.Plan, *v1.LoadBalancerStatus, error) {
	return plan.Plan{}, nil, nil
}

func (p *toyProvider) RemoveOrphans(context.Context, string, *v1.Service, loadbalancer.ApproveFunc) (plan.Result, error) {
	return plan.Result{}, nil
}

func (p *toyProvider) ListRoutes(ctx context.Context, _ string) ([]*cloudprovider.Route, error) {
	var all []*toyRoute
	if err := p.client.call(ctx, http.MethodGet, "routes", nil, &all); err != nil {
		return nil, err
	}
	var out []*cloudprovider.Route
	for _, r := range all {
		if r.Owned || p.mistake == greedyRoutes {
			out = append(out, &cloudprovider.Route{Name: toyRouteName(r.Destination), DestinationCIDR: r.Destination, TargetNode: nodeName(r.Node)})
		}
	}
	return out, nil
}

func (p *toyProvider) CreateRoute(ctx context.Context, _, _ string, route *cloudprovider.Route) error {
	var all []*toyRoute
	if err := p.client.call(ctx, http.MethodGet, "routes", nil, &all); err != nil {
		return err
	}
	for _, r := range all {
		if r.Destination == route.DestinationCIDR && !r.Owned {
			return fmt.Errorf("there is a foreign route to %s", r.Destination)
		}
	}
	return p.client.call(ctx, http.MethodPut, "routes/"+toyRouteName(route.DestinationCIDR),
		&toyRoute{Destination: route.DestinationCIDR, Node: string(route.TargetNode), Owned: true}, nil)
}

func (p *toyProvider) DeleteRoute(ctx context.Context, _ string, route *cloudprovider.Route) error {
	return p.client.call(ctx, http.MethodDelete, "routes/"+route.Name, nil, nil)
}

func toyRouteName(destination string) string { return strings.ReplaceAll(destination, "/", "-") }

func toyStatus(b *toyBalancer) *v1.LoadBalancerStatus {
	return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: b.Address}}}
}
