package aws

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
	// describedAge is how old what Described says about an instance may be. Load balancers and
	// routes use what hardly changes: network, security groups, zone, tags.
	describedAge = 10 * time.Minute
	// absentAge is how long an instance that was not found is not asked for again. It is shorter,
	// because an instance may be read before EC2 shows it everywhere.
	absentAge = 30 * time.Second
	// ownerAge is how old the tags may be that say whether an instance is the cluster's. They are
	// set when it is launched, so that an idle day costs no reads for them.
	ownerAge = 24 * time.Hour
	// listAge is how long before it was asked for a list may have been begun that somebody else was reading just
	// then. EC2's own answers lag behind what happened by more.
	listAge = time.Second
)

// describedInstances remembers instances as EC2 described them, and those that it did not have. It
// is safe for concurrent use.
type describedInstances struct {
	clock clock.Clock
	// reading is held by the one who reads all instances, or many for Described, so that others with
	// the same question find the answer: load balancers start beside the nodes' first list, which
	// has everything that they ask for.
	reading locks.Mutex

	mu     sync.Mutex
	byID   map[string]describedAt
	absent map[string]time.Time
	last   listedAt
	// lists is how many have been read.
	lists uint64
}

// listedAt are all instances in scope, from a read that started at.
type listedAt struct {
	in        scope
	instances []ec2types.Instance
	at        time.Time
}

type describedAt struct {
	instance ec2types.Instance
	// at is when the read started: the oldest state that the answer can show.
	at time.Time
}

func newDescribedInstances(c clock.Clock) *describedInstances {
	return &describedInstances{
		clock: c,
		byID:  map[string]describedAt{}, absent: map[string]time.Time{},
	}
}

// putList takes all instances in scope, from a read that started at. One that should be among them
// and is not is forgotten, so that it is asked for by ID before anybody concludes anything.
func (d *describedInstances) putList(in scope, list []ec2types.Instance, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.byID, func(_ string, o describedAt) bool {
		listed := o.at.Before(at) && (in.VPC == "" || in.VPC == aws.ToString(o.instance.VpcId)) && in.has(&o.instance)
		return listed || at.Sub(o.at) > ownerAge
	})
	maps.DeleteFunc(d.absent, func(_ string, since time.Time) bool { return at.Sub(since) > absentAge })
	for _, i := range list {
		d.putLocked(i, at)
	}
	d.last = listedAt{in, list, at}
	d.lists++
}

// countLists is how many lists have been read so far.
func (d *describedInstances) countLists() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lists
}

// listed returns the last list of the instances in scope, if it was begun at oldest or later and is not among the first so many.
func (d *describedInstances) listed(in scope, oldest time.Time, before uint64) (list []ec2types.Instance, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lists == before || d.last.in != in || d.last.at.Before(oldest) {
		return nil, false
	}
	return slices.Clone(d.last.instances), true
}

// put takes the answer to a question for ids, from a read that started at.
func (d *describedInstances) put(ids []string, found []ec2types.Instance, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	have := make(map[string]bool, len(found))
	for _, i := range found {
		have[aws.ToString(i.InstanceId)] = true
		d.putLocked(i, at)
	}
	for _, id := range ids {
		if o, ok := d.byID[id]; !have[id] && (!ok || !o.at.After(at)) {
			delete(d.byID, id)
			d.absent[id] = at
		}
	}
}

func (d *describedInstances) putLocked(i ec2types.Instance, at time.Time) {
	id := aws.ToString(i.InstanceId)
	if o, ok := d.byID[id]; ok && o.at.After(at) {
		return
	}
	d.byID[id] = describedAt{i, at}
	delete(d.absent, id)
}

// change lets a caller note what it has changed about an instance itself.
func (d *describedInstances) change(id string, edit func(*ec2types.Instance)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o, ok := d.byID[id]; ok {
		edit(&o.instance)
		d.byID[id] = o
	}
}

// since says how old an answer may be.
type since struct{ found, absent time.Time }

// get returns what is known about ids, and those that have to be read because too old an answer, or
// none, is known.
func (d *describedInstances) get(ids []string, oldest since) (found map[string]ec2types.Instance, unknown []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found = make(map[string]ec2types.Instance, len(ids))
	for _, id := range ids {
		if o, ok := d.byID[id]; ok && !o.at.Before(oldest.found) {
			found[id] = o.instance
		} else if at, ok := d.absent[id]; !ok || at.Before(oldest.absent) {
			unknown = append(unknown, id)
		}
	}
	return found, unknown
}

// Described returns instances as EC2 describes them, those that exist; Fargate nodes have none. With
// fresh every answer is read after the call, else one of the last minutes will do. Callers that come
// together share reads: what they need is read by ID in bulk, or by a list where that takes fewer calls.
//
// While EC2 does not answer, what it last said of instances that existed goes on to count, unless fresh: it
// documents that no read which names no instances succeeds while a zone is disrupted, and load balancers
// have to follow nodes in the other zones just then.
func (s *instanceSource) Described(ctx context.Context, ids []string, fresh bool) (map[string]ec2types.Instance, error) {
	now := s.clock.Now()
	if fresh {
		return s.described(ctx, ids, since{now, now})
	}
	return s.orLast(ctx, ids, since{now.Add(-describedAge), now.Add(-absentAge)})
}

// orLast is described, or what is known from before where EC2 does not answer. That something does
// not exist is never taken from before.
func (s *instanceSource) orLast(ctx context.Context, ids []string, oldest since) (map[string]ec2types.Instance, error) {
	found, err := s.described(ctx, ids, oldest)
	if !cloudapi.Is(err, cloudapi.Unavailable) || ctx.Err() != nil {
		return found, err
	}
	last, unknown := s.known.get(machineIDs(ids), since{absent: oldest.absent})
	if len(unknown) > 0 {
		return nil, err
	}
	klog.FromContext(ctx).Error(err, "Instances cannot be read; what was last read of them counts", "instances", len(last))
	return last, nil
}

// machineIDs are the IDs of instances among those of nodes, sorted.
func machineIDs(ids []string) []string {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return names.IsFargate(id) || !machineID.MatchString(id) })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// owned returns those of the instances that carry the cluster's tag.
func (s *instanceSource) owned(ctx context.Context, in scope, ids []string) (map[string]ec2types.Instance, error) {
	now := s.clock.Now()
	found, err := s.orLast(ctx, ids, since{now.Add(-ownerAge), now.Add(-absentAge)})
	maps.DeleteFunc(found, func(_ string, i ec2types.Instance) bool { return !in.has(&i) })
	return found, err
}

// described is Described with any age.
func (s *instanceSource) described(ctx context.Context, ids []string, oldest since) (map[string]ec2types.Instance, error) {
	ids = machineIDs(ids)
	found, unknown := s.known.get(ids, oldest)
	if len(unknown) == 0 {
		return found, nil
	}
	done, err := s.known.reading.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	// Whoever read before us may have read what we need.
	_, unknown = s.known.get(ids, oldest)
	if len(unknown) > maxFilterValues {
		in, err := s.scope(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := s.list(ctx, in); err != nil {
			return nil, err
		}
		_, unknown = s.known.get(ids, oldest)
	}
	if len(unknown) > 0 {
		if _, err := s.get(ctx, unknown); err != nil {
			return nil, err
		}
	}
	found, _ = s.known.get(ids, oldest)
	return found, nil
}
