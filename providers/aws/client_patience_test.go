package aws

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
)

// throttling is AWS with one token bucket: it refuses what comes when the bucket is empty.
type throttling struct {
	bucket           *rate.Limiter
	answers, refused atomic.Int64
}

func (a *throttling) RoundTrip(*http.Request) (*http.Response, error) {
	if a.bucket.Allow() {
		a.answers.Add(1)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	}
	a.refused.Add(1)
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("<Code>Throttling</Code>"))}, nil
}

// as returns the context of a call to Elastic Load Balancing.
func as(ctx context.Context, operation string) context.Context {
	return middleware.WithOperationName(middleware.WithServiceID(ctx, "Elastic Load Balancing v2"), operation)
}

// TestPatience has work for a minute or more in accounts with AWS' own limits, with higher ones, and
// with a bucket that others take from too. It must end about when the bucket allows, with few refusals.
func TestPatience(t *testing.T) {
	const (
		// everybody is all that 256 Services can ask at once, each a few things side by side.
		everybody = 1024
		// early are refused because they had their turns before it was known how slow they have to be.
		early = 100
	)
	for name, tc := range map[string]struct {
		operation string
		bucket    *rate.Limiter
		requests  int
		within    time.Duration
		refused   int64
	}{
		"reads of a restart, AWS' own limits":      {"DescribeListeners", rate.NewLimiter(10, 40), 820, 90 * time.Second, 60},
		"reads of a restart, no limit to be felt":  {"DescribeListeners", rate.NewLimiter(100, 200), 820, 10 * time.Second, 0},
		"reads of a restart, half is someone's":    {"DescribeListeners", rate.NewLimiter(5, 40), 820, 3 * time.Minute, 60},
		"a node joins 200 load balancers":          {"RegisterTargets", rate.NewLimiter(4, 20), 400, 2 * time.Minute, 60},
		"load balancers, of which few may be made": {"CreateLoadBalancer", rate.NewLimiter(0.2, 10), 15, time.Minute, 20},
	} {
		t.Run(name, func(t *testing.T) {
			for workers, refused := range map[int]int64{16: tc.refused, everybody: tc.refused + early} {
				synctest.Test(t, func(t *testing.T) {
					aws := &throttling{bucket: rate.NewLimiter(tc.bucket.Limit(), tc.bucket.Burst())}
					client := http.Client{Transport: newTransport(aws, clock.RealClock{}, nil)}
					start := time.Now()
					workqueue.ParallelizeUntil(t.Context(), workers, tc.requests, func(int) {
						for !ask(as(t.Context(), tc.operation), t, client) { // asks until it is answered, as work queues do
						}
					})
					took := time.Since(start)
					t.Logf("%d requests of %d workers took %s, %d were refused", tc.requests, workers, took, aws.refused.Load())
					if took > tc.within || aws.refused.Load() > refused {
						t.Errorf("%d workers took %s, want at most %s; %d refused, want at most %d", workers, took, tc.within, aws.refused.Load(), refused)
					}
				})
			}
		})
	}
}

// ask makes one request, as the SDK's clients do, and says whether it was answered.
func ask(ctx context.Context, t *testing.T, client http.Client) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
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

// TestPatienceIsByClass: what AWS throttles leaves what it does not alone.
func TestPatienceIsByClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &patient{clock: clock.RealClock{}, base: roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.EOF })}
		heavy := request("Elastic Load Balancing v2", "CreateLoadBalancer")
		p.throttled(classOf(heavy), time.Now())
		start := time.Now()
		for _, operation := range []string{"DescribeTags", "RegisterTargets", "CreateListener"} {
			if err := p.wait(t.Context(), request("Elastic Load Balancing v2", operation)); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("other classes waited %s", took)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.wait(short, heavy); !cloudapi.Is(err, cloudapi.Throttled) {
			t.Errorf("error %v, want one that says that it was not sent", err)
		}
		if time.Since(start) > 0 {
			t.Error("it waited for a turn that comes too late")
		}
		for range 100 {
			_ = p.wait(short, heavy)
		}
		if err := p.wait(t.Context(), heavy); err != nil || time.Since(start) > 5*time.Second {
			t.Errorf("%v after %s: the requests that were not sent have taken turns", err, time.Since(start))
		}
		time.Sleep(10 * time.Minute)
		start = time.Now()
		if err := p.wait(t.Context(), heavy); err != nil || time.Since(start) > 0 {
			t.Errorf("it is still slow after ten minutes: %v", err)
		}
	})
}
