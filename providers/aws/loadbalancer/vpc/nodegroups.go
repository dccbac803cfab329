package vpc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// instancesShown is the maximum number of instances of one problem in a message.
const instancesShown = 3

// NodeGroups are the security groups with rules that allow a load balancer to reach nodes, sorted.
type NodeGroups struct {
	// IDs are all groups of each instance with the cluster's tag, or else its only group.
	IDs []string
	// Unclear are the groups of instances that have several and none with the cluster's tag, and all groups beside IDs
	// while there are instances that cannot be read. Rules in them stay.
	Unclear []string
	// Problem names these instances, and is nil without any. It prevents the creation of a load balancer.
	Problem error `json:"-"`
}

// Refuse returns Problem for a load balancer that does not exist yet. For one that exists it returns a warning, if
// there is a problem.
func (g NodeGroups) Refuse(exists bool) (warning string, err error) {
	switch {
	case g.Problem == nil:
		return "", nil
	case exists:
		return fmt.Sprintf("the rules of these nodes stay as they are: %v", g.Problem), nil
	default:
		return "", g.Problem
	}
}

// NodeGroupsOf returns the security groups of instances. It omits instances that are not in the shared state.
func NodeGroupsOf(s SharedState, instanceIDs []string) NodeGroups {
	clearGroups, unclearGroups := map[string]bool{}, map[string]bool{}
	unclear := map[string][]string{} // instances by the reason why their group is not clear
	for _, id := range instanceIDs {
		instance, ok := s.Instances[id]
		if !ok {
			continue
		}
		groups, reason := nodeGroups(instance, s.Groups)
		if reason != "" {
			unclear[reason] = append(unclear[reason], id)
			for _, group := range instance.SecurityGroups {
				unclearGroups[aws.ToString(group.GroupId)] = true
			}
		}
		for _, group := range groups {
			clearGroups[group] = true
		}
	}
	if len(s.Unread) > 0 {
		for _, group := range s.Groups.All() {
			if !clearGroups[group.ID] {
				unclearGroups[group.ID] = true
			}
		}
	}
	var problems intent.Problems
	for _, reason := range slices.Sorted(maps.Keys(unclear)) {
		problems.Addf(ShowInstances(unclear[reason]), "", "%s: give the tag %s=%s to the security group in which load "+
			"balancers may open ports", reason, names.ClusterTag(s.Cluster.ID), names.Owned)
	}
	return NodeGroups{IDs: slices.Sorted(maps.Keys(clearGroups)), Unclear: slices.Sorted(maps.Keys(unclearGroups)),
		Problem: problems.Err("security groups of nodes")}
}

// Untagged returns those of the instances that exist and lack the cluster's tag, sorted, and a warning that names them.
// As with cloud-provider-aws, they receive no traffic.
func (s SharedState) Untagged(ids []string) (untagged []string, warning string) {
	key := names.ClusterTag(s.Cluster.ID)
	isClusterTag := func(t ec2types.Tag) bool { // without a map of each instance's tags, for each of many Services
		tag := aws.ToString(t.Key)
		return tag == key || tag == names.LegacyClusterTag && aws.ToString(t.Value) == s.Cluster.ID
	}
	untagged = slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		instance, ok := s.Instances[id]
		return !ok || slices.ContainsFunc(instance.Tags, isClusterTag)
	})))
	if len(untagged) == 0 {
		return nil, ""
	}
	verb := "lacks"
	if len(untagged) > 1 {
		verb = "lack"
	}
	return untagged, fmt.Sprintf("%s %s the tag %s, without which load balancers of the cluster send no traffic there: "+
		"add the tag, with any value", ShowInstances(untagged), verb, names.ClusterTag(s.Cluster.ID))
}

// nodeGroups returns the groups of one instance, or the reason why they are not clear.
func nodeGroups(instance *ec2types.Instance, known Groups) (groups []string, reason string) {
	attached := api.Convert(instance.SecurityGroups,
		func(g ec2types.GroupIdentifier) string { return aws.ToString(g.GroupId) })
	tagged := slices.DeleteFunc(slices.Clone(attached), func(id string) bool { return !known.Tagged(id) })
	switch {
	case len(tagged) > 0:
		return tagged, ""
	case len(attached) == 1:
		return attached, ""
	case len(attached) == 0:
		return nil, "it has no security group"
	default:
		slices.Sort(attached)
		return nil, fmt.Sprintf("of its security groups %s none has the cluster's tag", strings.Join(attached, ", "))
	}
}

// ShowInstances lists instances for a message, and counts those beyond a few.
func ShowInstances(list []string) string {
	slices.Sort(list)
	if len(list) == 1 {
		return "instance " + list[0]
	}
	shown := strings.Join(list[:min(len(list), instancesShown)], ", ")
	if hidden := len(list) - instancesShown; hidden > 0 {
		shown += fmt.Sprintf(" and %d more", hidden)
	}
	return "instances " + shown
}

// HasPrimaryIPv6 reports whether an instance has a primary IPv6 address, on any network interface.
func HasPrimaryIPv6(instance *ec2types.Instance) bool {
	return slices.ContainsFunc(instance.NetworkInterfaces, func(n ec2types.InstanceNetworkInterface) bool {
		return slices.ContainsFunc(n.Ipv6Addresses, func(a ec2types.InstanceIpv6Address) bool {
			return aws.ToBool(a.IsPrimaryIpv6)
		})
	})
}
