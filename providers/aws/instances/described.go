package instances

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
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

// describedInstances caches instances as EC2 described them, and the IDs of instances that it did not find.
// It is safe for concurrent use.
type describedInstances struct {
	clock clock.Clock
	// reading is held during reads of all instances, or of many for Described, so that concurrent callers
	// share their result: at a start load balancers need what the nodes' first list returns.
	reading locks.Mutex

	mu     sync.Mutex
	byID   map[string]describedAt
	absent map[string]time.Time
	last   listedAt
	// lists counts the lists.
	lists uint64
}

// listedAt is the result of a list of all instances in a scope that started at.
type listedAt struct {
	in        Scope
	instances []ec2types.Instance
	at        time.Time
}

type describedAt struct {
	// instance is shared by all callers and never written. The structure is large: copies of it for each of
	// thousands of nodes and hundreds of Services in flight would be most of the memory of this process.
	instance *ec2types.Instance
	// at is when the read started: the oldest state that its response can show.
	at time.Time
	// tagged reports whether the instance has the cluster's tag.
	tagged bool
}

func newDescribedInstances(c clock.Clock) *describedInstances {
	return &describedInstances{
		clock: c,
		byID:  map[string]describedAt{}, absent: map[string]time.Time{},
	}
}

// putList caches the result of a list of all instances in scope that started at. It evicts instances in scope
// that the list lacks, so that they are read by ID before they count as deleted.
func (d *describedInstances) putList(in Scope, list []ec2types.Instance, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.byID, func(_ string, o describedAt) bool {
		listed := o.at.Before(at) && (in.VPC == "" || in.VPC == aws.ToString(o.instance.VpcId)) && in.has(o.instance)
		return listed || at.Sub(o.at) > ownerAge
	})
	maps.DeleteFunc(d.absent, func(_ string, since time.Time) bool { return at.Sub(since) > absentAge })
	for _, i := range list {
		d.putLocked(in, i, at)
	}
	d.last = listedAt{in, list, at}
	d.lists++
}

// countLists returns the number of lists so far.
func (d *describedInstances) countLists() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lists
}

// listed returns the last list of the instances in scope, if it started at notBefore or later and is not among
// the first ignored lists.
func (d *describedInstances) listed(
	in Scope, notBefore time.Time, ignored uint64,
) (list []ec2types.Instance, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lists == ignored || d.last.in != in || d.last.at.Before(notBefore) {
		return nil, false
	}
	return slices.Clone(d.last.instances), true
}

// put caches the result of a read of ids that started at.
func (d *describedInstances) put(in Scope, ids []string, found []ec2types.Instance, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	have := make(map[string]bool, len(found))
	for _, i := range found {
		have[aws.ToString(i.InstanceId)] = true
		d.putLocked(in, i, at)
	}
	for _, id := range ids {
		if o, ok := d.byID[id]; !have[id] && (!ok || !o.at.After(at)) {
			delete(d.byID, id)
			d.absent[id] = at
		}
	}
}

func (d *describedInstances) putLocked(in Scope, i ec2types.Instance, at time.Time) {
	id := aws.ToString(i.InstanceId)
	if o, ok := d.byID[id]; ok && o.at.After(at) {
		return
	}
	d.byID[id] = describedAt{&i, at, in.has(&i)}
	delete(d.absent, id)
}

// update edits a cached instance after a change by this manager.
func (d *describedInstances) update(id string, edit func(*ec2types.Instance)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o, ok := d.byID[id]; ok {
		edited := *o.instance
		edit(&edited)
		o.instance = &edited
		d.byID[id] = o
	}
}

// oldest holds the earliest read times to use for instances that were found, for those that were found without the
// cluster's tag, and for those that were not found.
type oldest struct{ found, untagged, absent time.Time }

// allows reports whether a cached instance may be used.
func (o oldest) allows(d describedAt) bool {
	return !d.at.Before(o.found) && (d.tagged || !d.at.Before(o.untagged))
}

