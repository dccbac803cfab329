package instances

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const (
	// describedAge is the max age of an instance for Described. Load balancers and routes use properties that
	// hardly change: network, security groups, zone, tags.
	describedAge = 10 * time.Minute
	// absentAge is how long an instance that was not found is not read again. It is shorter, because EC2 is
	// eventually consistent. It is also the max age of an instance without the cluster's tag, which load balancers
	// leave out until it is tagged.
	absentAge = 30 * time.Second
	// ownerAge is the max age of tags that decide whether an instance belongs to the cluster. Instances are
	// tagged at launch, so that an idle day costs no reads for them.
	ownerAge = 24 * time.Hour
	// listAge is the max age of a list for List to share it when it was in flight at the time of the call.
	// EC2's own responses lag behind by more.
	listAge = time.Second
)

func newDescribedInstances(c clock.PassiveClock) *describedInstances {
	d := &describedInstances{store: snapshot.NewStore(c)}
	d.Table = snapshot.NewTable(d.store, snapshot.Kind[described]{
		ID:     func(i described) string { return aws.ToString(i.InstanceId) },
		Covers: func(i described) bool { return i.listed }, ListsLag: true, EvictAfter: ownerAge,
	})
	return d
}

// newDescribed returns instances with their relation to a scope.
func newDescribed(scope Scope, list []ec2types.Instance) []described {
	out := make([]described, len(list))
	for n, i := range list {
		tagged := scope.has(&i)
		out[n] = described{&i, tagged, tagged && (scope.VPC == "" || scope.VPC == aws.ToString(i.VpcId))}
	}
	return out
}

// sharedList lists the cluster's instances, or returns the result of a list that was in flight: at a
// start nodes and load balancers need all instances at the same time.
func (s *Source) sharedList(ctx context.Context, conn Connection) ([]ec2types.Instance, error) {
	oldest := s.clock.Now().Add(-listAge)
	before, _ := s.cache.Listed()
	unlock, err := s.cache.reading.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if last, _ := s.cache.Listed(); last.After(before) && !last.At().Before(oldest) {
		return s.cache.listed(), nil
	}
	return s.list(ctx, conn)
}

// listed returns the instances of the last list.
func (d *describedInstances) listed() []ec2types.Instance {
	var out []ec2types.Instance
	for _, i := range d.Select(func(i described) bool { return i.listed }) {
		out = append(out, *i.Instance)
	}
	return out
}

// put caches the result of a read of ids.
func (d *describedInstances) put(r snapshot.Reading, scope Scope, ids []string, found []ec2types.Instance) {
	returned := make(map[string]bool, len(found))
	for _, i := range newDescribed(scope, found) {
		id := aws.ToString(i.InstanceId)
		returned[id] = true
		d.Merge(r, id, i)
	}
	for _, id := range ids {
		if !returned[id] {
			d.MergeMissing(r, id)
		}
	}
}

// cutoffs are the times since which an instance must have been read for its cached state to be used: one that was
// found, one that was found without the cluster's tag, and one that was not found.
type cutoffs struct{ found, untagged, absent time.Time }

// get returns the cached instances, and the IDs that have to be read because nothing fresh enough is cached.
func (d *describedInstances) get(ids []string, oldest cutoffs) (found map[string]*ec2types.Instance, unknown []string) {
	found = make(map[string]*ec2types.Instance, len(ids))
	for _, id := range ids {
		i, exists := d.Get(id)
		since := oldest.found
		switch {
		case !exists:
			since = oldest.absent
		case !i.tagged && oldest.untagged.After(since):
			since = oldest.untagged
		}
		if i, exists, known := d.GetSince(id, since); !known {
			unknown = append(unknown, id)
		} else if exists {
			found[id] = i.Instance
		}
	}
	return found, unknown
}

