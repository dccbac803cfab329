package model

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	commonnodes "github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// subnetLabel is the label of nodes in a further subnet of the cluster. Instance groups have instances of one subnet.
const subnetLabel = "cloud.google.com/gke-node-pool-subnet"

// Node is a node with an instance.
type Node struct {
	// Instance is ZONE/NAME, Subnet the value of subnetLabel.
	Instance, Subnet string
}

// NodesOf returns the nodes with instances. Those without a provider ID, with one of another cloud, or with that of an
// instance of another name receive no traffic: kubelets choose their provider IDs, and the names of their nodes are
// those of their certificates.
func NodesOf(nodes []*v1.Node, instanceID func(providerID string) (string, error)) []Node {
	out := make([]Node, 0, len(nodes))
	for _, node := range nodes {
		if id, err := instanceID(node.Spec.ProviderID); err == nil && isNamedAs(node, id) {
			out = append(out, Node{id, node.Labels[subnetLabel]})
		}
	}
	sorting.Func(out, func(a, b Node) int { return strings.Compare(a.Instance, b.Instance) })
	return slices.Compact(out)
}

// isNamedAs reports whether a node has the name of an instance.
func isNamedAs(node *v1.Node, instance string) bool {
	_, name := names.SplitInstanceID(instance)
	return name == names.InstanceName(node.Name)
}

// Misnamed returns a warning about nodes with the provider ID of an instance of another name; "" without any.
func Misnamed(nodes []*v1.Node, instanceID func(providerID string) (string, error)) string {
	var found []string
	for _, node := range nodes {
		if id, err := instanceID(node.Spec.ProviderID); err == nil && !isNamedAs(node, id) {
			found = append(found, node.Name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return "nodes with the provider ID of an instance of another name receive no traffic: " +
		strings.Join(intent.Limit(found), ", ")
}

// Unidentified are the instances with the names of nodes without a provider ID. Kubelets that started without
// --cloud-provider=external get none, and earlier managers made the instances of their names members. Those that are
// stay, and none is added: a node could have the name of any machine.
type Unidentified []string

// UnidentifiedOf returns the instances of nodes without a provider ID.
func UnidentifiedOf(nodes []*v1.Node) Unidentified {
	var out Unidentified
	for _, node := range nodes {
		if node.Spec.ProviderID == "" {
			out = append(out, names.InstanceName(node.Name))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// In returns those of some instances, as ZONE/NAME.
func (u Unidentified) In(instances []string) []string {
	return slices.DeleteFunc(slices.Clone(instances), func(id string) bool {
		_, name := names.SplitInstanceID(id)
		return !slices.Contains(u, name)
	})
}

// UnidentifiedWarning returns a warning about nodes that never get a provider ID; "" without any. Those of kubelets
// with --cloud-provider=external are about to get one.
func UnidentifiedWarning(nodes []*v1.Node) string {
	var found []string
	for _, node := range nodes {
		if node.Spec.ProviderID == "" && !commonnodes.Uninitialized(node) {
			found = append(found, node.Name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return "nodes without a provider ID stay in load balancers and are not added to any: set their spec.providerID to " +
		names.Scheme + "://PROJECT/ZONE/NAME: " + strings.Join(intent.Limit(found), ", ")
}

// InstancesOf returns the instances of nodes.
func InstancesOf(nodes []Node) []string {
	ids := make([]string, len(nodes))
	for i, node := range nodes {
		ids[i] = node.Instance
	}
	return ids
}

// inRegion returns the nodes in a region, with a warning about others: no object of a load balancer can have them.
func inRegion(nodes []Node, region string, warnings []string) (inside []Node, allWarnings []string) {
	var outside []string
	for _, node := range nodes {
		if zone, name := names.SplitInstanceID(node.Instance); names.RegionOf(zone) != region {
			outside = append(outside, name)
			continue
		}
		inside = append(inside, node)
	}
	if len(outside) > 0 {
		warnings = append(warnings, fmt.Sprintf("instances outside of the region %s receive no traffic: %s", region,
			strings.Join(intent.Limit(outside), ", ")))
	}
	return inside, warnings
}

// PoolMembers returns the instances that a pool of a region can have, with a warning about others.
func PoolMembers(nodes []Node, region string, warnings []string) (members, allWarnings []string) {
	nodes, warnings = inRegion(nodes, region, warnings)
	return InstancesOf(nodes), warnings
}

// GroupsOf returns the instances of the region by zone, with a warning about others. A group has the first ones by
// name, and only those of one subnet.
func GroupsOf(nodes []Node, shared SharedState, warnings []string) (groups []Group, allWarnings []string) {
	subnet := api.Last(shared.Subnetwork)
	nodes, warnings = inRegion(nodes, shared.Environment.Region, warnings)
	byZone := map[string][]string{}
	var zones []string
	for _, node := range nodes {
		if node.Subnet != "" && subnet != "" && node.Subnet != subnet {
			continue
		}
		id := node.Instance
		zone, _ := names.SplitInstanceID(id)
		if byZone[zone] == nil {
			zones = append(zones, zone)
		}
		byZone[zone] = append(byZone[zone], id)
	}
	slices.Sort(zones)
	groups = make([]Group, len(zones))
	for i, zone := range zones {
		members := slices.Sorted(slices.Values(byZone[zone]))
		groups[i] = Group{Zone: zone, Members: members[:min(len(members), MaxMembers)]}
	}
	return groups, warnings
}

// UntaggedWarning returns the warning about instances that firewalls cannot select, with what to do.
func UntaggedWarning(instances []string) string {
	return "firewalls of load balancers cannot select the instances " + strings.Join(intent.Limit(instances), ", ") +
		": they have no network tag with which their names begin; add one to each of them, or set node-tags in section " +
		"[global] to the tag that all nodes have"
}
