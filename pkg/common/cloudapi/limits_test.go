package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/testutil"
)

// The tests of this file run in bubbles, in which the real clock stands still until all
// goroutines wait for it.

// cloud is a transport before a cloud that notes when each request arrived, since start.
type cloud struct {
	http.RoundTripper
	t     *testing.T
	start time.Time

	mu       sync.Mutex
	arrivals []string
	calls    []Call
	// throttle holds the Retry-After of the next answers.
	throttle []string
}

func newCloud(t *testing.T, limits Limits) *cloud {
	c := &cloud{t: t, start: time.Now()}
	c.RoundTripper = NewTransport(TransportOptions{
		Provider: t.Name(), Limits: limits, Describe: byPath, Base: roundTrip(c.arrive),
		Observe: func(call Call) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.calls = append(c.calls, call)
		},
	})
	return c
}

func (c *cloud) arrive(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrivals = append(c.arrivals, fmt.Sprintf("%s %v", r.URL.Path[1:], time.Since(c.start)))
	if len(c.throttle) > 0 {
		after := c.throttle[0]
		c.throttle = c.throttle[1:]
		return answer(http.StatusTooManyRequests, http.Header{"Retry-After": {after}}), nil
	}
	return answer(http.StatusOK, nil), nil
}

// send makes requests one after the other: "GET service/operation".
func (c *cloud) send(requests ...string) {
	c.t.Helper()
	for _, r := range requests {
		method, path, _ := strings.Cut(r, " ")
		if _, err := c.RoundTrip(request(c.t, method, "/"+path, nil)); err != nil {
			c.t.Errorf("%s: %v", r, err)
		}
	}
}

func (c *cloud) want(arrivals ...string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff(arrivals, c.arrivals); diff != "" {
		c.t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}

func TestRateLimits(t *testing.T) {
	tests := []struct {
		name   string
		limits Limits
		send   []string
		want   []string
	}{
		{
			name: "none",
			send: []string{"GET a/L", "GET a/L", "POST a/C", "POST a/C"},
			want: []string{"a/L 0s", "a/L 0s", "a/C 0s", "a/C 0s"},
		},
		{
			name:   "burst, then the rate",
			limits: Limits{Default: ServiceLimits{Read: Limit{QPS: 10, Burst: 2}}},
			send:   []string{"GET a/L", "GET a/L", "GET a/L", "GET a/L"},
			want:   []string{"a/L 0s", "a/L 0s", "a/L 100ms", "a/L 200ms"},
		},
		{
			name:   "no burst means one",
			limits: Limits{Default: ServiceLimits{Read: Limit{QPS: 1}}},
			send:   []string{"GET a/L", "GET a/L"},
			want:   []string{"a/L 0s", "a/L 1s"},
		},
		{
			name:   "reads and mutations apart",
			limits: Limits{Default: ServiceLimits{Read: Limit{QPS: 1}, Mutate: Limit{QPS: 2}}},
			send:   []string{"GET a/L", "POST a/C", "POST a/C", "GET a/L"},
			want:   []string{"a/L 0s", "a/C 0s", "a/C 500ms", "a/L 1s"},
		},
		{
			name:   "services apart, by default too",
			limits: Limits{Default: ServiceLimits{Read: Limit{QPS: 1}}},
			send:   []string{"GET a/L", "GET b/L", "GET a/L", "GET b/L"},
			want:   []string{"a/L 0s", "b/L 0s", "a/L 1s", "b/L 1s"},
		},
		{
			name: "a service of its own",
			limits: Limits{
				Default:  ServiceLimits{Read: Limit{QPS: 1}},
				Services: map[string]ServiceLimits{"b": {Read: Limit{QPS: 4}}, "c": {}},
			},
			send: []string{"GET b/L", "GET b/L", "GET c/L", "GET c/L"},
			want: []string{"b/L 0s", "b/L 250ms", "c/L 250ms", "c/L 250ms"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCloud(t, tt.limits)
				c.send(tt.send...)
				c.want(tt.want...)
			})
		})
	}
}

func TestRateLimitsWithManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, Limits{Default: ServiceLimits{Mutate: Limit{QPS: 10}}})
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() { c.send("POST a/C") })
		}
		wg.Wait()
		if took := time.Since(c.start); took < 19900*time.Millisecond || took > 20*time.Second {
			t.Errorf("200 calls at 10 a second took %v, want 19.9s", took)
		}
		labels := map[string]string{"provider": t.Name(), "service": "a", "kind": "mutate"}
		testutil.AssertHistogramTotalCount(t, "ccm_cloud_api_rate_limit_wait_seconds", labels, 200)
		throttled := map[string]string{"provider": t.Name(), "source": "client"}
		testutil.AssertVectorCount(t, "ccm_cloud_api_throttled_total", throttled, 199)
	})
}

