// Package loadbalancer implements the interface of pkg/common/loadbalancer for Octavia. Its packages are the stages of
// a sync, and import only earlier ones: annotation, model (desired objects), observe, kinds (their fields), steps (the
// calls that changes need), diff (the changes of a plan) and apply (which makes the calls).
package loadbalancer

import (
	"cmp"
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/apply"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/diff"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// API has the calls to OpenStack for load balancers.
type API = apply.API

// Types of packages model and observe in the signatures of this one.
type (
	// Settings are the configuration of load balancers.
	Settings = model.Settings
	// Place selects the networks and subnets of addresses.
	Place = model.Place
	// Desired are the objects that should exist for one Service.
	Desired = model.Desired
	// SharedState has the objects that Services share and do not own.
	SharedState = model.SharedState
	// Observed has the existing objects of one Service's load balancer.
	Observed = observe.Observed
)

// Options of a Cloud. API and ServerID are required.
type Options struct {
	API API
	// ServerID returns the server in a provider ID, and an error for those of other clouds. It makes no call.
	ServerID func(providerID string) (string, error)
	// Nodes lists the cluster's nodes, and OwnsNode classifies them. Without them, nodes of other clouds are
	// removed from pools.
	Nodes    *nodes.LazyLister
	OwnsNode func(*v1.Node) provider.Ownership
	Settings Settings
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Cloud implements lbcommon.Cloud. It is safe for concurrent use.
type Cloud struct {
	serverID func(string) (string, error)
	nodes    *nodes.LazyLister
	ownsNode func(*v1.Node) provider.Ownership
	settings Settings
	store    *observe.Store
	applier  *apply.Applier
	shared   *observe.SharedReader
}

var (
	_ lbcommon.Cloud[SharedState, Desired, Observed] = (*Cloud)(nil)
	_ lbcommon.Binder[Observed]                      = (*Cloud)(nil)
)

// New returns a Cloud. It makes no call.
func New(o Options) *Cloud {
	c := clocks.OrReal(o.Clock)
	store := observe.NewStore(o.API, c)
	settings := o.Settings.WithDefaults()
	return &Cloud{
		serverID: o.ServerID, nodes: o.Nodes, ownsNode: o.OwnsNode, settings: settings,
		store: store, applier: apply.New(apply.Options{API: o.API, Clock: c, Store: store, Settings: settings}),
		shared: observe.NewSharedReader(o.API, c, o.Settings, o.ServerID),
	}
}

// Name implements loadbalancer.Cloud.
func (c *Cloud) Name(key lbcommon.Key) string {
	return observe.Key{Key: key}.LoadBalancer()
}

// Reference implements lbcommon.Cloud: the load balancer that a Service names, the addresses in its status, and
// whether it keeps its floating IP.
func (c *Cloud) Reference(service *v1.Service) lbcommon.Reference {
	r := lbcommon.Reference{
		ID: annotation.LoadBalancerID(service.Annotations), KeepAddress: annotation.KeepFloatingIP(service.Annotations),
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		r.Addresses = append(r.Addresses, cmp.Or(ingress.IP, ingress.Hostname))
	}
	return r
}

// SharedState implements loadbalancer.Cloud.
func (c *Cloud) SharedState(ctx context.Context, nodes []*v1.Node) (SharedState, error) {
	state, err := c.shared.Get(ctx, nodes)
	if err != nil {
		return state, err
	}
	state.Unowned, err = c.unowned()
	return state, err
}

// unowned returns the nodes that the framework passes to load balancers and that are not of this cloud and
// region. It omits nodes that are opted out by label.
func (c *Cloud) unowned() ([]*v1.Node, error) {
	if c.ownsNode == nil || c.nodes.Lister() == nil {
		return nil, nil
	}
	all, err := c.nodes.All()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(nodes.TrafficNodes(all), func(n *v1.Node) bool {
		return n.Labels[provider.ManagedLabel] == "false" || c.ownsNode(n) == provider.Mine
	}), nil
}

// Desired implements loadbalancer.Cloud.
func (c *Cloud) Desired(key lbcommon.Key, in intent.Service, nodes []*v1.Node, shared SharedState) (Desired, error) {
	return model.Build(c.input(key, in, nodes, shared))
}

func (c *Cloud) input(key lbcommon.Key, in intent.Service, nodes []*v1.Node, shared SharedState) model.Input {
	return model.Input{Key: key, Service: in, Settings: c.settings, Shared: shared, ServerID: c.serverID, Nodes: nodes}
}

// Validate implements lbcommon.Cloud.
func (c *Cloud) Validate(in intent.Service) error {
	_, err := annotation.Read(in)
	return err
}

// Observe implements loadbalancer.Cloud. A deletion needs no members: they are deleted with their pools.
func (c *Cloud) Observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	key := observe.Key{Key: request.Key, Named: request.Reference.ID, Addresses: request.Reference.Addresses}
	d := observe.Depth{Authoritative: request.Freshness == lbcommon.Authoritative, Groups: true,
		Left: request.Depth == lbcommon.Existence}
	if request.Depth == lbcommon.Full {
		d.Members, d.Groups = true, c.settings.ManageSecurityGroups
	}
	// Each member has to be known if members change one by one.
	if request.Want != nil && !c.settings.Serial {
		d.Checksums = checksums(*request.Want)
	}
	have, err := c.store.Observe(ctx, key, d)
	if err == nil && d.Checksums != nil && c.keepsSurplusPools(request, have) {
		d.Checksums = nil
		have, err = c.store.Observe(ctx, key, d)
	}
	if err == nil {
		have, err = c.prove(ctx, key, have)
	}
	for i := range have.Left {
		if err == nil {
			have.Left[i], err = c.prove(ctx, key, have.Left[i])
			have.Left[i].KeepFloatingIP = request.Reference.KeepAddress
		}
	}
	if err == nil && request.Want != nil && request.Want.NeedsSubnets(have.LoadBalancer) {
		have.Subnets, err = c.shared.Subnets(ctx, func(subnets map[string]api.Subnet) bool {
			return request.Want.IsUnplaced(have.LoadBalancer, subnets)
		})
	}
	have.Replaced = c.applier.Replaced(key)
	have.KeepFloatingIP = request.Reference.KeepAddress
	have.TagsDenied, have.TagsWait = c.applier.TagState()
	if err == nil && have.LoadBalancer != nil {
		c.applier.ForgetUnanswered(key)
	}
	return have, err
}

// prove reads the members of a load balancer if only they can prove whose it is.
func (c *Cloud) prove(ctx context.Context, key observe.Key, have Observed) (Observed, error) {
	if !have.NeedsMembers() {
		return have, nil
	}
	var err error
	have.NodeListeners, err = c.store.NodeListeners(ctx, have, c.servers())
	return have.Follow(key), err
}

// checksums returns the stored checksums of members that replace a read. Members of unowned nodes are kept: with such
// nodes, only a pool that has exactly the desired members is not read.
func checksums(want Desired) observe.Checksums {
	stored := observe.ParseChecksums(want.MemberNote)
	if !want.HasUnowned() {
		return stored
	}
	var desired []string
	for _, port := range want.Ports {
		desired = append(desired, observe.MemberChecksum(port.Members))
	}
	return stored.Only(desired)
}

// keepsSurplusPools reports whether a held change can keep pools that the desired state does not have: those of other
// ports, and all of a failed load balancer. Their members follow the nodes, so that they must be known: Diff compares
// checksums only with the members of the Service's ports.
func (c *Cloud) keepsSurplusPools(request lbcommon.Request[Desired], have Observed) bool {
	if have.LoadBalancer == nil {
		return false
	}
	return have.LoadBalancer.ProvisioningStatus == api.Error ||
		diff.HasSurplusListeners(keyOf(request.Key, have), *request.Want, have)
}

// Diff implements loadbalancer.Cloud.
func (c *Cloud) Diff(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	return diff.Plan(keyOf(key, have), want, have)
}

// DiffMembers implements loadbalancer.Cloud.
func (c *Cloud) DiffMembers(key lbcommon.Key, in intent.Service, nodes []*v1.Node, shared SharedState, have Observed,
) (plan.Plan, error) {
	return diff.Members(keyOf(key, have), c.input(key, in, nodes, shared), have)
}

// Bind implements lbcommon.Binder.
func (c *Cloud) Bind(key lbcommon.Key, have Observed, p plan.Plan) plan.Plan {
	return plan.Bind(p, diff.Writer(c.applier.Writer(keyOf(key, have))))
}

// keyOf returns the key of a Service with what was observed.
func keyOf(key lbcommon.Key, have Observed) observe.Key {
	return observe.Key{Key: key, Named: have.Named, Addresses: have.Addresses, Followed: have.Followed}
}

// servers returns the IDs of the servers of the cluster's nodes. It returns none while they are unknown, so that
// nothing counts as this cluster's because of them.
func (c *Cloud) servers() map[string]bool {
	servers := map[string]bool{}
	if c.nodes.Lister() == nil {
		return servers
	}
	all, err := c.nodes.All()
	if err != nil {
		return servers
	}
	for _, node := range all {
		if id, err := c.serverID(node.Spec.ProviderID); err == nil {
			servers[id] = true
		}
	}
	return servers
}

// Keep implements lbcommon.Keeper.
func (c *Cloud) Keep(want Desired, _ Observed, differences []plan.Difference) Desired {
	want.Kept = differences
	return want
}