// get returns the cached instances, and the IDs that have to be read because nothing fresh enough is cached.
func (d *describedInstances) get(ids []string, use oldest) (found map[string]*ec2types.Instance, unknown []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found = make(map[string]*ec2types.Instance, len(ids))
	for _, id := range ids {
		if o, ok := d.byID[id]; ok && use.allows(o) {
			found[id] = o.instance
		} else if at, ok := d.absent[id]; !ok || at.Before(use.absent) {
			unknown = append(unknown, id)
		}
	}
	return found, unknown
}

// Described returns the instances that exist, as EC2 describes them, which callers do not write. Fargate nodes have none. With fresh all
// of them are read after the call, else results of the last minutes are used. Concurrent callers share reads,
// by ID in bulk, or by a list where that takes fewer calls.
//
// While EC2 does not answer, stale instances are used, unless fresh: EC2 documents that reads without IDs fail
// while a zone is disrupted, and load balancers have to follow nodes in the other zones then.
func (s *Source) Described(
	ctx context.Context, ids []string, fresh bool,
) (map[string]*ec2types.Instance, error) {
	now := s.clock.Now()
	if fresh {
		return s.described(ctx, ids, oldest{now, now, now})
	}
	return s.describedOrStale(ctx, ids, oldest{now.Add(-describedAge), now.Add(-absentAge), now.Add(-absentAge)})
}

// describedOrStale returns stale instances if EC2 does not answer. It never returns stale absence.
func (s *Source) describedOrStale(
	ctx context.Context, ids []string, use oldest,
) (map[string]*ec2types.Instance, error) {
	found, err := s.described(ctx, ids, use)
	if !cloudapi.Is(err, cloudapi.Unavailable) || ctx.Err() != nil {
		return found, err
	}
	last, unknown := s.known.get(onlyInstanceIDs(ids), oldest{absent: use.absent})
	if len(unknown) > 0 {
		return nil, err
	}
	klog.FromContext(ctx).Error(err, "Failed to read instances; using cached ones", "instances", len(last))
	return last, nil
}

// onlyInstanceIDs returns the IDs of instances among those of nodes, sorted.
func onlyInstanceIDs(ids []string) []string {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !names.IsInstanceID(id) })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Owned returns those of the instances that carry the cluster's tag, or that have an initialized Node:
// cloud-provider-aws requires no tag of the instance behind a Node.
func (s *Source) Owned(ctx context.Context, in Scope, ids []string) (map[string]*ec2types.Instance, error) {
	now := s.clock.Now()
	use := oldest{now.Add(-ownerAge), now.Add(-ownerAge), now.Add(-absentAge)}
	found, err := s.describedOrStale(ctx, ids, use)
	ofNodes := s.initialized()
	maps.DeleteFunc(found, func(id string, i *ec2types.Instance) bool { return !in.has(i) && !ofNodes[id] })
	return found, err
}

// described returns the instances that exist, from reads not older than use.
func (s *Source) described(ctx context.Context, ids []string, use oldest) (map[string]*ec2types.Instance, error) {
	ids = onlyInstanceIDs(ids)
	found, unknown := s.known.get(ids, use)
	if len(unknown) == 0 {
		return found, nil
	}
	unlock, err := s.known.reading.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	in, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	// The previous holder of the lock may have read them.
	_, unknown = s.known.get(ids, use)
	if len(unknown) > MaxFilterValues {
		if _, err := s.list(ctx, in); err != nil {
			return nil, err
		}
		_, unknown = s.known.get(ids, use)
	}
	if len(unknown) > 0 {
		if _, err := s.get(ctx, in, unknown); err != nil {
			return nil, err
		}
	}
	found, _ = s.known.get(ids, use)
	return found, nil
}

// SetForwarding records in the cache that this manager disabled an instance's source/destination check.
func (s *Source) SetForwarding(id string) {
	s.known.update(id, func(i *ec2types.Instance) { i.SourceDestCheck = aws.Bool(false) })
}
