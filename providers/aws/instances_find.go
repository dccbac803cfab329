package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// idOfName returns the instance ID in a node's name: i-0123456789abcdef0 with any domain, which EC2
// gives instances that are named by their resource, and the name of a Fargate node.
func idOfName(nodeName string) (id string, ok bool) {
	if names.IsFargate(nodeName) {
		return nodeName, true
	}
	id, _, _ = strings.Cut(nodeName, ".")
	return id, machineID.MatchString(id)
}

// Find implements instances.Source. A node's name is its instance's private DNS name, or holds the
// instance's ID, or holds its address before a domain of the user's own (ip-10-0-1-2.example.com).
// Only instances with the cluster's tag count, because others have the same names in other VPCs.
func (s *instanceSource) Find(ctx context.Context, nodeNames []string) ([]instances.Instance, error) {
	in, err := s.scope(ctx)
	if err != nil {
		return nil, err
	}
	found := matches{}
	named, err := s.findByID(ctx, nodeNames, found)
	if err != nil {
		return nil, err
	}
	if err := s.findBy(ctx, in, "private-dns-name", named, found); err != nil {
		return nil, err
	}
	addressed := map[string]string{}
	for _, name := range named {
		if ip, ok := addressInName(name); ok && len(found[name]) == 0 && in.VPC != "" {
			addressed[name] = ip.String()
		}
	}
	if err := s.findByAddress(ctx, in, addressed, found); err != nil {
		return nil, err
	}
	return found.instances()
}

// matches are the instances found for each node name.
type matches map[string][]instances.Instance

// findByID finds the nodes whose names hold an ID, and returns the others.
func (s *instanceSource) findByID(ctx context.Context, nodeNames []string, found matches) (rest []string, err error) {
	nameOf := map[string][]string{}
	for _, name := range nodeNames {
		if id, ok := idOfName(name); ok {
			nameOf[id] = append(nameOf[id], name)
		} else {
			rest = append(rest, name)
		}
	}
	if len(nameOf) == 0 {
		return rest, nil
	}
	list, err := s.Get(ctx, slices.Sorted(maps.Keys(nameOf)))
	for _, i := range list {
		for _, name := range nameOf[i.ID] {
			found[name] = append(found[name], i)
		}
	}
	return rest, err
}

// findBy finds instances by a filter whose values are the node names themselves.
func (s *instanceSource) findBy(ctx context.Context, in scope, filter string, nodeNames []string, found matches) error {
	return s.findValues(ctx, in, filter, nodeNames, found, func(i *ec2types.Instance) []string {
		return []string{aws.ToString(i.PrivateDnsName)}
	})
}

// findByAddress finds instances by their primary address; addressed holds it by node name.
func (s *instanceSource) findByAddress(ctx context.Context, in scope, addressed map[string]string, found matches) error {
	nameOf := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(addressed)) {
		nameOf[addressed[name]] = append(nameOf[addressed[name]], name)
	}
	return s.findValues(ctx, in, filterPrivateIP, slices.Sorted(maps.Keys(nameOf)), found, func(i *ec2types.Instance) []string {
		return nameOf[aws.ToString(i.PrivateIpAddress)]
	})
}

// findValues reads the cluster's instances that match a filter, and files them under node names.
func (s *instanceSource) findValues(ctx context.Context, in scope, filter string, values []string, found matches, nodeNames func(*ec2types.Instance) []string) error {
	if len(values) == 0 {
		return nil
	}
	others := append(in.inVPC(), alive())
	list, err := inChunks(values, filter, others, func(filters []ec2types.Filter) ([]ec2types.Instance, error) {
		return s.describe(ctx, filters)
	})
	if err != nil {
		return err
	}
	list = in.ours(list)
	converted, err := s.convert(ctx, in, list)
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

// instances names each instance as it was asked for. Two of one name are an error, because
// either may be the one that is meant.
func (found matches) instances() ([]instances.Instance, error) {
	var out []instances.Instance
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list := found[name]
		if len(list) > 1 {
			var ids []string
			for _, i := range list {
				ids = append(ids, i.ID)
			}
			slices.Sort(ids)
			return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeInstances",
				Err: fmt.Errorf("node %s may be any of the instances %s: start its kubelet with --provider-id", name, strings.Join(ids, ", "))}
		}
		i := list[0]
		i.NodeName = name
		out = append(out, i)
	}
	return out, nil
}
