package conformance

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

var kubernetesLabel = regexp.MustCompile(`(^|\.)(kubernetes|k8s)\.io/`)

// initialiseNodes is the node controller's work on nodes that still carry the uninitialized taint:
// the first of its two writes. The addresses follow, see refreshNodes.
func (d *direct) initialiseNodes(ctx context.Context, m *manager) error {
	instances, ok := m.cloud.InstancesV2()
	if !ok {
		return nil
	}
	return d.forNodes(ctx, func(node *v1.Node) error {
		if !hasTaint(node, cloudproviderapi.TaintExternalCloudProvider) {
			return nil
		}
		metadata, err := instances.InstanceMetadata(ctx, node.DeepCopy())
		switch {
		case err != nil:
			return fmt.Errorf("failed to get instance metadata for node %s: %w", node.Name, err)
		case metadata == nil || m.life.Err() != nil:
			return m.life.Err()
		case metadata.ProviderID == "" && node.Spec.ProviderID == "":
			return fmt.Errorf("cloud provider does not set node provider ID for node %s", node.Name)
		}
		initialise(node, metadata)
		return d.store.updateNode(ctx, node)
	})
}

// initialise is what the node controller writes into a node, but for its status.
func initialise(node *v1.Node, metadata *cloudprovider.InstanceMetadata) {
	if node.Spec.ProviderID == "" {
		node.Spec.ProviderID = metadata.ProviderID
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for key, value := range map[string]string{
		v1.LabelInstanceType: metadata.InstanceType, v1.LabelInstanceTypeStable: metadata.InstanceType,
		v1.LabelFailureDomainBetaZone: metadata.Zone, v1.LabelTopologyZone: metadata.Zone,
		v1.LabelFailureDomainBetaRegion: metadata.Region, v1.LabelTopologyRegion: metadata.Region,
	} {
		if value != "" {
			node.Labels[key] = value
		}
	}
	for key, value := range metadata.AdditionalLabels {
		if _, taken := node.Labels[key]; !taken && !kubernetesLabel.MatchString(key) {
			node.Labels[key] = value
		}
	}
	removeTaint(node, cloudproviderapi.TaintExternalCloudProvider)
}

// refreshNodes is the node controller's pass over initialised nodes, periodic and right after
// their initialisation.
func (d *direct) refreshNodes(ctx context.Context, m *manager) error {
	instances, ok := m.cloud.InstancesV2()
	if !ok {
		return nil
	}
	return d.forNodes(ctx, func(node *v1.Node) error {
		if hasTaint(node, cloudproviderapi.TaintExternalCloudProvider) {
			return nil
		}
		metadata, err := instances.InstanceMetadata(ctx, node.DeepCopy())
		if err != nil {
			return fmt.Errorf("error getting instance metadata for node addresses: %w", err)
		}
		if metadata == nil {
			// The framework dereferences it: a crash of the whole manager.
			return fmt.Errorf("nil metadata for initialised node %s crashes the node controller", node.Name)
		}
		if m.life.Err() != nil || !setAddresses(node, metadata.NodeAddresses) {
			return m.life.Err()
		}
		return d.store.updateNode(ctx, node)
	})
}

// setAddresses puts the cloud's addresses on the node and keeps the kubelet's host name, and says
// whether that changed anything. It shares the framework's blind spot: where no type has two
// addresses, a changed order alone is not seen.
func setAddresses(node *v1.Node, addresses []v1.NodeAddress) bool {
	if len(addresses) == 0 {
		return false
	}
	addresses = slices.Clone(addresses)
	isHostName := func(a v1.NodeAddress) bool { return a.Type == v1.NodeHostName }
	if !slices.ContainsFunc(addresses, isHostName) {
		for _, a := range node.Status.Addresses {
			if isHostName(a) {
				addresses = append(addresses, a)
			}
		}
	}
	last := map[v1.NodeAddressType]string{}
	for _, a := range node.Status.Addresses {
		last[a.Type] = a.Address
	}
	differs := func(a v1.NodeAddress) bool { return last[a.Type] != a.Address }
	if len(addresses) == len(node.Status.Addresses) && !slices.ContainsFunc(addresses, differs) {
		return false
	}
	if slices.Equal(addresses, node.Status.Addresses) {
		return false
	}
	node.Status.Addresses = addresses
	return true
}

// monitorNodes is one pass of the node lifecycle controller.
func (d *direct) monitorNodes(ctx context.Context, m *manager) error {
	instances, ok := m.cloud.InstancesV2()
	if !ok {
		return nil
	}
	return d.forNodes(ctx, func(node *v1.Node) error {
		if isReady(node) {
			if removeTaint(node, cloudproviderapi.TaintNodeShutdown) {
				return d.store.updateNode(ctx, node)
			}
			return nil
		}
		exists, err := instances.InstanceExists(ctx, node.DeepCopy())
		switch {
		case err != nil:
			return fmt.Errorf("error checking if node %s exists: %w", node.Name, err)
		case m.life.Err() != nil:
			return m.life.Err()
		case !exists:
			return d.store.deleteNode(ctx, node.Name)
		}
		shutdown, err := instances.InstanceShutdown(ctx, node.DeepCopy())
		switch {
		case err != nil:
			return fmt.Errorf("error checking if node %s is shutdown: %w", node.Name, err)
		case !shutdown || m.life.Err() != nil || hasTaint(node, cloudproviderapi.TaintNodeShutdown):
			return m.life.Err()
		}
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: cloudproviderapi.TaintNodeShutdown, Effect: v1.TaintEffectNoSchedule})
		return d.store.updateNode(ctx, node)
	})
}

func (d *direct) forNodes(ctx context.Context, work func(*v1.Node) error) error {
	nodes, err := d.store.nodes(ctx)
	if err != nil {
		return err
	}
	return sideBySide(nodes, work)
}

func hasTaint(node *v1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == key })
}

func removeTaint(node *v1.Node, key string) (changed bool) {
	before := len(node.Spec.Taints)
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == key })
	return len(node.Spec.Taints) != before
}

func isReady(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
	})
}

// setCondition sets a condition and says whether it changed.
func setCondition(node *v1.Node, kind v1.NodeConditionType, status v1.ConditionStatus, reason string) bool {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if c.Type != kind {
			continue
		}
		if c.Status == status && c.Reason == reason {
			return false
		}
		c.Status, c.Reason, c.LastTransitionTime = status, reason, metav1.Now()
		return true
	}
	node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{
		Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.Now(),
	})
	return true
}
