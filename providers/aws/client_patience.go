package aws

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
)

const (
	// firstPause is how long all requests of a kind are held back when the service has throttled
	// one: they would have met the same empty bucket.
	firstPause = time.Second
	// paced is how long a class of requests keeps to AWS' rate after the last time it was throttled.
	// It outlasts what fills every bucket anew, the slowest in 50 seconds.
	paced = time.Minute
	// slowest is the share of AWS' rate that is left to us at least in an account whose buckets
	// others empty too.
	slowest = 1. / 8
)

// class is what AWS throttles together, or, of EC2, of which it throttles each operation so.
type class struct {
	service service
	name    string
}

// The classes, in the words of AWS' user guides.
const (
	nonMutating       = "non-mutating"
	mutating          = "mutating"
	registration      = "registration"
	resourceIntensive = "resource-intensive"
)

// classOf sorts a request into its class.
func classOf(r cloudapi.Request) class {
	c := class{service(r.Service), nonMutating}
	if !r.Mutating {
		return c
	}
	c.name = mutating
	if c.service == serviceEC2 {
		return c
	}
	switch r.Operation {
	case "RegisterTargets", "DeregisterTargets", "RegisterInstancesWithLoadBalancer", "DeregisterInstancesFromLoadBalancer":
		c.name = registration
	case "CreateLoadBalancer", "SetSubnets", "AttachLoadBalancerToSubnets", "DetachLoadBalancerFromSubnets":
		c.name = resourceIntensive
	}
	return c
}

// refill is how many requests a second AWS lets an account make of a class for good, unless it has
// granted more: the refill rates of the token buckets in the chapters on request throttling of the
// EC2 developer guide and of the Elastic Load Balancing user guide.
func (c class) refill() float64 {
	if c.service == serviceEC2 {
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

// patient makes the rate follow AWS, whose buckets are shared with everybody in the account, and
// larger for some: what is left for us is only known when AWS throttles. From then on it sends
// requests of that class at the rate at which AWS refills the bucket, or at half of it, and so on,
// where that is still too fast because others take from it too; and as freely as before once AWS
// has had no reason to complain for a while.
type patient struct {
	base  http.RoundTripper
	clock clock.Clock

	mu    sync.Mutex
	paces map[class]*pace
}

// pace is the rate of a class that was throttled.
type pace struct {
	// rate is in requests a second.
	rate float64
	// next is when the next request may go, slowed when the rate was last lowered, and since when AWS
	// throttled last.
	next, slowed, since time.Time
}

// RoundTrip implements http.RoundTripper. A request whose turn would come after its deadline is not sent.
func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	req, asked := describe(r), p.clock.Now()
	if err := p.wait(r.Context(), req); err != nil {
		return nil, err
	}
	resp, err := p.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if classify(resp, nil) == cloudapi.Throttled {
		p.throttled(classOf(req), asked)
		if resp.Header.Get("Retry-After") == "" {
			// AWS does not say how long to wait.
			resp.Header.Set("Retry-After", strconv.Itoa(int(firstPause.Seconds())))
		}
	}
	return resp, nil
}

// wait waits for the request's turn.
func (p *patient) wait(ctx context.Context, req cloudapi.Request) error {
	now := p.clock.Now()
	deadline, limited := ctx.Deadline()
	inTime := func(at time.Time) bool { return !limited || at.Before(deadline) }
	turn := p.turn(classOf(req), now, inTime)
	if !inTime(turn) {
		return &cloudapi.Error{
			Class: cloudapi.Throttled, Operation: req.Operation, RetryAfter: turn.Sub(now),
			Err: errors.New("not sent: AWS throttles requests of this kind, and others that wait come first"),
		}
	}
	return clocks.Sleep(ctx, p.clock, turn.Sub(now))
}

// turn returns the next turn of a class, and takes it if it is in time: one that was taken for a request
// that is not sent would be lost for all.
func (p *patient) turn(c class, now time.Time, inTime func(time.Time) bool) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.paces[c]
	if at == nil {
		return now
	}
	if now.Sub(at.since) > paced && now.After(at.next) {
		delete(p.paces, c)
		return now
	}
	turn := at.next
	if turn.Before(now) {
		turn = now
	}
	if inTime(turn) {
		at.next = turn.Add(at.gap())
	}
	return turn
}

func (p *pace) gap() time.Duration { return time.Duration(float64(time.Second) / p.rate) }

// throttled slows a class down, for a request that was asked for at a time. Requests that were under way
// or had their turns before it was slowed down last say nothing about the rate that it has now.
func (p *patient) throttled(c class, asked time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, at := p.clock.Now(), p.paces[c]
	switch {
	case at == nil:
		if p.paces == nil {
			p.paces = map[class]*pace{}
		}
		at = &pace{rate: c.refill(), slowed: now}
		at.next = now.Add(at.gap())
		p.paces[c] = at
	case asked.Before(at.slowed), now.Sub(at.slowed) < 2*max(firstPause, at.gap()):
		// Sent before, or out of a bucket that is just being refilled.
	default:
		at.rate, at.slowed = max(at.rate/2, slowest*c.refill()), now
	}
	at.since = now
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (p *patient) CloseIdleConnections() { cloudapi.CloseIdle(p.base) }
