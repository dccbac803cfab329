package instances

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Limits of EC2's Describe actions, from its API reference.
const (
	// MaxFilterValues is the maximum sum of the values of all filters of a call.
	MaxFilterValues = 200
	// pageSize is the maximum page size of DescribeInstances and DescribeNetworkInterfaces.
	pageSize = 1000
)

// Scope limits reads to the objects of one cluster.
type Scope struct {
	// ClusterID is the cluster's ID in tags.
	ClusterID string
	// VPC is the VPC of the nodes, and Region the region of the VPC.
	VPC, Region string
}

// existingStates filters out terminated instances, which EC2 returns for about an hour.
func existingStates() ec2types.Filter {
	return api.Filter("instance-state-name", "pending", "running", "shutting-down", "stopping", "stopped")
}

// InVPC returns the filter of the VPC, or no filter if the VPC is unknown.
func (s Scope) InVPC() []ec2types.Filter {
	if s.VPC == "" {
		return nil
	}
	return []ec2types.Filter{api.Filter("vpc-id", s.VPC)}
}

// ClusterTagged returns a filter of the cluster's tag, current or legacy. A call cannot filter by one key
// or by another key with a value, so callers check the value of the legacy tag with names.HasCluster.
func (s Scope) ClusterTagged() ec2types.Filter {
	return api.Filter("tag-key", names.ClusterTag(s.ClusterID), names.LegacyClusterTag)
}

// escapeWildcards escapes the wildcards of EC2's filters, so that a value matches only itself.
var escapeWildcards = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`)

// inChunks calls read with a filter of as many values at a time as fit a call beside the other filters.
func inChunks[T any](
	values []string, filterName string, otherFilters []ec2types.Filter, read func([]ec2types.Filter) ([]T, error),
) ([]T, error) {
	room := MaxFilterValues
	for _, f := range otherFilters {
		room -= len(f.Values)
	}
	var all []T
	for chunk := range slices.Chunk(values, room) {
		escaped := make([]string, len(chunk))
		for i, v := range chunk {
			escaped[i] = escapeWildcards.Replace(v)
		}
		found, err := read(append(slices.Clone(otherFilters), api.Filter(filterName, escaped...)))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Connection is the client of EC2 and the cluster that it is used for.
type Connection struct {
	EC2 api.EC2
	Scope
}

// filter reads the instances that match the filters.
func (c Connection) filter(ctx context.Context, filters []ec2types.Filter) ([]ec2types.Instance, error) {
	return c.describe(ctx, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(pageSize)})
}

// describe reads all pages of instances, trimmed to the used fields.
func (c Connection) describe(ctx context.Context, in *ec2.DescribeInstancesInput) ([]ec2types.Instance, error) {
	var all []ec2types.Instance
	pages := ec2.NewDescribeInstancesPaginator(c.EC2, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("DescribeInstances", err)
		}
		for _, r := range page.Reservations {
			for i := range r.Instances {
				all = append(all, trim(&r.Instances[i]))
			}
		}
	}
	return all, nil
}

// trim returns an instance with only the fields that the provider uses, since thousands are cached.
func trim(i *ec2types.Instance) ec2types.Instance {
	return ec2types.Instance{
		InstanceId:        i.InstanceId,
		InstanceType:      i.InstanceType,
		Ipv6Address:       i.Ipv6Address,
		LaunchTime:        i.LaunchTime,
		NetworkInterfaces: i.NetworkInterfaces,
		Placement:         i.Placement,
		PrivateDnsName:    i.PrivateDnsName,
		PrivateIpAddress:  i.PrivateIpAddress,
		PublicDnsName:     i.PublicDnsName,
		PublicIpAddress:   i.PublicIpAddress,
		SecurityGroups:    i.SecurityGroups,
		SourceDestCheck:   i.SourceDestCheck,
		State:             i.State,
		SubnetId:          i.SubnetId,
		Tags:              i.Tags,
		VpcId:             i.VpcId,
	}
}

// isTerminated reports whether an instance is deleted. An instance without a state exists.
func isTerminated(i *ec2types.Instance) bool {
	return i.State != nil && i.State.Name == ec2types.InstanceStateNameTerminated
}
