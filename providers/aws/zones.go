package aws

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

// zonePause is the time between two reads of the zones after one that did not name them all.
const zonePause = 10 * time.Minute

// zoneIDs knows the IDs of availability zones, which name the same place in every account. They
// never change, so that one read is enough; most often EC2 tells them with the instances already.
type zoneIDs struct {
	ec2   api.EC2
	clock clock.Clock

	mu     sync.Mutex
	byName map[string]string
	readAt time.Time
}

// of returns the zone IDs of instances by zone name. Those that cannot be read are absent: a label
// that nothing depends on is no reason to keep a node out of the cluster.
func (z *zoneIDs) of(ctx context.Context, found []ec2types.Instance) map[string]string {
	var zones []string
	told := map[string]string{}
	for n := range found {
		if p := found[n].Placement; p != nil {
			zones = append(zones, aws.ToString(p.AvailabilityZone))
			told[aws.ToString(p.AvailabilityZone)] = aws.ToString(p.AvailabilityZoneId)
		}
	}
	return z.named(ctx, zones, told)
}

// named returns the IDs of zones; told are those that an answer of EC2 named beside.
func (z *zoneIDs) named(ctx context.Context, zones []string, told map[string]string) map[string]string {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.byName == nil {
		z.byName = map[string]string{}
	}
	for name, id := range told {
		if id != "" {
			z.byName[name] = id
		}
	}
	if !z.allKnownLocked(zones) {
		z.readLocked(ctx)
	}
	out := make(map[string]string, len(zones))
	for _, name := range zones {
		if id := z.byName[name]; id != "" {
			out[name] = id
		}
	}
	return out
}

func (z *zoneIDs) allKnownLocked(zones []string) bool {
	for _, name := range zones {
		if name != "" && z.byName[name] == "" {
			return false
		}
	}
	return true
}

func (z *zoneIDs) readLocked(ctx context.Context) {
	now := z.clock.Now()
	if !z.readAt.IsZero() && now.Sub(z.readAt) < zonePause {
		return
	}
	z.readAt = now
	answer, err := z.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		klog.FromContext(ctx).Info("Zone IDs cannot be read; nodes get no label of it meanwhile", "err", awserr.Wrap("DescribeAvailabilityZones", err))
		return
	}
	for _, zone := range answer.AvailabilityZones {
		z.byName[aws.ToString(zone.ZoneName)] = aws.ToString(zone.ZoneId)
	}
}
