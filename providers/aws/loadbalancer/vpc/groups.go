package vpc

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const (
	// filterValues is how many values a filter of EC2 may have.
	filterValues = 200
	// settleTime is how long EC2 may take to show a new group to reads. It documents no bound;
	// until then a group that we made and that a list lacks is taken to exist.
	settleTime = 2 * time.Minute
)

// Group is a security group with its ingress rules.
type Group struct {
	ID, Name, Description string
	Tags                  map[string]string
	Rules                 []Rule
}

// String shows the group to people.
func (g Group) String() string {
	if g.Name == "" {
		return g.ID
	}
	return g.ID + " (" + g.Name + ")"
}

// Groups are security groups of the VPC at one time. Nobody changes what they hold.
type Groups struct {
	cluster Cluster
	byID    map[string]Group
}

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

// All returns every group that was read, by ID in ascending order: those with the cluster's tag,
// and those that were asked for.
func (g Groups) All() []Group {
	return slices.SortedFunc(maps.Values(g.byID), func(a, b Group) int { return cmp.Compare(a.ID, b.ID) })
}

// Tagged says whether a group has the cluster's tag.
func (g Groups) Tagged(id string) bool {
	group, ok := g.byID[id]
	return ok && g.cluster.has(group.Tags)
}

// Owned says whether a group was made for the cluster alone.
func (g Groups) Owned(id string) bool {
	group, ok := g.byID[id]
	return ok && names.OwnedByCluster(group.Tags, g.cluster.ID)
}

// GroupQuery says which groups are needed beside those with the cluster's tag.
type GroupQuery struct {
	// IDs that are needed. Those that do not exist are missing from the answer.
	IDs []string
	// Name of a group that is needed although it may have no tag yet. It is read only if Fresh.
	Name string
	// Fresh demands that the group of Name is read from EC2. Others are shared, kept true by our
	// own writes and never older than half a minute.
	Fresh bool
}

// GroupStore is the snapshot of security groups that all Services share. Our own writes keep it
// true; one that fails in a way that leaves open what was done makes the next look a read.
type GroupStore struct {
	options Options
	turn    locks.Mutex

	mu     sync.Mutex
	groups map[string]Group
	readAt time.Time
	// doubt says that a write failed and nobody knows how far it got.
	doubt bool
	// asked are the IDs, beyond the cluster's tag, that somebody needs; the value says whether
	// the last read has looked for it.
	asked map[string]bool
	// writes counts our own writes; writtenAt is the count when a group was last written, so that
	// a read knows which of them it may have missed.
	writes    uint64
	writtenAt map[string]uint64
	madeAt    map[string]time.Time
	// releasing is since when groups are to be deleted that something still uses.
	releasing map[string]time.Time
	// swept are all groups of the VPC as the last sweep, which began at sweptAt after sweptWrites of
	// our writes, has seen them.
	swept       map[string]Group
	sweptAt     time.Time
	sweptWrites uint64

	claims claims
	// removals are the turns of those who remove rules, by group.
	removals locks.KeyedMutex
}

func newGroupStore(o Options) *GroupStore {
	return &GroupStore{options: o, groups: map[string]Group{},
		asked: map[string]bool{}, writtenAt: map[string]uint64{}, madeAt: map[string]time.Time{}, releasing: map[string]time.Time{}}
}