// TestRateLimitedRequestIsNotSent checks that a request which its context does not let wait is not
// sent, has its body closed, and gives its token back.
func TestRateLimitedRequestIsNotSent(t *testing.T) {
	tests := []struct {
		name  string
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		class Class
		is    error
		took  time.Duration
		text  string
	}{
		{
			name: "the deadline would pass: refused at once",
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 400*time.Millisecond)
			},
			class: Throttled,
			text:  "C: rate limited: the next slot is in 1s, after the deadline in 400ms (throttled)",
		},
		{
			name: "canceled while waiting",
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(300*time.Millisecond, cancel)
				return ctx, cancel
			},
			class: Canceled, is: context.Canceled, took: 300 * time.Millisecond, text: "context canceled",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCloud(t, Limits{Default: ServiceLimits{Mutate: Limit{QPS: 1}}})
				c.send("POST a/C")
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				body := &closes{Reader: strings.NewReader("body")}
				r := request(t, http.MethodPost, "/a/C", nil).WithContext(ctx)
				r.Body = body
				_, err := c.RoundTrip(r)
				if ClassOf(err) != tt.class || tt.is != nil && !errors.Is(err, tt.is) || err.Error() != tt.text {
					t.Errorf("got %v (%s), want %s (%s)", err, ClassOf(err), tt.text, tt.class)
				}
				if took := time.Since(c.start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if body.n != 1 {
					t.Errorf("the body was closed %d times", body.n)
				}
				last := c.calls[len(c.calls)-1]
				if last.Sent || last.Class != tt.class || last.Code != string(tt.class) || last.Waited != tt.took {
					t.Errorf("observed %+v", last)
				}
				c.send("POST a/C")
				c.want("a/C 0s", "a/C 1s")
			})
		})
	}
}

func TestRateLimitErrorHasRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, Limits{Default: ServiceLimits{Read: Limit{QPS: 0.5}}})
		client := &http.Client{Transport: c, Timeout: time.Second}
		for range 2 {
			resp, err := client.Get("https://cloud.test/a/L")
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				continue
			}
			var e *Error
			if !errors.As(err, &e) || e.RetryAfter != 2*time.Second || e.Operation != "L" {
				t.Errorf("got %v, want a refusal of L for 2s", err)
			}
		}
		c.want("a/L 0s")
	})
}

func TestPauseAfterRetryAfter(t *testing.T) {
	obey := Limits{ObeyRetryAfter: true}
	tests := []struct {
		name     string
		limits   Limits
		throttle []string
		send     []string
		want     []string
	}{
		{
			name: "the bucket waits, others do not", limits: obey, throttle: []string{"3"},
			send: []string{"GET a/L", "POST a/C", "GET b/L", "GET a/L"},
			want: []string{"a/L 0s", "a/C 0s", "b/L 0s", "a/L 3s"},
		},
		{
			name: "only if configured to obey", throttle: []string{"3"},
			send: []string{"GET a/L", "GET a/L"},
			want: []string{"a/L 0s", "a/L 0s"},
		},
		{
			name: "no word, no wait", limits: obey, throttle: []string{""},
			send: []string{"GET a/L", "GET a/L"},
			want: []string{"a/L 0s", "a/L 0s"},
		},
		{
			name: "two minutes at most", limits: obey, throttle: []string{"86400"},
			send: []string{"GET a/L", "GET a/L"},
			want: []string{"a/L 0s", "a/L 2m0s"},
		},
		{
			name:     "the rate holds after the wait",
			limits:   Limits{ObeyRetryAfter: true, Default: ServiceLimits{Read: Limit{QPS: 1, Burst: 2}}},
			throttle: []string{"10"},
			send:     []string{"GET a/L", "GET a/L", "GET a/L", "GET a/L"},
			want:     []string{"a/L 0s", "a/L 10s", "a/L 10s", "a/L 11s"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCloud(t, tt.limits)
				c.throttle = tt.throttle
				c.send(tt.send...)
				c.want(tt.want...)
			})
		})
	}
}

func TestPauseDelaysWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, Limits{ObeyRetryAfter: true, Default: ServiceLimits{Read: Limit{QPS: 1}}})
		c.throttle = []string{"", "5"} // the second request is throttled while the third waits
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { c.send("GET a/L") })
		}
		wg.Wait()
		c.want("a/L 0s", "a/L 1s", "a/L 6s")
	})
}
