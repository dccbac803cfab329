package instances

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// IDOfNodeName returns the instance ID in the name of a Node: i-0123456789abcdef0 with any domain, which EC2
// assigns to instances with resource-based names, and the name of a Fargate node.
func IDOfNodeName(nodeName string) (id string, ok bool) {
	if names.IsFargate(nodeName) {
		return nodeName, true
	}
	id, _, _ = strings.Cut(nodeName, ".")
	return id, names.IsInstanceID(id)
}

// Find implements commoninstances.Source. The name of a Node is its instance's private DNS name, or contains
// the instance's ID, or contains its address before a custom domain (ip-10-0-1-2.example.com). Find ignores
// instances without the cluster's tag, because instances in other VPCs may have the same names.
func (s *Source) Find(
	ctx context.Context, nodes []commoninstances.NodeRef,
) ([]commoninstances.Instance, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	found := matches{}
	others, err := s.findByID(ctx, commoninstances.NamesOf(nodes), found)
	if err != nil {
		return nil, err
	}
	if err := s.findByDNSName(ctx, conn, others, found); err != nil {
		return nil, err
	}
	addresses := map[string]string{}
	for _, name := range others {
		if ip, ok := addressInName(name); ok && len(found[name]) == 0 && conn.VPC != "" {
			addresses[name] = ip.String()
		}
	}
	if err := s.findByAddress(ctx, conn, addresses, found); err != nil {
		return nil, err
	}
	return found.instances()
}

// matches holds the instances found for each node name.
type matches map[string][]commoninstances.Instance

// findByID finds Nodes with an ID in their name, and returns the names of the others.
func (s *Source) findByID(ctx context.Context, nodeNames []string, found matches) (others []string, err error) {
	nameOf := map[string][]string{}
	for _, name := range nodeNames {
		if id, ok := IDOfNodeName(name); ok {
			nameOf[id] = append(nameOf[id], name)
		} else {
			others = append(others, name)
		}
	}
	if len(nameOf) == 0 {
		return others, nil
	}
	list, err := s.Get(ctx, slices.Sorted(maps.Keys(nameOf)))
	for _, i := range list {
		for _, name := range nameOf[i.ID] {
			found[name] = append(found[name], i)
		}
	}
	return others, err
}

// findByDNSName finds instances with a private DNS name that is the name of the Node.
func (s *Source) findByDNSName(ctx context.Context, conn Connection, nodeNames []string, found matches) error {
	return s.findValues(ctx, conn, filterPrivateName, nodeNames, found, func(i *ec2types.Instance) []string {
		return []string{aws.ToString(i.PrivateDnsName)}
	})
}

// findByAddress finds instances by their primary address; addresses are by node name.
func (s *Source) findByAddress(
	ctx context.Context, conn Connection, addresses map[string]string, found matches,
) error {
	nameOf := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		nameOf[addresses[name]] = append(nameOf[addresses[name]], name)
	}
	namesOf := func(i *ec2types.Instance) []string { return nameOf[aws.ToString(i.PrivateIpAddress)] }
	return s.findValues(ctx, conn, filterPrivateIP, slices.Sorted(maps.Keys(nameOf)), found, namesOf)
}

// findValues reads the cluster's instances that match a filter, and adds them to found by node name.
func (s *Source) findValues(
	ctx context.Context, conn Connection, filter string, values []string, found matches,
	nodeNames func(*ec2types.Instance) []string,
) error {
	if len(values) == 0 {
		return nil
	}
	otherFilters := append(conn.InVPC(), existingStates())
	list, err := inChunks(values, filter, otherFilters, func(filters []ec2types.Filter) ([]ec2types.Instance, error) {
		return conn.describe(ctx, filters)
	})
	if err != nil {
		return err
	}
	list = conn.owned(list)
	converted, err := s.convert(ctx, conn, list)
	if err != nil {
		return err
	}
	for n := range list {
		for _, name := range nodeNames(&list[n]) {
			found[name] = append(found[name], converted[n])
		}
	}
	return nil
}

// instances returns each instance under the requested node name. Two instances for one name are an error,
// because either may be that of the Node.
func (found matches) instances() ([]commoninstances.Instance, error) {
	var out []commoninstances.Instance
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list := found[name]
		if len(list) > 1 {
			var ids []string
			for _, i := range list {
				ids = append(ids, i.ID)
			}
			slices.Sort(ids)
			return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeInstances",
				Err: fmt.Errorf("node %s matches several instances (%s): start its kubelet with --provider-id",
					name, strings.Join(ids, ", "))}
		}
		i := list[0]
		i.NodeName = name
		out = append(out, i)
	}
	return out, nil
}
