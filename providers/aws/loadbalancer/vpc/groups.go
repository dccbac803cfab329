package vpc

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const (
	// groupsAge is the max age of lists of security groups: see subnetsAge. Our own writes update their snapshot in
	// between.
	groupsAge = 30 * time.Second
	// filterValues is the maximum number of values of a filter of EC2.
	filterValues = 200
	// settleTime bounds how long reads of EC2 may miss a new group. EC2 documents no bound; until then a group
	// that we created and that a list lacks counts as existing.
	settleTime = 2 * time.Minute
)

// GroupQuery selects groups in addition to those with the cluster's tag.
type GroupQuery struct {
	// IDs of groups. Missing ones are absent from the result.
	IDs []string
	// Name of a group that may have no tag yet. It is read only if Fresh.
	Name string
	// Fresh reads the group of Name from EC2. Others are shared, updated by our own writes and at most half a
	// minute old.
	Fresh bool
}

// GroupStore is the snapshot of security groups that all Services share. Our own writes update it; after an
// uncertain one, the next Get is a read.
type GroupStore struct {
	options Options
	state   *snapshot.Store
	// groups are those with the cluster's tag and those of queries. all are those of the VPC as of the last sweep.
	groups, all *snapshot.Table[Group]

	mu sync.Mutex
	// needed are the IDs of queries, in addition to the cluster's tag. Later lists include them.
	needed map[string]snapshot.Reading
	// releasing has the start of the deletion of groups that are still in use.
	releasing map[string]time.Time

	claims claims
	// removals serialize the removal of rules, by group.
	removals locks.KeyedMutex
}

func newGroupStore(o Options) *GroupStore {
	s := &GroupStore{
		options: o, state: snapshot.NewStore(o.Clock), needed: map[string]snapshot.Reading{},
		releasing: map[string]time.Time{},
	}
	kind := snapshot.Kind[Group]{
		ID: func(g Group) string { return g.ID }, MaxAge: groupsAge, Settle: settleTime,
		Index: func(g Group) []string { return []string{g.Name} },
	}
	kind.List = s.list
	s.groups = snapshot.NewTable(s.state, kind)
	kind.List = s.listAll
	s.all = snapshot.NewTable(s.state, kind)
	return s
}

// Get returns the cluster's groups and those of the query.
func (s *GroupStore) Get(ctx context.Context, q GroupQuery) (Groups, error) {
	s.addNeeded(q.IDs)
	if err := s.groups.Refresh(ctx); err != nil {
		return Groups{}, err
	}
	if since, missing := s.hasMissing(q.IDs); missing {
		if err := s.groups.RefreshAfter(ctx, since); err != nil {
			return Groups{}, err
		}
	}
	if q.Fresh && q.Name != "" {
		if err := s.readNamed(ctx, q.Name); err != nil {
			return Groups{}, err
		}
	}
	return Groups{cluster: s.options.Cluster, byID: s.groups.All()}, nil
}

// Claim records the rules that a load balancer needs, so that the deletion of another one that shares them leaves them.
func (s *GroupStore) Claim(n NodeRules) { s.claims.record(n) }

// Release removes the claim of a load balancer that is deleted.
func (s *GroupStore) Release(loadBalancer string) {
	s.claims.record(NodeRules{LoadBalancer: loadBalancer})
}

// addNeeded adds IDs for future lists.
func (s *GroupStore) addNeeded(ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if _, known := s.needed[id]; !known {
			s.needed[id] = s.state.Begin()
		}
	}
}

// hasMissing reports whether some of these IDs are unknown and were not part of the last list, and since when they are
// needed.
func (s *GroupStore) hasMissing(ids []string) (since snapshot.Reading, missing bool) {
	listed, _ := s.groups.Listed()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if _, exists := s.groups.Get(id); !exists && !listed.After(s.needed[id]) {
			since, missing = s.needed[id], true
		}
	}
	return since, missing
}

// list reads the groups with the cluster's tag, and the needed ones without it.
func (s *GroupStore) list(ctx context.Context) ([]Group, error) {
	cluster := s.options.Cluster
	list, err := s.describe(ctx, inVPC(s.options.VPC), api.Filter("tag-key", names.ClusterTag(cluster.ID)))
	if err != nil {
		return nil, err
	}
	if cluster.Legacy {
		legacy, err := s.describe(ctx, inVPC(s.options.VPC), api.Filter("tag:"+names.LegacyClusterTag, cluster.ID))
		if err != nil {
			return nil, err
		}
		list = append(list, legacy...)
	}
	missing := slices.DeleteFunc(s.neededIDs(), func(id string) bool {
		return slices.ContainsFunc(list, func(g Group) bool { return g.ID == id })
	})
	for chunk := range slices.Chunk(missing, filterValues) {
		needed, err := s.describe(ctx, inVPC(s.options.VPC), api.Filter("group-id", chunk...))
		if err != nil {
			return nil, err
		}
		list = append(list, needed...)
	}
	return list, nil
}

// listAll reads all groups of the VPC. It also caches the groups that list would return.
func (s *GroupStore) listAll(ctx context.Context) ([]Group, error) {
	r := s.state.Begin()
	needed := s.neededIDs()
	all, err := s.describe(ctx, inVPC(s.options.VPC))
	if err != nil {
		return nil, err
	}
	s.groups.MergeList(r, slices.DeleteFunc(slices.Clone(all), func(g Group) bool {
		return !s.options.Cluster.has(g.Tags) && !slices.Contains(needed, g.ID)
	}))
	return all, nil
}

func (s *GroupStore) neededIDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.needed))
}

// readNamed reads the group of a name, whatever its tags are.
func (s *GroupStore) readNamed(ctx context.Context, name string) error {
	r := s.state.Begin()
	found, err := s.describe(ctx, inVPC(s.options.VPC), api.Filter("group-name", name))
	if err != nil {
		return err
	}
	for _, g := range found {
		s.addNeeded([]string{g.ID}) // it may lack the cluster's tag
	}
	s.groups.MergeSelected(r, found, func(g Group) bool { return g.Name == name })
	return nil
}

// describe returns the groups of a filter, all pages.
func (s *GroupStore) describe(ctx context.Context, filters ...ec2types.Filter) ([]Group, error) {
	var list []Group
	pages := ec2.NewDescribeSecurityGroupsPaginator(s.options.API, &ec2.DescribeSecurityGroupsInput{
		Filters: filters, MaxResults: aws.Int32(groupPage),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("DescribeSecurityGroups", err)
		}
		for _, in := range page.SecurityGroups {
			group, err := toGroup(in)
			if err != nil {
				return nil, err
			}
			list = append(list, group)
		}
	}
	return list, nil
}

// forget removes a group that was deleted.
func (s *GroupStore) forget(id string) {
	s.groups.Delete(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.needed, id)
	delete(s.releasing, id)
}

// markUncertain makes the next Get and the next Sweep read: a write failed and may have been applied
// nevertheless.
func (s *GroupStore) markUncertain() {
	s.groups.Invalidate()
	s.all.Invalidate()
}

// groupIDs returns the security groups of instances, sorted.
func groupIDs(instances map[string]*ec2types.Instance) []string {
	set := map[string]bool{}
	for _, instance := range instances {
		for _, group := range instance.SecurityGroups {
			set[aws.ToString(group.GroupId)] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
