package instances

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const (
	// maxTopologyIDs is the maximum number of instances of a DescribeInstanceTopology, from its API reference.
	maxTopologyIDs = 100
	// topologyAge is how long a response is valid: the location of an instance changes at most when it is stopped
	// and started, and the support of a type or region hardly ever.
	topologyAge = 24 * time.Hour
	// topologyRetry is the time after which a failed read may be retried.
	topologyRetry = 10 * time.Second
)

// topology finds the network topology of instances, for labels that Nodes get when they are initialized. It is
// safe for concurrent use.
//
// Most instance types have none. Of a type that is not required to have one it reads a single instance first,
// and the others only if that has one.
type topology struct {
	topologyOptions

	mu     locks.Mutex
	byID   map[string]cachedLayers
	byType map[string]cachedType
	// unsupportedAt is when EC2 denied a read, or does not support the region.
	unsupportedAt time.Time
	// failedAt is when a read failed otherwise, and err its error.
	failedAt time.Time
	err      error
}

// topologyOptions configure newTopology. All but Required are required.
type topologyOptions struct {
	// Describe reads the topology of at most maxTopologyIDs instances.
	Describe func(ctx context.Context, ids []string) ([]ec2types.InstanceTopology, error)
	// Existing returns the IDs of instances that exist.
	Existing func(ctx context.Context, ids []string) ([]string, error)
	// Initialized returns the IDs of instances with initialized Nodes, which get no further labels.
	Initialized func() map[string]bool
	// Required matches the instance types of Nodes that must not be initialized without a topology; nil matches none.
	Required *regexp.Regexp
	Clock    clock.Clock
}

type cachedLayers struct {
	// layers are the network nodes above the instance, from the outermost; none where EC2 returns none.
	layers []string
	readAt time.Time
}

type cachedType struct {
	supported bool
	readAt    time.Time
}

// knownTopology is the topology of instances as far as EC2 returned it.
type knownTopology struct {
	layers map[string][]string
	// errs holds, for instances of required types, why their topology is unknown.
	errs map[string]error
}

func newTopology(o topologyOptions) *topology {
	return &topology{topologyOptions: o, byID: map[string]cachedLayers{}, byType: map[string]cachedType{}}
}

// get returns the topology of instances. It reads the topology that is not cached.
func (t *topology) get(ctx context.Context, found []ec2types.Instance) knownTopology {
	known := knownTopology{layers: map[string][]string{}, errs: map[string]error{}}
	unlock, err := t.mu.Lock(ctx) // The holder of the lock may be waiting for EC2.
	if err != nil {
		for n := range found {
			if t.requiredFor(&found[n]) {
				known.errs[aws.ToString(found[n].InstanceId)] = err
			}
		}
		return known
	}
	defer unlock()
	now := t.Clock.Now()
	t.evictLocked(now)
	if t.mayReadLocked(now) {
		err = t.readLocked(ctx, found, now)
	} else {
		err = t.err
	}
	for n := range found {
		id := aws.ToString(found[n].InstanceId)
		cached, ok := t.byID[id]
		switch {
		case ok:
			known.layers[id] = cached.layers
		case err != nil && t.requiredFor(&found[n]):
			known.errs[id] = err
		}
	}
	return known
}

// requiredFor reports whether the Node of an instance waits for the topology, which EC2 has only of running ones.
func (t *topology) requiredFor(i *ec2types.Instance) bool {
	return t.requires(string(i.InstanceType)) && isRunning(i)
}

func (t *topology) requires(instanceType string) bool {
	return t.Required != nil && t.Required.MatchString(instanceType)
}

// isRunning reports whether an instance runs. EC2 knows the topology only of instances that do.
func isRunning(i *ec2types.Instance) bool {
	return i.State != nil && i.State.Name == ec2types.InstanceStateNameRunning
}

func (t *topology) evictLocked(now time.Time) {
	maps.DeleteFunc(t.byID, func(_ string, l cachedLayers) bool { return now.Sub(l.readAt) >= topologyAge })
	maps.DeleteFunc(t.byType, func(_ string, k cachedType) bool { return now.Sub(k.readAt) >= topologyAge })
}

