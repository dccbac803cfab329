package instances

import (
	"context"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/names"
)

// adopter launches instances for nodes that have none.
type adopter struct {
	api      api.API
	ids      *names.Scheme
	enabled  bool
	inMemory bool
	// instanceType of adopted nodes; empty lets the cloud choose.
	instanceType string

	mu sync.Mutex
	// dryRun keeps the adopter from launching instances.
	dryRun bool
	// pending holds the nodes of calls in flight, by instance ID or, without one, by name.
	pending map[string]*pendingNode
	// nodes are the cluster's Nodes.
	nodes *nodes.LazyLister
	zones []string
}

// pendingNode counts the calls in flight for one node.
type pendingNode struct {
	spec    api.InstanceSpec
	callers int
}

// offer makes a node available for adoption until the returned function is called.
func (a *adopter) offer(node *v1.Node) (done func()) {
	spec, key, ok := a.specOf(node)
	if !ok {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[key] == nil {
		a.pending[key] = &pendingNode{}
	}
	a.pending[key].spec = spec
	a.pending[key].callers++
	return func() { a.withdraw(key) }
}

func (a *adopter) withdraw(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[key].callers--; a.pending[key].callers == 0 {
		delete(a.pending, key)
	}
}

// setDryRun disables adoption.
func (a *adopter) setDryRun(dryRun bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dryRun = dryRun
}

// specOf returns the instance for the adoption of a node, and the key under which package instances requests
// it. A node that has one of our IDs is adopted only by a cloud in memory: in any other, a missing instance
// has been terminated.
func (a *adopter) specOf(node *v1.Node) (spec api.InstanceSpec, key string, ok bool) {
	if !a.enabled {
		return spec, "", false
	}
	spec = api.InstanceSpec{
		Name:              node.Name,
		Zone:              node.Labels[v1.LabelTopologyZone],
		Type:              a.instanceType,
		InternalAddresses: nodeAddresses(node, v1.NodeInternalIP),
		ExternalAddresses: nodeAddresses(node, v1.NodeExternalIP),
	}
	if node.Spec.ProviderID == "" {
		return spec, node.Name, true
	}
	id, err := a.ids.Parse(node.Spec.ProviderID)
	if err != nil {
		return spec, "", false // another cloud's
	}
	if _, adopted := a.ids.AdoptedID(node.Spec.ProviderID); !adopted && !a.inMemory {
		return spec, "", false
	}
	spec.ID = id
	return spec, id, true
}

// adopt launches instances for the keys of offered nodes, in one call, and returns them.
func (a *adopter) adopt(ctx context.Context, keys []string) ([]api.Instance, error) {
	specs := a.pendingSpecs(keys)
	if len(specs) == 0 {
		return nil, nil
	}
	adopted, err := a.launch(ctx, specs)
	if err != nil {
		return nil, err
	}
	// Nodes of kwok join by the thousand. Without this, calls for the others would follow, a few at a time: nodes
	// that are adopted now are all in the next list of instances.
	if err := a.adoptJoining(ctx, adopted); err != nil {
		klog.FromContext(ctx).Info("Failed to adopt nodes in one call; adopting them one by one", "provider", names.Provider,
			"err", err)
	}
	return adopted, nil
}

// adoptJoining adopts every node that waits for its initialisation, except those already adopted.
func (a *adopter) adoptJoining(ctx context.Context, adopted []api.Instance) error {
	specs, err := a.joiningSpecs(adopted)
	if err != nil || len(specs) == 0 {
		return err
	}
	names := make([]string, len(specs))
	for i, spec := range specs {
		names[i] = spec.Name
	}
	existing, err := a.api.FindInstances(ctx, names)
	if err != nil {
		return err
	}
	specs = slices.DeleteFunc(specs, func(spec api.InstanceSpec) bool {
		return slices.ContainsFunc(existing, func(i api.Instance) bool { return i.Name == spec.Name })
	})
	if len(specs) == 0 {
		return nil
	}
	_, err = a.launch(ctx, specs)
	return err
}

func (a *adopter) joiningSpecs(adopted []api.Instance) ([]api.InstanceSpec, error) {
	lister := a.nodes.Lister()
	if lister == nil {
		return nil, nil
	}
	list, err := lister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	var specs []api.InstanceSpec
	for _, node := range list {
		spec, _, ok := a.specOf(node)
		isAdopted := slices.ContainsFunc(adopted, func(i api.Instance) bool { return i.Name == node.Name })
		if ok && !isAdopted && isUninitialized(node) {
			specs = append(specs, spec)
		}
	}
	return specs, nil
}

// isUninitialized reports whether a node still has its initial taint, and is not opted out.
func isUninitialized(node *v1.Node) bool {
	return node.Labels[provider.ManagedLabel] != "false" && slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
}

func (a *adopter) launch(ctx context.Context, specs []api.InstanceSpec) ([]api.Instance, error) {
	zones, err := a.zoneNames(ctx)
	if err != nil {
		return nil, err
	}
	for i := range specs {
		if !slices.Contains(zones, specs[i].Zone) {
			specs[i].Zone = "" // another cloud's label: the cloud chooses a zone
		}
	}
	launched, err := a.api.LaunchInstances(ctx, specs)
	if err != nil {
		return nil, err
	}
	klog.FromContext(ctx).Info("Adopted nodes that run outside the cloud", "provider", names.Provider,
		"nodes", len(launched))
	return launched, nil
}

// pendingSpecs returns the instances for the adoption of offered nodes; none in dry run.
func (a *adopter) pendingSpecs(keys []string) []api.InstanceSpec {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dryRun {
		return nil
	}
	var specs []api.InstanceSpec
	for _, key := range keys {
		if n := a.pending[key]; n != nil {
			specs = append(specs, n.spec)
		}
	}
	return specs
}

// zoneNames reads the zones once: a zone that is added to the region later is only missing in the labels of
// adopted nodes.
func (a *adopter) zoneNames(ctx context.Context) ([]string, error) {
	a.mu.Lock()
	zones := a.zones
	a.mu.Unlock()
	if zones != nil {
		return zones, nil
	}
	found, err := a.api.ListZones(ctx)
	if err != nil {
		return nil, err
	}
	for _, zone := range found {
		zones = append(zones, zone.Name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.zones = zones
	return zones, nil
}

// nodeAddresses returns a node's own addresses, so that adoption does not change them.
func nodeAddresses(node *v1.Node, kind v1.NodeAddressType) []string {
	var out []string
	for _, address := range node.Status.Addresses {
		if address.Type == kind && !slices.Contains(out, address.Address) {
			out = append(out, address.Address)
		}
	}
	return out
}
