package aws

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Limits of EC2's Describe actions, from its API reference.
const (
	// maxFilterValues is how many values all filters of one call may have in sum.
	maxFilterValues = 200
	// pageSize is the most objects on a page of DescribeInstances and DescribeNetworkInterfaces.
	pageSize = 1000
)

// scope is what the provider looks after.
type scope struct {
	// ClusterID is the cluster's ID in tags.
	ClusterID string
	// VPC is where the nodes are, and Region the region that it is in.
	VPC, Region string
}

// alive lets through the states of instances that exist. One that is terminated stays visible for about an hour.
func alive() ec2types.Filter {
	return ec2Filter("instance-state-name", "pending", "running", "shutting-down", "stopping", "stopped")
}

func ec2Filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: &name, Values: values}
}

// inVPC is the filter of one VPC, or no filter where none is known.
func (s scope) inVPC() []ec2types.Filter {
	if s.VPC == "" {
		return nil
	}
	return []ec2types.Filter{ec2Filter("vpc-id", s.VPC)}
}

// clusterTagged lets through what may have the cluster's tag, in either spelling. Whether the
// legacy tag has the right value is checked afterwards, by names.HasCluster: filters of one call
// are all required, so one call cannot ask for one key or another with a value.
func (s scope) clusterTagged() ec2types.Filter {
	return ec2Filter("tag-key", names.ClusterTag(s.ClusterID), names.LegacyClusterTag)
}

// literal quotes what EC2's filters take for wildcards, so that a value matches itself only.
var literal = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`)

// inChunks calls read with as many values at a time as fit one call beside the other filters.
func inChunks[T any](values []string, filterName string, others []ec2types.Filter, read func([]ec2types.Filter) ([]T, error)) ([]T, error) {
	room := maxFilterValues
	for _, f := range others {
		room -= len(f.Values)
	}
	var all []T
	for chunk := range slices.Chunk(values, room) {
		quoted := make([]string, len(chunk))
		for i, v := range chunk {
			quoted[i] = literal.Replace(v)
		}
		found, err := read(append(slices.Clone(others), ec2Filter(filterName, quoted...)))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// describe reads all instances that match the filters, all pages, without what nobody asks for.
func (s *instanceSource) describe(ctx context.Context, filters []ec2types.Filter) ([]ec2types.Instance, error) {
	var all []ec2types.Instance
	pages := ec2.NewDescribeInstancesPaginator(s.ec2, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("DescribeInstances", err)
		}
		for _, r := range page.Reservations {
			for i := range r.Instances {
				all = append(all, slim(&r.Instances[i]))
			}
		}
	}
	return all, nil
}

// slim keeps of an instance what the provider uses: thousands of them are remembered.
func slim(i *ec2types.Instance) ec2types.Instance {
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

// tagsOf returns EC2's tags as a map.
func tagsOf(list []ec2types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, t := range list {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags
}

// gone says whether an instance does not exist any more. One without a state exists.
func gone(i *ec2types.Instance) bool {
	return i.State != nil && i.State.Name == ec2types.InstanceStateNameTerminated
}