// Described returns the instances that exist, as EC2 describes them, which callers do not write. Fargate nodes have
// none. With fresh all of them are read after the call, else results of the last minutes are used. Concurrent callers
// share reads, by ID in bulk, or by a list where that takes fewer calls.
//
// While EC2 does not answer for some instances, as for those in a disrupted zone, stale instances are used, unless
// fresh. Those that were never read are in an *awserr.UnreadError beside the result.
func (s *Source) Described(
	ctx context.Context, ids []string, fresh bool,
) (map[string]*ec2types.Instance, error) {
	now := s.clock.Now()
	if fresh {
		return s.described(ctx, ids, cutoffs{now, now, now})
	}
	return s.describedOrStale(ctx, ids, cutoffs{now.Add(-describedAge), now.Add(-absentAge), now.Add(-absentAge)})
}

// describedOrStale returns stale instances where EC2 does not answer. It never returns stale absence.
func (s *Source) describedOrStale(
	ctx context.Context, ids []string, oldest cutoffs,
) (map[string]*ec2types.Instance, error) {
	found, err := s.described(ctx, ids, oldest)
	var unread *awserr.UnreadError
	if !errors.As(err, &unread) {
		return found, err
	}
	var unknown []string
	for _, id := range unread.IDs {
		if i, exists := s.cache.Get(id); exists {
			found[id] = i.Instance
		} else {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return found, nil
	}
	return found, &awserr.UnreadError{IDs: unknown, Err: unread.Err}
}

// onlyInstanceIDs returns the IDs of instances among those of nodes, sorted.
func onlyInstanceIDs(ids []string) []string {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !names.IsInstanceID(id) })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Owned returns those of the instances that carry the cluster's tag, or that have an initialized Node:
// cloud-provider-aws requires no tag of the instance behind a Node, so that one which EC2 cannot read is owned too. It
// is nil then; other unread ones are in an *awserr.UnreadError beside the result.
func (s *Source) Owned(ctx context.Context, scope Scope, ids []string) (map[string]*ec2types.Instance, error) {
	now := s.clock.Now()
	oldest := cutoffs{now.Add(-ownerAge), now.Add(-ownerAge), now.Add(-absentAge)}
	found, err := s.describedOrStale(ctx, ids, oldest)
	unread, err := awserr.SplitUnread(err)
	if err != nil {
		return nil, err
	}
	initialized := s.initializedInstances()
	maps.DeleteFunc(found, func(id string, i *ec2types.Instance) bool { return !scope.has(i) && !initialized[id] })
	maps.DeleteFunc(unread, func(id string, _ error) bool {
		if initialized[id] {
			found[id] = nil
		}
		return initialized[id]
	})
	return found, unreadError(unread)
}

// described returns the instances that exist, from reads since the cutoffs, and an *awserr.UnreadError about those that
// cannot be read.
func (s *Source) described(ctx context.Context, ids []string, oldest cutoffs) (map[string]*ec2types.Instance, error) {
	ids = onlyInstanceIDs(ids)
	found, unknown := s.cache.get(ids, oldest)
	if len(unknown) == 0 {
		return found, nil
	}
	unlock, err := s.cache.reading.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	// The previous holder of the lock may have read them.
	_, unknown = s.cache.get(ids, oldest)
	if len(unknown) > MaxFilterValues && !s.outage.active() {
		switch _, err := s.list(ctx, conn); {
		case isOutage(ctx, err):
			s.outage.begin()
		case err != nil:
			return nil, err
		}
		_, unknown = s.cache.get(ids, oldest)
	}
	var read []ec2types.Instance
	var unread map[string]error
	if len(unknown) > 0 {
		if read, unread, err = s.get(ctx, conn, unknown); err != nil {
			return nil, err
		}
	}
	found = s.currentInstances(ids, read)
	maps.DeleteFunc(found, func(id string, _ *ec2types.Instance) bool { return unread[id] != nil })
	return found, unreadError(unread)
}

