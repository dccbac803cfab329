package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	clocktesting "k8s.io/utils/clock/testing"
)

// roundTrip is a Base.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, header http.Header) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("answer"))}
}

// byPath names a request "POST /service/operation".
func byPath(r *http.Request) Request {
	service, operation, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return Request{Service: service, Operation: operation, Mutating: r.Method != http.MethodGet}
}

func request(t *testing.T, method, path string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://cloud.test"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTransportMetrics(t *testing.T) {
	refused := errors.New("connection refused")
	tests := []struct {
		name     string
		resp     *http.Response
		err      error
		classify func(*http.Response, error) Class
		code     string
		class    Class
		cloud    int // answers counted as throttled by the cloud
	}{
		{name: "success", resp: answer(204, nil), code: "204"},
		{name: "not found", resp: answer(404, nil), code: "404", class: NotFound},
		{name: "throttled", resp: answer(429, nil), code: "429", class: Throttled, cloud: 1},
		{name: "no connection", err: refused, code: "unavailable", class: Unavailable},
		{name: "canceled", err: fmt.Errorf("send: %w", context.Canceled), code: "canceled", class: Canceled},
		{name: "deadline", err: context.DeadlineExceeded, code: "unavailable", class: Unavailable},
		{
			name: "throttled in the body", resp: answer(400, nil), code: "400", class: Throttled, cloud: 1,
			classify: func(r *http.Response, _ error) Class {
				if string(PeekResponse(r, 3)) == "ans" {
					return Throttled
				}
				return ClassifyStatus(r, nil)
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			provider := strings.ReplaceAll(t.Name(), "/", "_")
			clock := clocktesting.NewFakeClock(time.Now())
			var call Call
			wantInFlight := func(want float64) {
				t.Helper()
				got, err := testutil.GetGaugeMetricValue(shared().inFlight.WithLabelValues(provider, "compute"))
				if err != nil || got != want {
					t.Errorf("%v requests in flight, want %v (%v)", got, want, err)
				}
			}
			rt := NewTransport(TransportOptions{
				Provider: provider, Describe: byPath, Clock: clock, Classify: tt.classify,
				Observe: func(c Call) { call = c },
				Base: roundTrip(func(*http.Request) (*http.Response, error) {
					wantInFlight(1)
					clock.Step(3 * time.Second)
					return tt.resp, tt.err
				}),
			})
			resp, err := rt.RoundTrip(request(t, http.MethodPost, "/compute/StopServer", nil))
			if !errors.Is(err, tt.err) || resp != tt.resp {
				t.Errorf("got %v, %v: not what Base returned", resp, err)
			}
			if err == nil {
				if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "answer" {
					t.Errorf("the client reads %q, %v", body, err)
				}
			}
			want := Call{
				Request: Request{Service: "compute", Operation: "StopServer", Mutating: true},
				Sent:    true, Code: tt.code, Class: tt.class, Duration: 3 * time.Second,
			}
			if diff := cmp.Diff(want, call); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
			wantInFlight(0)
			labels := map[string]string{"provider": provider, "service": "compute", "operation": "StopServer"}
			labels["source"] = "cloud"
			testutil.AssertVectorCount(t, "ccm_cloud_api_throttled_total", labels, tt.cloud)
			labels["source"] = "client"
			testutil.AssertVectorCount(t, "ccm_cloud_api_throttled_total", labels, 0)
			delete(labels, "source")
			labels["code"] = tt.code
			testutil.AssertHistogramTotalCount(t, "ccm_cloud_api_request_duration_seconds", labels, 1)
		})
	}
}

func TestTransportLogsWithoutSecrets(t *testing.T) {
	send := func(t *testing.T, verbosity int) string {
		config := ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(verbosity))
		logger := ktesting.NewLogger(ktesting.NopTL{}, config)
		rt := NewTransport(TransportOptions{
			Provider: "test", Describe: byPath, RequestIDHeader: "X-Request-Id",
			Base: roundTrip(func(*http.Request) (*http.Response, error) {
				return answer(403, http.Header{"X-Request-Id": {"req-1"}, "Set-Cookie": {"hush"}}), nil
			}),
		})
		r := request(t, http.MethodPost, "/compute/StopServer?signature=hush", strings.NewReader("password=hush"))
		r.Header.Set("Authorization", "Bearer hush")
		if _, err := rt.RoundTrip(r.WithContext(klog.NewContext(r.Context(), logger))); err != nil {
			t.Fatal(err)
		}
		return logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	}
	got := send(t, 4)
	for _, want := range []string{"Cloud API request", "StopServer", "403", "req-1"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the log line %q", want, got)
		}
	}
	if strings.Contains(got, "hush") || strings.Contains(got, "Bearer") {
		t.Errorf("a secret is in the log line %q", got)
	}
	if got := send(t, 3); got != "" {
		t.Errorf("logged below verbosity 4: %q", got)
	}
}

// closes counts how often a request body is closed.
type closes struct {
	io.Reader
	n int
}

func (c *closes) Close() error { c.n++; return nil }

