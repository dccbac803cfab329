package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go/middleware"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// throttling responds like AWS with one token bucket.
type throttling struct {
	bucket            *rate.Limiter
	served, throttled atomic.Int64
}

func (a *throttling) RoundTrip(*http.Request) (*http.Response, error) {
	if a.bucket.Allow() {
		a.served.Add(1)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	}
	a.throttled.Add(1)
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("<Code>Throttling</Code>")),
	}, nil
}

// withOperation returns the context of a call to Elastic Load Balancing.
func withOperation(ctx context.Context, operation string) context.Context {
	return middleware.WithOperationName(middleware.WithServiceID(ctx, "Elastic Load Balancing v2"), operation)
}

// TestAdaptiveLimiterFollowsBucket sends requests for a minute or more in accounts with AWS' default limits, with
// higher ones, and with a bucket that other clients drain too. It must end about when the bucket allows, with few
// throttled requests.
func TestAdaptiveLimiterFollowsBucket(t *testing.T) {
	const (
		// manyWorkers is the concurrency of 256 Services with a few requests each.
		manyWorkers = 1024
		// early requests are throttled because they were sent before the first response.
		early = 100
	)
	for name, tc := range map[string]struct {
		operation string
		bucket    *rate.Limiter
		requests  int
		within    time.Duration
		throttled int64
	}{
		"reads of a restart, default limits":     {"DescribeListeners", rate.NewLimiter(10, 40), 820, 90 * time.Second, 60},
		"reads of a restart, high limits":        {"DescribeListeners", rate.NewLimiter(100, 200), 820, 10 * time.Second, 0},
		"reads of a restart, half of the bucket": {"DescribeListeners", rate.NewLimiter(5, 40), 820, 3 * time.Minute, 60},
		"a node joins 200 load balancers":        {"RegisterTargets", rate.NewLimiter(4, 20), 400, 2 * time.Minute, 60},
		"load balancer creations":                {"CreateLoadBalancer", rate.NewLimiter(0.2, 10), 15, time.Minute, 20},
	} {
		t.Run(name, func(t *testing.T) {
			for workers, throttled := range map[int]int64{16: tc.throttled, manyWorkers: tc.throttled + early} {
				synctest.Test(t, func(t *testing.T) {
					aws := &throttling{bucket: rate.NewLimiter(tc.bucket.Limit(), tc.bucket.Burst())}
					client := http.Client{Transport: newTransport(aws, clock.RealClock{}, nil)}
					start := time.Now()
					workqueue.ParallelizeUntil(t.Context(), workers, tc.requests, func(int) {
						for !send(withOperation(t.Context(), tc.operation), t, client) { // retries, as work queues do
						}
					})
					took := time.Since(start)
					t.Logf("%d requests of %d workers took %s, %d throttled", tc.requests, workers, took, aws.throttled.Load())
					if took > tc.within || aws.throttled.Load() > throttled {
						t.Errorf("%d workers took %s, want at most %s; %d throttled, want at most %d",
							workers, took, tc.within, aws.throttled.Load(), throttled)
					}
				})
			}
		})
	}
}

// send sends a request and reports whether it was served.
func send(ctx context.Context, t *testing.T, client http.Client) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://elb.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		if !cloudapi.Is(err, cloudapi.Throttled) {
			t.Error(err)
		}
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestAdaptiveLimiterLimitsByClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := simtest.RoundTripFunc(func(*http.Request) (*http.Response, error) { return nil, io.EOF })
		l := &adaptiveLimiter{clock: clock.RealClock{}, base: fail}
		heavy := newRequest("Elastic Load Balancing v2", "CreateLoadBalancer")
		l.recordThrottling(classOf(heavy), time.Now())
		start := time.Now()
		for _, operation := range []string{"DescribeTags", "RegisterTargets", "CreateListener"} {
			if err := l.wait(t.Context(), newRequest("Elastic Load Balancing v2", operation)); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("other classes waited %s", took)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.wait(short, heavy); !cloudapi.Is(err, cloudapi.Throttled) {
			t.Errorf("error %v, want class Throttled", err)
		}
		if time.Since(start) > 0 {
			t.Error("waited for a slot after the deadline")
		}
		for range 100 {
			_ = l.wait(short, heavy)
		}
		if err := l.wait(t.Context(), heavy); err != nil || time.Since(start) > 5*time.Second {
			t.Errorf("%v after %s: requests that were not sent reserved slots", err, time.Since(start))
		}
		time.Sleep(10 * time.Minute)
		start = time.Now()
		if err := l.wait(t.Context(), heavy); err != nil || time.Since(start) > 0 {
			t.Errorf("still limited after ten minutes: %v", err)
		}
	})
}