// list lists the cluster's instances and caches them. The caller holds the lock cache.reading.
func (s *Source) list(ctx context.Context, conn Connection) ([]ec2types.Instance, error) {
	r := s.cache.store.Begin()
	found, err := conn.filter(ctx, append(conn.InVPC(), conn.ClusterTagged(), existingStates()))
	if err != nil {
		return nil, err
	}
	found = conn.owned(found)
	s.cache.MergeList(r, newDescribed(conn.Scope, found))
	return found, nil
}

// currentInstances returns the instances after a read. A read does not replace the row of an instance that this manager
// changed in the meantime; this row keeps its age, and is current.
func (s *Source) currentInstances(ids []string, read []ec2types.Instance) map[string]*ec2types.Instance {
	found := make(map[string]*ec2types.Instance, len(ids))
	for n := range read {
		found[aws.ToString(read[n].InstanceId)] = &read[n]
	}
	for _, id := range ids {
		if i, exists := s.cache.Get(id); exists {
			found[id] = i.Instance
		}
	}
	return found
}

// SetForwarding records in the cache that this manager disabled an instance's source/destination check.
func (s *Source) SetForwarding(id string) {
	s.cache.Update(id, func(i *described) {
		edited := *i.Instance
		edited.SourceDestCheck = aws.Bool(false)
		i.Instance = &edited
	})
}

// existing returns the IDs of the instances that exist and can be read.
func (s *Source) existing(ctx context.Context, ids []string) ([]string, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	found, _, err := s.get(ctx, conn, ids)
	out := make([]string, 0, len(found))
	for n := range found {
		out = append(out, aws.ToString(found[n].InstanceId))
	}
	return out, err
}

// get reads instances by ID and caches them. Unread are the errors of those that cannot be read; whether they exist is
// not known. It uses a filter, since EC2 rejects a call by ID for a single ID that does not exist; while a zone is
// disrupted, it has to read by ID.
func (s *Source) get(
	ctx context.Context, conn Connection, ids []string,
) (found []ec2types.Instance, unread map[string]error, err error) {
	valid, invalid := validateIDs(ids)
	r := s.cache.store.Begin()
	outage := s.outage.active()
	if !outage {
		found, err = inChunks(valid, "instance-id", nil, func(filters []ec2types.Filter) ([]ec2types.Instance, error) {
			return conn.filter(ctx, filters)
		})
		if outage = isOutage(ctx, err); outage {
			s.outage.begin()
		}
	}
	if outage {
		found, unread, err = s.getDuringOutage(ctx, conn, valid)
	}
	if err != nil {
		return nil, nil, err
	}
	found = slices.DeleteFunc(found, func(i ec2types.Instance) bool { return isTerminated(&i) })
	read := slices.DeleteFunc(valid, func(id string) bool { return unread[id] != nil })
	s.cache.put(r, conn.Scope, read, found)
	maps.Copy(invalid, unread)
	return found, invalid, nil
}

// validateIDs returns the IDs that instances can have, and the errors of the others. A filter matches nothing for
// those, and the Node of an invalid ID would count as one with a deleted instance.
func validateIDs(ids []string) (valid []string, invalid map[string]error) {
	invalid = map[string]error{}
	for _, id := range ids {
		if names.IsInstanceID(id) {
			valid = append(valid, id)
			continue
		}
		invalid[id] = &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeInstances",
			Err: fmt.Errorf("%q is not the ID of an EC2 instance (i- and 17 hexadecimal digits)", id)}
	}
	return valid, invalid
}

// splitIDs separates the IDs of instances from those of Fargate nodes.
func splitIDs(ids []string) (instanceIDs, fargateIDs []string) {
	for _, id := range ids {
		if names.IsFargate(id) {
			fargateIDs = append(fargateIDs, id)
		} else {
			instanceIDs = append(instanceIDs, id)
		}
	}
	return instanceIDs, fargateIDs
}