// Get returns the cluster's groups and those of the query.
func (s *GroupStore) Get(ctx context.Context, q GroupQuery) (Groups, error) {
	if !s.covers(q.IDs) {
		if err := s.refresh(ctx, q.IDs); err != nil {
			return Groups{}, err
		}
	}
	if q.Fresh && q.Name != "" {
		if err := s.readNamed(ctx, q.Name); err != nil {
			return Groups{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Groups{cluster: s.options.Cluster, byID: s.groups}, nil
}

// covers says whether the snapshot can answer for these IDs, and notes that they are needed.
func (s *GroupStore) covers(ids []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	covered := !s.doubt && !s.readAt.IsZero() && s.options.Clock.Since(s.readAt) < groupsAge
	for _, id := range ids {
		if _, ok := s.groups[id]; ok {
			s.asked[id] = true
			continue
		}
		looked, known := s.asked[id]
		if !known {
			s.asked[id] = false
		}
		covered = covered && looked
	}
	return covered
}

// refresh reads the cluster's groups and all that were ever asked for. Callers that come while one
// is reading wait for it.
func (s *GroupStore) refresh(ctx context.Context, ids []string) error {
	return s.reread(ctx, func() bool { return s.covers(ids) }, s.list)
}

// reread takes over what read finds, given the IDs that were ever asked for, unless that is known by
// the time that it is the caller's turn.
func (s *GroupStore) reread(ctx context.Context, known func() bool, list func(context.Context, []string) (map[string]Group, error)) error {
	done, err := s.turn.Lock(ctx)
	if err != nil {
		return err
	}
	defer done()
	if known() {
		return nil
	}
	s.mu.Lock()
	before, started, asked := s.writes, s.options.Clock.Now(), slices.Sorted(maps.Keys(s.asked))
	s.doubt = false // a write that fails from now on is in doubt again
	s.mu.Unlock()
	read, err := list(ctx, asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.doubt = true
		return err
	}
	for id, group := range s.groups {
		_, seen := read[id]
		if s.writtenAt[id] > before || !seen && started.Sub(s.madeAt[id]) < settleTime {
			read[id] = group
		}
	}
	for id, at := range s.writtenAt {
		if _, kept := s.groups[id]; at > before && !kept {
			delete(read, id) // deleted while we were reading
		}
	}
	s.groups, s.readAt = read, started
	for _, id := range asked {
		s.asked[id] = true
	}
	return nil
}

// list reads the groups with the cluster's tag, and those of the IDs that are not among them.
func (s *GroupStore) list(ctx context.Context, ids []string) (map[string]Group, error) {
	read := map[string]Group{}
	cluster := s.options.Cluster
	if err := s.describe(ctx, read, inVPC(s.options.VPC), filter("tag-key", names.ClusterTag(cluster.ID))); err != nil {
		return nil, err
	}
	if cluster.Legacy {
		if err := s.describe(ctx, read, inVPC(s.options.VPC), filter("tag:"+names.LegacyClusterTag, cluster.ID)); err != nil {
			return nil, err
		}
	}
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := read[id]; return ok })
	for chunk := range slices.Chunk(missing, filterValues) {
		if err := s.describe(ctx, read, inVPC(s.options.VPC), filter("group-id", chunk...)); err != nil {
			return nil, err
		}
	}
	return read, nil
}

// readNamed reads the group of a name, whatever its tags are.
func (s *GroupStore) readNamed(ctx context.Context, name string) error {
	s.mu.Lock()
	before := s.writes
	s.mu.Unlock()
	read := map[string]Group{}
	if err := s.describe(ctx, read, inVPC(s.options.VPC), filter("group-name", name)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	after := maps.Clone(s.groups)
	for id, group := range s.groups {
		_, seen := read[id]
		if group.Name == name && !seen && s.writtenAt[id] <= before && s.options.Clock.Since(s.madeAt[id]) >= settleTime {
			delete(after, id)
		}
	}
	for id, group := range read {
		if s.writtenAt[id] <= before {
			after[id] = group
			s.asked[id] = true // it may lack the cluster's tag, and is needed by whoever has that name
		}
	}
	s.groups = after
	return nil
}

// describe adds the groups of a filter, all pages.
func (s *GroupStore) describe(ctx context.Context, into map[string]Group, filters ...ec2types.Filter) error {
	pages := ec2.NewDescribeSecurityGroupsPaginator(s.options.API, &ec2.DescribeSecurityGroupsInput{Filters: filters, MaxResults: aws.Int32(groupPage)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return awserr.Wrap("DescribeSecurityGroups", err)
		}
		for _, in := range page.SecurityGroups {
			group, err := toGroup(in)
			if err != nil {
				return err
			}
			into[group.ID] = group
		}
	}
	return nil
}

func toGroup(in ec2types.SecurityGroup) (Group, error) {
	id := aws.ToString(in.GroupId)
	rules, err := toRules(id, in.IpPermissions)
	return Group{ID: id, Name: aws.ToString(in.GroupName), Description: aws.ToString(in.Description), Tags: tagMap(in.Tags), Rules: rules}, err
}

// wrote changes what is known of a group after a write of ours. Groups that were handed out stay
// as they are.
func (s *GroupStore) wrote(id string, change func(*Group)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := s.groups[id]
	change(&group)
	s.book(id, &group)
}

// forget removes a group that was deleted.
func (s *GroupStore) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book(id, nil)
	delete(s.asked, id)
	delete(s.madeAt, id)
	delete(s.releasing, id)
}

// made adds a group that was created.
func (s *GroupStore) made(group Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.madeAt[group.ID] = s.options.Clock.Now()
	s.book(group.ID, &group)
}

// book replaces the snapshot. The lock is held.
func (s *GroupStore) book(id string, group *Group) {
	after := maps.Clone(s.groups)
	if group == nil {
		delete(after, id)
	} else {
		after[id] = *group
	}
	s.groups = after
	s.writes++
	s.writtenAt[id] = s.writes
}

// InDoubt makes the next look at groups a read.
func (s *GroupStore) InDoubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubt = true
}

// group returns what is known of a group now, own writes included.
func (s *GroupStore) group(id string) (Group, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	group, ok := s.groups[id]
	return group, ok
}

// groupIDs are the security groups of instances, sorted.
func groupIDs(instances map[string]ec2types.Instance) []string {
	set := map[string]bool{}
	for _, instance := range instances {
		for _, group := range instance.SecurityGroups {
			set[aws.ToString(group.GroupId)] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