func TestDescribeReadsBody(t *testing.T) {
	broken := errors.New("disk on fire")
	long := strings.Repeat("x", peekLimit+1)
	action := func(r *http.Request) Request {
		body, err := r.GetBody()
		if err != nil {
			return Request{Service: "ec2", Operation: err.Error()}
		}
		content, err := io.ReadAll(body)
		if err != nil {
			return Request{Service: "ec2", Operation: err.Error()}
		}
		form, _ := url.ParseQuery(string(content))
		return Request{Service: "ec2", Operation: form.Get("Action")}
	}
	twice := func(r *http.Request) Request { action(r); return action(r) }
	tests := []struct {
		name      string
		describe  func(*http.Request) Request
		body      io.Reader
		operation string
		sent      string
		err       error
	}{
		{name: "short", describe: action, body: strings.NewReader("Action=Run&N=1"), operation: "Run", sent: "Action=Run&N=1"},
		{name: "read twice", describe: twice, body: strings.NewReader("Action=Run&N=1"), operation: "Run", sent: "Action=Run&N=1"},
		{name: "as long as can be", describe: action, body: strings.NewReader("Action=Run&N=" + long[:peekLimit-13]), operation: "Run",
			sent: "Action=Run&N=" + long[:peekLimit-13]},
		{name: "too long", describe: twice, body: strings.NewReader(long), operation: errTooLongToPeek.Error(), sent: long},
		{name: "not requested", describe: func(*http.Request) Request { return Request{Operation: "None"} },
			body: strings.NewReader("a=b"), operation: "None", sent: "a=b"},
		{name: "broken", describe: twice, body: io.MultiReader(strings.NewReader("Action"), errorReader{broken}),
			operation: broken.Error(), sent: "Action", err: broken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := &closes{Reader: tt.body}
			in := request(t, http.MethodPost, "/", nil)
			in.Body, in.ContentLength = body, -1
			var call Call
			var sent []byte
			rt := NewTransport(TransportOptions{
				Provider: "test", Describe: tt.describe, Observe: func(c Call) { call = c },
				Base: roundTrip(func(r *http.Request) (*http.Response, error) {
					defer r.Body.Close()
					var err error
					if sent, err = io.ReadAll(r.Body); err != nil {
						return nil, err
					}
					return answer(200, nil), nil
				}),
			})
			if _, err := rt.RoundTrip(in); !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			if call.Operation != tt.operation {
				t.Errorf("operation %q, want %q", call.Operation, tt.operation)
			}
			if string(sent) != tt.sent {
				t.Errorf("sent %d bytes, want %d: %.40q", len(sent), len(tt.sent), sent)
			}
			if body.n != 1 {
				t.Errorf("the caller's body was closed %d times", body.n)
			}
			if in.Body != io.ReadCloser(body) || in.GetBody != nil {
				t.Error("the caller's request was changed")
			}
		})
	}
}

func TestDescribeUsesGetBodyOfClient(t *testing.T) {
	in := request(t, http.MethodPost, "/", strings.NewReader("a"))
	rt := NewTransport(TransportOptions{
		Provider: "test",
		Describe: func(r *http.Request) Request {
			if r != in {
				t.Error("a request that needs nothing was copied")
			}
			return Request{}
		},
		Base: roundTrip(func(*http.Request) (*http.Response, error) { return answer(200, nil), nil }),
	})
	if _, err := rt.RoundTrip(in); err != nil {
		t.Fatal(err)
	}
}

func TestLabelsAreBounded(t *testing.T) {
	tests := []struct {
		name, service, operation string
		want                     Request
	}{
		{name: "names", service: "elbv2", operation: "CreateTargetGroup", want: Request{Service: "elbv2", Operation: "CreateTargetGroup"}},
		{name: "dots and dashes", service: "load-balancer", operation: "v2.0_list", want: Request{Service: "load-balancer", Operation: "v2.0_list"}},
		{name: "method and kind", service: "nsxt", operation: "GET lb-pools", want: Request{Service: "nsxt", Operation: "GET lb-pools"}},
		{name: "no name", service: "elbv2", want: Request{Service: "elbv2", Operation: "other"}},
		{name: "no service", operation: "List", want: Request{Service: "other", Operation: "List"}},
		{name: "a path", service: "compute", operation: "GET /servers/1", want: Request{Service: "compute", Operation: "other"}},
		{name: "too long", service: "compute", operation: strings.Repeat("a", 65), want: Request{Service: "compute", Operation: "other"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := &labelSet{}
			if diff := cmp.Diff(tt.want, v.labels(Request{Service: tt.service, Operation: tt.operation})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("IDs that look like names run out", func(t *testing.T) {
		v, seen := &labelSet{}, map[Request]bool{}
		for i := range 10 * maxOperations {
			seen[v.labels(Request{Service: "compute", Operation: fmt.Sprintf("Get-%d", i)})] = true
		}
		if len(seen) != maxOperations+1 {
			t.Errorf("%d label pairs, want %d and the one for the rest", len(seen), maxOperations)
		}
		if got := v.labels(Request{Service: "compute", Operation: "Get-1"}); got.Operation != "Get-1" {
			t.Errorf("a known name became %v", got)
		}
	})
}

// idler is a Base that has connections to close.
type idler struct {
	roundTrip
	closed bool
}

func (i *idler) CloseIdleConnections() { i.closed = true }

func TestCloseIdleConnectionsReachesBase(t *testing.T) {
	base := &idler{}
	client := &http.Client{Transport: NewTransport(TransportOptions{Provider: "test", Base: base, Describe: byPath})}
	client.CloseIdleConnections()
	if !base.closed {
		t.Error("not closed")
	}
	(&http.Client{Transport: NewTransport(TransportOptions{Provider: "test", Base: roundTrip(nil),
		Describe: byPath})}).CloseIdleConnections()
}

func TestMetricsAreDocumented(t *testing.T) {
	var names []string
	for _, d := range Metrics() {
		names = append(names, d.Name)
		if d.Labels[0] != "provider" || d.Help == "" || d.Type == "" {
			t.Errorf("%+v: incomplete", d)
		}
	}
	want := []string{
		"ccm_cloud_api_request_duration_seconds", "ccm_cloud_api_requests_in_flight",
		"ccm_cloud_api_throttled_total", "ccm_cloud_api_rate_limit_wait_seconds",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