func (t *topology) mayReadLocked(now time.Time) bool {
	unsupported := !t.unsupportedAt.IsZero() && now.Sub(t.unsupportedAt) < topologyAge
	failed := !t.failedAt.IsZero() && now.Sub(t.failedAt) < topologyRetry
	return !unsupported && !failed
}

// readLocked reads the missing topology in at most two rounds: single instances of unknown types in the first,
// and all others of supported types in the second.
func (t *topology) readLocked(ctx context.Context, found []ec2types.Instance, now time.Time) error {
	initialized := t.Initialized()
	for range 2 {
		ids := t.missingLocked(found, initialized)
		if len(ids) == 0 {
			break
		}
		for chunk := range slices.Chunk(ids, maxTopologyIDs) {
			if err := t.readChunkLocked(ctx, chunk, typesOf(found), now); err != nil {
				return t.failLocked(ctx, err, now)
			}
		}
	}
	t.failedAt, t.err = time.Time{}, nil
	return nil
}

// missingLocked returns the running instances with a topology that is not cached and worth a read.
func (t *topology) missingLocked(found []ec2types.Instance, initialized map[string]bool) []string {
	var ids []string
	probed := map[string]bool{}
	for n := range found {
		i := &found[n]
		id, instanceType := aws.ToString(i.InstanceId), string(i.InstanceType)
		if _, cached := t.byID[id]; cached || initialized[id] || !isRunning(i) {
			continue
		}
		known, ok := t.byType[instanceType]
		switch {
		case t.requires(instanceType), known.supported:
			ids = append(ids, id)
		case !ok && !probed[instanceType]:
			probed[instanceType] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// readChunkLocked reads the topology of at most maxTopologyIDs instances. EC2 rejects the call if one of them was
// deleted meanwhile. readChunkLocked then retries it with the instances that exist.
func (t *topology) readChunkLocked(ctx context.Context, ids []string, types map[string]string, now time.Time) error {
	found, err := t.Describe(ctx, ids)
	if cloudapi.Is(err, cloudapi.NotFound) {
		var listErr error
		if ids, listErr = t.Existing(ctx, ids); listErr != nil {
			return listErr
		}
		if len(ids) == 0 {
			return nil
		}
		found, err = t.Describe(ctx, ids)
	}
	if err != nil {
		return err
	}
	supported := map[string]bool{}
	for _, i := range found {
		id := aws.ToString(i.InstanceId)
		supported[types[id]] = supported[types[id]] || len(i.NetworkNodes) > 0
		t.byID[id] = cachedLayers{slices.Clone(i.NetworkNodes), now}
	}
	for _, id := range ids {
		instanceType := types[id]
		t.byType[instanceType] = cachedType{supported[instanceType] || t.byType[instanceType].supported, now}
		if _, returned := t.byID[id]; !returned && (t.requires(instanceType) || t.byType[instanceType].supported) {
			t.byID[id] = cachedLayers{readAt: now}
		}
	}
	return nil
}

// failLocked records a failed read, and returns the error if a retry may help.
func (t *topology) failLocked(ctx context.Context, err error, now time.Time) error {
	logger := klog.FromContext(ctx)
	if cloudapi.Is(err, cloudapi.Denied) || awserr.Is(err, "UnsupportedOperation") {
		t.unsupportedAt, t.failedAt, t.err = now, time.Time{}, nil
		logger.Info("Network topology of instances not available; nodes get no topology labels",
			"retryAfter", topologyAge, "err", err)
		return nil
	}
	t.failedAt, t.err = now, err
	logger.Info("Failed to read the network topology of instances", "err", err)
	return err
}

func typesOf(found []ec2types.Instance) map[string]string {
	types := make(map[string]string, len(found))
	for n := range found {
		types[aws.ToString(found[n].InstanceId)] = string(found[n].InstanceType)
	}
	return types
}
