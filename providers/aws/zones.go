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

	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

// zonePause is the time between two reads of the zones after one that did not name them all.
const zonePause = 10 * time.Minute

// zoneIDs knows the IDs of availability zones, which name the same place in every account. They
// never change, so that one read is enough; most often EC2 tells them with the instances already.
type zoneIDs struct {
	// all are those that EC2 lists.
	all *snapshot.Value[map[string]string]

	mu     sync.Mutex
	byName map[string]string
}

func newZoneIDs(client api.EC2, c clock.PassiveClock) *zoneIDs {
	read := func(ctx context.Context) (map[string]string, error) { return readZoneIDs(ctx, client) }
	return &zoneIDs{
		all:    snapshot.NewValue(snapshot.ValueOptions[map[string]string]{Read: read, Clock: c, Age: zonePause, RetryAfter: zonePause}),
		byName: map[string]string{},
	}
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
	out, complete := z.learn(told, zones)
	if complete {
		return out
	}
	all, err := z.all.Get(ctx)
	if err != nil {
		return out // readZoneIDs has said so
	}
	out, _ = z.learn(all, zones)
	return out
}

// learn takes in IDs by zone name, and returns those of zones that are known then, and whether all are.
func (z *zoneIDs) learn(told map[string]string, zones []string) (known map[string]string, complete bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for name, id := range told {
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

func readZoneIDs(ctx context.Context, client api.EC2) (map[string]string, error) {
	answer, err := client.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		err = awserr.Wrap("DescribeAvailabilityZones", err)
		klog.FromContext(ctx).Info("Zone IDs cannot be read; nodes get no label of it meanwhile", "err", err)
		return nil, err
	}
	ids := make(map[string]string, len(answer.AvailabilityZones))
	for _, zone := range answer.AvailabilityZones {
		ids[aws.ToString(zone.ZoneName)] = aws.ToString(zone.ZoneId)
	}
	return ids, nil
}
