package aws

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const (
	// maxTopologyIDs is how many instances one DescribeInstanceTopology takes, from its API reference.
	maxTopologyIDs = 100
	// topologyAge is how long an answer holds: where an instance stands changes at most when it is
	// stopped and started, and whether EC2 knows it for a type or region hardly ever.
	topologyAge = 24 * time.Hour
	// topologyPause is the time after which a failed question may be asked again.
	topologyPause = 10 * time.Second
)

// topology finds where in the network instances stand, for labels that nodes are given when they
// are initialised. It is safe for concurrent use.
//
// Most instance types have no such information. Of a type that need not have it a single instance
// is asked about, and only if that has it the others.
type topology struct {
	ec2   api.EC2
	clock clock.Clock
	// required are the types whose nodes must not be initialised without it.
	required *regexp.Regexp

	mu     sync.Mutex
	byID   map[string]layersAt
	byType map[string]typeAt
	// refusedAt is when EC2 said that this region has no topology, or that we may not read it.
	refusedAt time.Time
	// failedAt is when a question failed otherwise, and err how.
	failedAt time.Time
	err      error
	// settled says behind which instances are nodes that are given no more labels, for which nothing
	// is asked.
	settled func() map[string]bool
}

type layersAt struct {
	// layers are the network nodes above the instance, from the outermost; none where EC2 knows none.
	layers []string
	at     time.Time
}

type typeAt struct {
	has bool
	at  time.Time
}

// places is what is known about some instances.
type places struct {
	layers map[string][]string
	// errs says for instances of required types why nothing is known yet.
	errs map[string]error
}

func newTopology(ec2 api.EC2, c clock.Clock, required *regexp.Regexp) *topology {
	return &topology{ec2: ec2, clock: c, required: required, byID: map[string]layersAt{}, byType: map[string]typeAt{}}
}

// of returns what is known about the instances, and asks about those that it is worth for.
func (t *topology) of(ctx context.Context, found []ec2types.Instance) places {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	t.forgetLocked(now)
	var failed error
	if t.mayAskLocked(now) {
		failed = t.askLocked(ctx, found, now)
	} else {
		failed = t.err
	}
	p := places{layers: map[string][]string{}, errs: map[string]error{}}
	for n := range found {
		id := aws.ToString(found[n].InstanceId)
		known, ok := t.byID[id]
		switch {
		case ok:
			p.layers[id] = known.layers
		case failed != nil && t.requires(&found[n]) && running(&found[n]):
			p.errs[id] = failed
		}
	}
	return p
}

func (t *topology) requires(i *ec2types.Instance) bool {
	return t.required != nil && t.required.MatchString(string(i.InstanceType))
}

// running: EC2 knows where an instance stands only while it runs.
func running(i *ec2types.Instance) bool {
	return i.State != nil && i.State.Name == ec2types.InstanceStateNameRunning
}

func (t *topology) forgetLocked(now time.Time) {
	maps.DeleteFunc(t.byID, func(_ string, l layersAt) bool { return now.Sub(l.at) >= topologyAge })
	maps.DeleteFunc(t.byType, func(_ string, k typeAt) bool { return now.Sub(k.at) >= topologyAge })
}

func (t *topology) mayAskLocked(now time.Time) bool {
	refused := !t.refusedAt.IsZero() && now.Sub(t.refusedAt) < topologyAge
	failed := !t.failedAt.IsZero() && now.Sub(t.failedAt) < topologyPause
	return !refused && !failed
}

// askLocked asks about the instances that may have an answer, in at most two rounds: single instances of
// types about which nothing is known are in the first, and all others of types that have one in the second.
func (t *topology) askLocked(ctx context.Context, found []ec2types.Instance, now time.Time) error {
	settled := t.settled()
	for range 2 {
		ids := t.worthAskingLocked(found, settled)
		if len(ids) == 0 {
			break
		}
		for chunk := range slices.Chunk(ids, maxTopologyIDs) {
			if err := t.askChunkLocked(ctx, chunk, typesOf(found), now); err != nil {
				return t.failLocked(ctx, err, now)
			}
		}
	}
	t.failedAt, t.err = time.Time{}, nil
	return nil
}

// worthAskingLocked are the running instances about which nothing is known.
func (t *topology) worthAskingLocked(found []ec2types.Instance, settled map[string]bool) []string {
	var ids []string
	probed := map[string]bool{}
	for n := range found {
		i := &found[n]
		id, kind := aws.ToString(i.InstanceId), string(i.InstanceType)
		if _, known := t.byID[id]; known || settled[id] || !running(i) {
			continue
		}
		about, known := t.byType[kind]
		switch {
		case t.requires(i), about.has:
			ids = append(ids, id)
		case !known && !probed[kind]:
			probed[kind] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// askChunkLocked asks about at most maxTopologyIDs instances. An instance that is gone makes EC2 refuse the
// whole question and name it; it is then asked without.
func (t *topology) askChunkLocked(ctx context.Context, ids []string, kinds map[string]string, now time.Time) error {
	for len(ids) > 0 {
		answer, err := t.ec2.DescribeInstanceTopology(ctx, &ec2.DescribeInstanceTopologyInput{InstanceIds: ids})
		if err != nil {
			rest := withoutMentioned(ids, err)
			if awserr.Classify(err) != cloudapi.NotFound || len(rest) == len(ids) {
				return awserr.Wrap("DescribeInstanceTopology", err)
			}
			ids = rest
			continue
		}
		has := map[string]bool{}
		for _, place := range answer.Instances {
			id := aws.ToString(place.InstanceId)
			has[kinds[id]] = has[kinds[id]] || len(place.NetworkNodes) > 0
			t.byID[id] = layersAt{slices.Clone(place.NetworkNodes), now}
		}
		for _, id := range ids {
			kind := kinds[id]
			t.byType[kind] = typeAt{has[kind] || t.byType[kind].has, now}
			required := t.required != nil && t.required.MatchString(kind)
			if _, told := t.byID[id]; !told && (required || t.byType[kind].has) {
				t.byID[id] = layersAt{at: now}
			}
		}
		return nil
	}
	return nil
}

// failLocked notes that EC2 gave no answer, and returns the error if asking again may help.
func (t *topology) failLocked(ctx context.Context, err error, now time.Time) error {
	logger := klog.FromContext(ctx)
	if cloudapi.Is(err, cloudapi.Denied) || awserr.Is(err, "UnsupportedOperation") {
		t.refusedAt, t.failedAt, t.err = now, time.Time{}, nil
		logger.Info("The network topology of instances cannot be read here; nodes get no labels of it for a day", "err", err)
		return nil
	}
	t.failedAt, t.err = now, err
	logger.Info("Reading the network topology of instances failed", "err", err)
	return err
}

func typesOf(found []ec2types.Instance) map[string]string {
	kinds := make(map[string]string, len(found))
	for n := range found {
		kinds[aws.ToString(found[n].InstanceId)] = string(found[n].InstanceType)
	}
	return kinds
}

// withoutMentioned returns the IDs that the text of an error does not name.
func withoutMentioned(ids []string, err error) []string {
	text := err.Error()
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return strings.Contains(text, id) })
}
