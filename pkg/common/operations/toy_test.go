package operations_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/operations"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// toy is a cloud with operations: a map of objects.
type toy struct {
	mu      sync.Mutex
	ops     *sim.Operations
	objects map[string]string
	// waitVerb is the longest time that a poll blocks in the cloud; 0 for polls that return at once.
	waitVerb   time.Duration
	retryAfter time.Duration
	// fail, if set, is the error of the poll of that number, from 1.
	fail func(poll int) error
	// loseReply drops the replies of that many requests.
	loseReply int
	// refuse is the error of all requests.
	refuse  error
	latency time.Duration
	// deaf polls do not end with their context.
	deaf bool

	polls, calls, lists int
	inFlight            int
	requestIDs          []string
	pollTimes           []time.Time
}

func newToy(takes time.Duration) *toy {
	c := &toy{objects: map[string]string{}}
	c.ops = sim.NewOperations(nil, &c.mu, takes)
	return c
}

// set returns the call that gives an object a value.
func (c *toy) set(target, value string) operations.Call {
	return func(ctx context.Context, requestID string) (operations.Operation, error) {
		c.mu.Lock()
		c.calls++
		c.requestIDs = append(c.requestIDs, requestID)
		c.mu.Unlock()
		if err := sleep(ctx, c.latency); err != nil {
			return operations.Operation{}, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.refuse != nil {
			return operations.Operation{}, c.refuse
		}
		state := c.ops.Start(sim.Task{
			Name: "set", Target: target, RequestID: requestID,
			Commit: func() error { c.objects[target] = value; return nil },
		})
		if c.loseReply > 0 {
			c.loseReply--
			return operations.Operation{}, classified(cloudapi.Unavailable, "connection reset")
		}
		return c.operation(state), nil
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func classified(class cloudapi.Class, text string) error {
	return &cloudapi.Error{Class: class, Operation: "set", Err: errors.New(text)}
}

func (c *toy) operation(s sim.OperationState) operations.Operation {
	return operations.Operation{
		ID: s.ID, Name: s.Name, Target: s.Target, RequestID: s.RequestID, Done: s.Done, Err: s.Err,
		RetryAfter: c.retryAfter,
	}
}

// Poll implements operations.Source.
func (c *toy) Poll(ctx context.Context, op operations.Operation) (operations.Operation, error) {
	c.mu.Lock()
	c.polls++
	c.pollTimes = append(c.pollTimes, time.Now())
	poll := c.polls
	c.inFlight++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.inFlight--
		c.mu.Unlock()
	}()
	if c.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	if c.fail != nil {
		if err := c.fail(poll); err != nil {
			return operations.Operation{}, err
		}
	}
	state, found, err := c.ops.Wait(ctx, op.ID, c.waitVerb)
	switch {
	case err != nil:
		return operations.Operation{}, err
	case !found:
		return operations.Operation{}, classified(cloudapi.NotFound, "no such operation")
	}
	return c.operation(state), nil
}

// Running implements operations.Source.
func (c *toy) Running(_ context.Context, target string) ([]operations.Operation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists++
	var running []operations.Operation
	for _, s := range c.ops.Running() {
		if s.Target == target {
			running = append(running, c.operation(s))
		}
	}
	return running, nil
}

// object returns the value of an object at this time.
func (c *toy) object(target string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops.Advance()
	return c.objects[target]
}

func (c *toy) setFaults(faults ...sim.OperationFault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops.SetFaults(faults...)
}

// counts returns the numbers of requests and polls so far.
func (c *toy) counts() (calls, polls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls, c.polls
}

// waiter returns a Waiter for the cloud, with request IDs in sequence.
func (c *toy) waiter(o operations.Options) *operations.Waiter {
	o.Provider = "toy"
	n := 0
	o.NewRequestID = func() string { n++; return fmt.Sprintf("request-%d", n) }
	return operations.New(o, c)
}

func request(target, value string) operations.Request {
	return operations.Request{Name: "set", Target: target, Digest: value}
}

func verifyCounts(t *testing.T, c *toy, calls, polls int) {
	t.Helper()
	gotCalls, gotPolls := c.counts()
	if gotCalls != calls || gotPolls != polls {
		t.Errorf("%d calls and %d polls, want %d and %d", gotCalls, gotPolls, calls, polls)
	}
}
