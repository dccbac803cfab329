package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

const (
	// throttlePause is how long a throttled class of requests pauses when AWS sends no Retry-After:
	// the other requests would meet the same empty bucket.
	throttlePause = time.Second
	// limitDuration is how long a class stays limited after AWS throttled it last. It outlasts the refill
	// of every bucket, the slowest of which takes 50 seconds.
	limitDuration = time.Minute
	// minShare is the smallest share of AWS' rate that a class is limited to: other clients of the account may
	// use its buckets too.
	minShare = 1. / 8
)

// class identifies the requests that AWS throttles together. For EC2 it is coarser: AWS throttles each
// of its operations separately.
type class struct {
	service api.Service
	name    string
}

// The classes, in the words of AWS' user guides.
const (
	nonMutating       = "non-mutating"
	mutating          = "mutating"
	registration      = "registration"
	resourceIntensive = "resource-intensive"
)

// classOf returns the class of a request.
func classOf(r cloudapi.Request) class {
	c := class{api.Service(r.Service), nonMutating}
	if !r.Mutating {
		return c
	}
	c.name = mutating
	if c.service == api.ServiceEC2 {
		return c
	}
	switch r.Operation {
	case "RegisterTargets", "DeregisterTargets", "RegisterInstancesWithLoadBalancer",
		"DeregisterInstancesFromLoadBalancer":
		c.name = registration
	case "CreateLoadBalancer", "SetSubnets", "AttachLoadBalancerToSubnets", "DetachLoadBalancerFromSubnets":
		c.name = resourceIntensive
	}
	return c
}

// refill returns the sustained rate, in requests per second, that AWS publishes for a class: the
// refill rates of the token buckets in the chapters on request throttling of the EC2 developer guide
// and of the Elastic Load Balancing user guide.
func (c class) refill() float64 {
	if c.service == api.ServiceEC2 {
		if c.name == nonMutating {
			return 20
		}
		return 5
	}
	switch c.name {
	case registration:
		return 4
	case mutating:
		return 3
	case resourceIntensive:
		return 0.2
	default:
		return 10
	}
}

// adaptiveLimiter adapts the request rate to AWS' token buckets. Other clients of the account drain
// them too, and some accounts have larger ones, so that only throttling reveals the available rate.
// A throttled class is limited to AWS' refill rate, which is halved while AWS keeps throttling. The
// limit is removed once AWS has not throttled the class for a while.
type adaptiveLimiter struct {
	base  http.RoundTripper
	clock clock.Clock

	mu     sync.Mutex
	limits map[class]*classLimit
}

// classLimit is the limit of a throttled class.
type classLimit struct {
	// rate is in requests per second.
	rate float64
	// next is the next free slot, loweredAt when the rate was last lowered, throttledAt when AWS
	// throttled last.
	next, loweredAt, throttledAt time.Time
}

// RoundTrip implements http.RoundTripper. It does not send a request with a slot after its deadline.
func (l *adaptiveLimiter) RoundTrip(r *http.Request) (*http.Response, error) {
	req, arrivedAt := describe(r), l.clock.Now()
	if err := l.wait(r.Context(), req); err != nil {
		return nil, err
	}
	resp, err := l.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if classify(resp, nil) == cloudapi.Throttled {
		l.recordThrottling(classOf(req), arrivedAt)
		if resp.Header.Get("Retry-After") == "" {
			// AWS does not send one.
			resp.Header.Set("Retry-After", strconv.Itoa(int(throttlePause.Seconds())))
		}
	}
	return resp, nil
}

// wait waits for the request's slot.
func (l *adaptiveLimiter) wait(ctx context.Context, req cloudapi.Request) error {
	now := l.clock.Now()
	deadline, limited := ctx.Deadline()
	inTime := func(at time.Time) bool { return !limited || at.Before(deadline) }
	slot := l.reserve(classOf(req), now, inTime)
	if !inTime(slot) {
		return &cloudapi.Error{
			Class: cloudapi.Throttled, Operation: req.Operation, RetryAfter: slot.Sub(now),
			Err: errors.New("rate limited: the next slot is after the deadline"),
		}
	}
	return clocks.Sleep(ctx, l.clock, slot.Sub(now))
}

// reserve returns the next slot of a class. It reserves the slot only if that is in time: a slot of a
// request that is not sent would be lost.
func (l *adaptiveLimiter) reserve(c class, now time.Time, inTime func(time.Time) bool) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.limits[c]
	if limit == nil {
		return now
	}
	if now.Sub(limit.throttledAt) > limitDuration && now.After(limit.next) {
		delete(l.limits, c)
		return now
	}
	slot := limit.next
	if slot.Before(now) {
		slot = now
	}
	if inTime(slot) {
		limit.next = slot.Add(limit.interval())
	}
	return slot
}

func (c *classLimit) interval() time.Duration { return time.Duration(float64(time.Second) / c.rate) }

// recordThrottling limits a class after AWS throttled a request that arrived at arrivedAt. A request that
// arrived before the rate was last lowered does not show that the current rate is too high.
func (l *adaptiveLimiter) recordThrottling(c class, arrivedAt time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, limit := l.clock.Now(), l.limits[c]
	switch {
	case limit == nil:
		if l.limits == nil {
			l.limits = map[class]*classLimit{}
		}
		limit = &classLimit{rate: c.refill(), loweredAt: now}
		limit.next = now.Add(limit.interval())
		l.limits[c] = limit
	case arrivedAt.Before(limit.loweredAt), now.Sub(limit.loweredAt) < 2*max(throttlePause, limit.interval()):
		// The request arrived at the old rate, or the bucket has not had time to refill.
	default:
		limit.rate, limit.loweredAt = max(limit.rate/2, minShare*c.refill()), now
	}
	limit.throttledAt = now
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (l *adaptiveLimiter) CloseIdleConnections() { cloudapi.CloseIdleConnections(l.base) }
