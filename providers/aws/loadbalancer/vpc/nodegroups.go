package vpc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// instancesShown is how many instances of one problem a message names.
const instancesShown = 3

// NodeGroups returns the security groups, sorted, in which rules let a load balancer reach these
// instances: of each instance all groups with the cluster's tag, or else its only group. Instances
// that are not in the shared state are left out. The error holds intent.Problems.
func NodeGroups(s SharedState, instanceIDs []string) ([]string, error) {
	set := map[string]bool{}
	unclear := map[string][]string{} // instances by why their group is not clear
	for _, id := range instanceIDs {
		instance, ok := s.Instances[id]
		if !ok {
			continue
		}
		groups, why := nodeGroups(instance, s.Groups)
		if why != "" {
			unclear[why] = append(unclear[why], id)
		}
		for _, group := range groups {
			set[group] = true
		}
	}
	var problems intent.Problems
	for _, why := range slices.Sorted(maps.Keys(unclear)) {
		problems.Addf(showInstances(unclear[why]), "", "%s: give the tag %s=%s to the security group in which load "+
			"balancers may open ports",
			why, names.ClusterTag(s.Cluster.ID), names.Owned)
	}
	return slices.Sorted(maps.Keys(set)), problems.Err("security groups of nodes")
}

// nodeGroups returns the groups of one instance, or why they are not clear.
func nodeGroups(instance ec2types.Instance, known Groups) (groups []string, why string) {
	var attached []string
	for _, group := range instance.SecurityGroups {
		attached = append(attached, aws.ToString(group.GroupId))
	}
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

func showInstances(list []string) string {
	slices.Sort(list)
	if len(list) == 1 {
		return "instance " + list[0]
	}
	shown := strings.Join(list[:min(len(list), instancesShown)], ", ")
	if more := len(list) - instancesShown; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return "instances " + shown
}
