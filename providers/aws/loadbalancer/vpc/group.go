package vpc

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Group is a security group with its ingress rules.
type Group struct {
	ID, Name, Description string
	Tags                  map[string]string
	Rules                 []Rule
}

// String formats the group for users.
func (g Group) String() string {
	if g.Name == "" {
		return g.ID
	}
	return g.ID + " (" + g.Name + ")"
}

// key identifies the group in plans: names are unique in a VPC.
func (g Group) key() string { return cmp.Or(g.Name, g.ID) }

// AllowsLoadBalancer reports whether a rule of the group has the form in which a manager allows load balancers to
// reach nodes: all traffic from another group, without a description as earlier managers write it or with one of
// this manager. Rules of a group for itself never have it, whoever described them: nodes need them to reach each
// other.
func (g Group) AllowsLoadBalancer(r Rule) bool {
	return r.SourceGroup != "" && r.SourceGroup != g.ID && r.Protocol == ProtocolAll &&
		(r.Description == "" || names.IsGroupRule(r.Description))
}

// Groups are security groups of the VPC at one time. Readers must not modify them.
type Groups struct {
	cluster Cluster
	byID    map[string]Group
	// inUse are the IDs of groups that load balancers other than the Service's use.
	inUse map[string]bool
}

// WithUsed returns the groups together with the IDs of those that load balancers other than the Service's use, in
// addition to earlier ones.
func (g Groups) WithUsed(ids map[string]bool) Groups {
	used := maps.Clone(ids)
	if used == nil {
		used = map[string]bool{}
	}
	maps.Copy(used, g.inUse)
	g.inUse = used
	return g
}

// Used returns the IDs of the groups that load balancers other than the Service's use. Callers must not modify them.
func (g Groups) Used() map[string]bool { return g.inUse }

// InUse reports whether a load balancer other than the Service's uses a group.
func (g Groups) InUse(id string) bool { return g.inUse[id] }

// ByID returns a group that was read.
func (g Groups) ByID(id string) (Group, bool) {
	group, ok := g.byID[id]
	return group, ok
}

// Named returns the group of a name, which is unique in a VPC.
func (g Groups) Named(name string) (Group, bool) {
	for _, group := range g.byID {
		if group.Name == name {
			return group, true
		}
	}
	return Group{}, false
}

// All returns every group that was read, by ID in ascending order: those with the cluster's tag, and those of
// queries.
func (g Groups) All() []Group {
	return sorting.SortedFunc(maps.Values(g.byID), func(a, b Group) int { return cmp.Compare(a.ID, b.ID) })
}

// Tagged reports whether a group has the cluster's tag.
func (g Groups) Tagged(id string) bool {
	group, ok := g.byID[id]
	return ok && g.cluster.has(group.Tags)
}

// Owned reports whether a group was created for the cluster only.
func (g Groups) Owned(id string) bool {
	group, ok := g.byID[id]
	return ok && names.OwnedByCluster(group.Tags, g.cluster.ID)
}

func toGroup(in ec2types.SecurityGroup) (Group, error) {
	id := aws.ToString(in.GroupId)
	rules, err := toRules(id, in.IpPermissions)
	return Group{ID: id, Name: aws.ToString(in.GroupName), Description: aws.ToString(in.Description),
		Tags: api.TagMap(in.Tags), Rules: rules}, err
}

// refuseGroup returns the error about a group of our name that belongs to another cluster.
func refuseGroup(group Group) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "security group " + group.Name,
		Err: fmt.Errorf("%s has the tag of another cluster and is left alone: delete it if that cluster no longer exists",
			group)}
}
