package instances

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// zonesAge is the min time between reads of the zones.
const zonesAge = 10 * time.Minute

// zoneIDs caches the IDs of availability zones, which identify the same location in every account. They never
// change, so that one read is enough; most often EC2 returns them with the instances.
type zoneIDs struct {
	// all holds the IDs that EC2 lists.
	all *snapshot.Value[map[string]string]

	mu     sync.Mutex
	byName map[string]string
}

func newZoneIDs(read func(context.Context) (map[string]string, error), c clock.PassiveClock) *zoneIDs {
	return &zoneIDs{
		all: snapshot.NewValue(snapshot.ValueOptions[map[string]string]{
			Read: read, Clock: c, MaxAge: zonesAge, RetryAfter: zonesAge,
		}),
		byName: map[string]string{},
	}
}

// idsOfInstances returns the zone IDs of instances by zone name. It omits those that cannot be read: Nodes must not
// wait for an optional label.
func (z *zoneIDs) idsOfInstances(ctx context.Context, found []ec2types.Instance) map[string]string {
	var zones []string
	described := map[string]string{}
	for n := range found {
		if p := found[n].Placement; p != nil {
			zones = append(zones, aws.ToString(p.AvailabilityZone))
			described[aws.ToString(p.AvailabilityZone)] = aws.ToString(p.AvailabilityZoneId)
		}
	}
	return z.idsOfZones(ctx, zones, described)
}

// idsOfZones returns the IDs of zones by name; described holds IDs from other responses of EC2.
func (z *zoneIDs) idsOfZones(ctx context.Context, zones []string, described map[string]string) map[string]string {
	out, complete := z.update(described, zones)
	if complete {
		return out
	}
	all, err := z.all.Get(ctx)
	if err != nil {
		return out // readZoneIDs logged the error
	}
	out, _ = z.update(all, zones)
	return out
}

// update adds IDs by zone name to the cache, and returns the cached IDs of zones and whether these are all.
func (z *zoneIDs) update(ids map[string]string, zones []string) (known map[string]string, complete bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for name, id := range ids {
		if id != "" {
			z.byName[name] = id
		}
	}
	known, complete = make(map[string]string, len(zones)), true
	for _, name := range zones {
		switch id := z.byName[name]; {
		case id != "":
			known[name] = id
		case name != "":
			complete = false
		}
	}
	return known, complete
}
