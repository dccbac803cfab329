package instances

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// While an availability zone is disrupted, DescribeInstances fails without instance IDs, and with the ID of an instance
// in that zone. It works with the IDs of instances in other zones only. The API reference documents this. Reads by
// filter then become reads by ID, one for each zone.

const (
	// outageAge is how long reads are by ID after one by filter failed, and how long an instance that could not be
	// read is not read again.
	outageAge = 30 * time.Second
	// maxSplits bounds the calls of one read by ID that are repeated with half of the IDs.
	maxSplits = 64
)

// begin starts an outage, or prolongs it.
func (o *outage) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.until = o.clock.Now().Add(outageAge); o.unread == nil {
		o.unread, o.zones = map[string]error{}, map[string]string{}
	}
}

// active reports whether there is an outage.
func (o *outage) active() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.clock.Now().Before(o.until) {
		return true
	}
	o.unread, o.zones = nil, nil
	return false
}

// split separates IDs that have to be read from the errors of those that could not be read a moment ago.
func (o *outage) split(ids []string) (readable []string, unread map[string]error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	unread = map[string]error{}
	for _, id := range ids {
		if err := o.unread[id]; err != nil {
			unread[id] = err
		} else {
			readable = append(readable, id)
		}
	}
	return readable, unread
}

// locate records the zones of instances.
func (o *outage) locate(zones map[string]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.zones != nil {
		maps.Copy(o.zones, zones)
	}
}

// located returns the recorded zones.
func (o *outage) located() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.zones)
}

// add records instances that could not be read.
func (o *outage) add(unread map[string]error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unread != nil {
		maps.Copy(o.unread, unread)
	}
}

// getDuringOutage reads instances by ID, those of each zone separately. Unread are those that EC2 cannot read.
func (s *Source) getDuringOutage(
	ctx context.Context, conn Connection, ids []string,
) (found []ec2types.Instance, unread map[string]error, err error) {
	readable, unread := s.outage.split(ids)
	b := bisection{conn: conn, unread: map[string]error{}}
	zones := s.groupByZone(readable)
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		b.oneZone = zone != ""
		for chunk := range slices.Chunk(zones[zone], pageSize) {
			if err := b.read(ctx, chunk); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := unreadError(b.unread); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read instances; using cached ones", "instances", len(b.unread))
	}
	s.outage.add(b.unread)
	maps.Copy(unread, b.unread)
	return b.found, unread, nil
}

// groupByZone returns the IDs of instances by their zone, as they were last read, or as their Nodes or network
// interfaces show it; "" if it is not known.
func (s *Source) groupByZone(ids []string) map[string][]string {
	located := s.outage.located()
	if located == nil {
		located = map[string]string{}
	}
	maps.Copy(located, s.zonesOfNodes())
	zones := map[string][]string{}
	for _, id := range ids {
		zone := located[id]
		if i, exists := s.cache.Get(id); exists {
			zone = zoneOf(i.Instance)
		}
		zones[zone] = append(zones[zone], id)
	}
	return zones
}

// zonesOfNodes returns the zones of Nodes by the IDs of their instances. They only determine which instances share a
// call.
func (s *Source) zonesOfNodes() map[string]string {
	zones := map[string]string{}
	lister := s.nodes.Lister()
	if lister == nil {
		return zones
	}
	list, err := lister.List(labels.Everything())
	if err != nil {
		return zones
	}
	for _, node := range list {
		fields, _, err := s.ids.ParseFields(node.Spec.ProviderID)
		if err != nil {
			continue
		}
		zone := fields[names.FieldZone]
		if zone == "" {
			zone = node.Labels[v1.LabelTopologyZone]
		}
		zones[fields[names.FieldID]] = zone
	}
	return zones
}

// bisection reads instances by their IDs. EC2 rejects a whole call for one ID that does not exist or cannot be read:
// then it is repeated with halves of the IDs.
type bisection struct {
	conn Connection
	// oneZone is set if all instances are in one zone: if neither half can be read, the zone is disrupted.
	oneZone bool
	splits  int
	found   []ec2types.Instance
	unread  map[string]error
}

// read reads instances. It returns errors that are not about single instances.
func (b *bisection) read(ctx context.Context, ids []string) error {
	err := b.describe(ctx, ids)
	if err == nil {
		return nil
	}
	return b.split(ctx, ids, err)
}

func (b *bisection) describe(ctx context.Context, ids []string) error {
	found, err := b.conn.describe(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
	b.found = append(b.found, found...)
	return err
}

// split reads halves of instances after a call with all of them failed.
func (b *bisection) split(ctx context.Context, ids []string, cause error) error {
	switch {
	case ctx.Err() != nil || !cloudapi.Is(cause, cloudapi.NotFound, cloudapi.Invalid, cloudapi.Unavailable):
		return cause
	case len(ids) == 1 && cloudapi.Is(cause, cloudapi.NotFound):
		return nil
	case len(ids) == 1 || b.splits == maxSplits:
		b.giveUp(ids, cause)
		return nil
	}
	b.splits++
	halves := [2][]string{ids[:len(ids)/2], ids[len(ids)/2:]}
	var errs [2]error
	for i, half := range halves {
		errs[i] = b.describe(ctx, half)
	}
	unavailable := func(err error) bool { return cloudapi.Is(err, cloudapi.Unavailable) }
	if b.oneZone && unavailable(errs[0]) && unavailable(errs[1]) {
		b.giveUp(ids, cause)
		return ctx.Err()
	}
	for i, half := range halves {
		if errs[i] == nil {
			continue
		}
		if err := b.split(ctx, half, errs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *bisection) giveUp(ids []string, cause error) {
	for _, id := range ids {
		b.unread[id] = cause
	}
}

// unreadError returns the error about instances that were not read, nil without any.
func unreadError(unread map[string]error) error {
	if len(unread) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(unread))
	return &awserr.UnreadError{IDs: ids, Err: unread[ids[0]]}
}
