package cloudapi_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// client is a cloud's client without an SDK: a transport for its requests, and Retry around them.
type client struct {
	http  *http.Client
	retry cloudapi.Retry
}

func describe(r *http.Request) cloudapi.Request {
	if r.Method == http.MethodPost {
		return cloudapi.Request{Service: "block", Operation: "CreateVolume", Mutating: true}
	}
	return cloudapi.Request{Service: "block", Operation: "ListVolumes"}
}

func (c *client) do(ctx context.Context, method string) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://cloud.test/volumes", nil)
	if err != nil {
		return err
	}
	described := describe(req)
	return c.retry.Do(ctx, described, func(context.Context) error {
		resp, err := c.http.Do(req)
		if class := cloudapi.ClassifyStatus(resp, err); class != "" {
			e := &cloudapi.Error{Class: class, Operation: described.Operation, Err: err}
			if err == nil {
				e.RetryAfter = cloudapi.RetryAfter(resp.Header, time.Now())
				e.Err = fmt.Errorf("status %d", resp.StatusCode)
			}
			return e
		}
		return resp.Body.Close()
	})
}

// TestClientAgainstSimulator sends one request through a client built of this package to a cloud
// in which the first request goes wrong, and counts what was done.
func TestClientAgainstSimulator(t *testing.T) {
	const read, create = http.MethodGet, http.MethodPost
	tests := []struct {
		name   string
		method string
		fault  sim.Fault
		class  cloudapi.Class
		done   int
		sent   map[string]int
		took   time.Duration
	}{
		{name: "read, error", method: read, fault: sim.Fault{Kind: sim.FaultError},
			done: 1, sent: map[string]int{"ListVolumes": 2}, took: time.Second},
		{name: "read, lost reply", method: read, fault: sim.Fault{Kind: sim.FaultLostReply},
			done: 2, sent: map[string]int{"ListVolumes": 2}, took: time.Second},
		{name: "creation, throttled with a wait", method: create, fault: sim.Fault{Kind: sim.FaultThrottle, RetryAfter: 5 * time.Second},
			done: 1, sent: map[string]int{"CreateVolume": 2}, took: 5 * time.Second},
		{name: "creation, lost reply: not repeated, because it was done", method: create, fault: sim.Fault{Kind: sim.FaultLostReply},
			class: cloudapi.Unavailable, done: 1, sent: map[string]int{"CreateVolume": 1}},
		{name: "creation, error: not repeated, because it may have been done", method: create, fault: sim.Fault{Kind: sim.FaultError},
			class: cloudapi.Unavailable, done: 0, sent: map[string]int{"CreateVolume": 1}},
		{name: "killed", method: read, fault: sim.Fault{Kind: sim.FaultKillBefore},
			class: cloudapi.Unavailable, done: 0, sent: map[string]int{"ListVolumes": 4}, took: 7 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				done := 0
				front := sim.NewFront(sim.FrontOptions{Handler: http.HandlerFunc(func(http.ResponseWriter,
					*http.Request) {
					done++
				})})
				front.SetFaults(tt.fault)
				sent := map[string]int{}
				count := func(c cloudapi.Call) {
					if c.Sent {
						sent[c.Operation]++
					}
				}
				c := &client{
					http: &http.Client{Transport: cloudapi.NewTransport(cloudapi.TransportOptions{
						Provider: "test", Base: front.Transport(), Describe: describe, Observe: count,
						Limits: cloudapi.Limits{ObeyRetryAfter: true},
					})},
					retry: cloudapi.Retry{Base: 2 * time.Second, Max: time.Minute, Random: func() float64 { return 0 }},
				}
				start := time.Now()
				if err := c.do(t.Context(), tt.method); cloudapi.ClassOf(err) != tt.class {
					t.Errorf("got %v, want class %q", err, tt.class)
				}
				if done != tt.done || time.Since(start) != tt.took {
					t.Errorf("done %d times in %v, want %d in %v", done, time.Since(start), tt.done, tt.took)
				}
				if diff := cmp.Diff(tt.sent, sent); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
				if front.Injected() != 1 {
					t.Errorf("%d faults injected, want 1", front.Injected())
				}
			})
		})
	}
}
