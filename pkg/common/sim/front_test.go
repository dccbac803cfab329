package sim

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// counter is the smallest cloud: it counts what it has done.
type counter struct{ done atomic.Int64 }

func (c *counter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "%d", c.done.Add(1))
}

// fixture is a front before a counter, with a client.
type fixture struct {
	*Front
	t      *testing.T
	world  *counter
	clock  *clocktesting.FakeClock
	client *http.Client
	url    string
}

func newFixture(t *testing.T, o FrontOptions) *fixture {
	t.Helper()
	x := &fixture{t: t, world: &counter{}, clock: clocktesting.NewFakeClock(epoch), url: "http://cloud.test"}
	if o.Handler == nil {
		o.Handler = x.world
	}
	if o.Clock == nil {
		o.Clock = x.clock
	}
	x.Front = NewFront(o)
	x.client = &http.Client{Transport: x.Transport()}
	return x
}

// overSocket makes the client use a real connection.
func (x *fixture) overSocket() {
	server := httptest.NewServer(x.Front)
	x.t.Cleanup(server.Close)
	x.client, x.url = server.Client(), server.URL
}

// call makes a call and returns its status, 0 for none. Errors must be a broken connection.
func (x *fixture) call(method, path string) (int, http.Header) {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), method, x.url+path, strings.NewReader("body"))
	if err != nil {
		x.t.Fatal(err)
	}
	resp, err := x.client.Do(req)
	if err != nil {
		if x.url == "http://cloud.test" && (!errors.Is(err, ErrBroken) || !errors.Is(err, syscall.ECONNRESET)) {
			x.t.Errorf("error %v does not look like a broken connection", err)
		}
		return 0, nil
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		x.t.Error(err)
	}
	return resp.StatusCode, resp.Header
}

// post makes n mutating calls and returns their statuses.
func (x *fixture) post(n int) (statuses []int) {
	x.t.Helper()
	for range n {
		status, _ := x.call(http.MethodPost, "/things")
		statuses = append(statuses, status)
	}
	return statuses
}

func (x *fixture) wantDone(n int64) {
	x.t.Helper()
	if got := x.world.done.Load(); got != n {
		x.t.Errorf("the cloud did %d operations, want %d", got, n)
	}
}

// TestFaultKinds makes the second of three calls go wrong, in process and over a socket.
func TestFaultKinds(t *testing.T) {
	tests := []struct {
		kind     FaultKind
		statuses []int
		done     int64
		kills    int64
		logged   []int
	}{
		{kind: FaultError, statuses: []int{201, 500, 201}, done: 2, logged: []int{201, 500, 201}},
		{kind: FaultThrottle, statuses: []int{201, 429, 201}, done: 2, logged: []int{201, 429, 201}},
		{kind: FaultLostReply, statuses: []int{201, 0, 201}, done: 3, logged: []int{201, 0, 201}},
		{kind: FaultKillBefore, statuses: []int{201, 0, 0}, done: 1, kills: 1, logged: []int{201, 0}},
		{kind: FaultKillAfter, statuses: []int{201, 0, 0}, done: 2, kills: 1, logged: []int{201, 0}},
	}
	for _, tt := range tests {
		for _, socket := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/socket=%v", tt.kind, socket), func(t *testing.T) {
				x := newFixture(t, FrontOptions{})
				if socket {
					x.overSocket()
				}
				var kills atomic.Int64
				x.OnKill(func() { kills.Add(1) })
				x.SetFaults(Fault{Kind: tt.kind, Call: 2})
				if diff := cmp.Diff(tt.statuses, x.post(3)); diff != "" {
					t.Errorf("statuses (-want +got):\n%s", diff)
				}
				x.wantDone(tt.done)
				if kills.Load() != tt.kills {
					t.Errorf("killed %d times, want %d", kills.Load(), tt.kills)
				}
				if x.Injected() != 1 {
					t.Errorf("injected %d faults, want 1", x.Injected())
				}
				want := []Call{}
				for i, status := range tt.logged {
					c := Call{Seq: i + 1, At: epoch, Status: status, Operation: Operation{Name: "POST /things", Mutating: true}}
					if i == 1 {
						c.Fault = tt.kind
					}
					want = append(want, c)
				}
				if diff := cmp.Diff(want, x.Log().Calls()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestDialectFormatsErrors(t *testing.T) {
	x := newFixture(t, FrontOptions{Dialect: Dialect{
		Error: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		Throttled: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("Retry-After")
			w.Header().Set("X-Code", "RequestLimitExceeded")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	}})
	x.SetFaults(Fault{Kind: FaultError}, Fault{Kind: FaultThrottle, Call: 2, RetryAfter: time.Second})
	if status, _ := x.call(http.MethodGet, "/"); status != http.StatusBadGateway {
		t.Errorf("error: status %d", status)
	}
	status, header := x.call(http.MethodGet, "/")
	want := http.Header{"X-Code": {"RequestLimitExceeded"}}
	if diff := cmp.Diff(want, header); diff != "" || status != http.StatusServiceUnavailable {
		t.Errorf("throttled: status %d, header (-want +got):\n%s", status, diff)
	}
}

func TestSetFaultsRestartsNumbering(t *testing.T) {
	x := newFixture(t, FrontOptions{})
	for range 2 {
		x.SetFaults(Fault{Kind: FaultError, Call: 2})
		if diff := cmp.Diff([]int{201, 500}, x.post(2)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	x.SetFaults()
	if diff := cmp.Diff([]int{201, 201}, x.post(2)); diff != "" || x.Injected() != 0 {
		t.Errorf("%d injected after the script was taken away (-want +got):\n%s", x.Injected(), diff)
	}
}

func TestBuckets(t *testing.T) {
	const read, write = http.MethodGet, http.MethodPost
	type step struct {
		after      time.Duration
		method     string
		status     int
		retryAfter string
	}
	service := func(r *http.Request) Operation {
		op := describeByPath(r)
		op.Service = "compute"
		return op
	}
	tests := []struct {
		name   string
		limits map[string]Bucket
		steps  []step
	}{
		{
			name:   "burst, refill, and the wait in whole seconds",
			limits: map[string]Bucket{ClassWrite: {Rate: 0.4, Burst: 2}},
			steps: []step{
				{method: write, status: 201},
				{method: write, status: 201},
				{method: write, status: 429, retryAfter: "3"},
				{after: 2 * time.Second, method: write, status: 429, retryAfter: "1"},
				{after: 500 * time.Millisecond, method: write, status: 201},
				{method: write, status: 429, retryAfter: "3"},
			},
		},
		{
			name:   "reads and writes do not share",
			limits: map[string]Bucket{ClassWrite: {Rate: 1}, ClassRead: {Rate: 1, Burst: 2}},
			steps: []step{
				{method: write, status: 201},
				{method: write, status: 429, retryAfter: "1"},
				{method: read, status: 201},
				{method: read, status: 201},
				{method: read, status: 429, retryAfter: "1"},
			},
		},
		{
			name:   "one class without a limit",
			limits: map[string]Bucket{ClassWrite: {Rate: 1}},
			steps:  []step{{method: read, status: 201}, {method: read, status: 201}},
		},
		{
			name: "the most precise bucket counts alone",
			limits: map[string]Bucket{
				ClassRead: {Rate: 1}, "compute/read": {Rate: 1, Burst: 2}, "compute/GET /things": {Rate: 1, Burst: 3},
			},
			steps: []step{
				{method: read, status: 201},
				{method: read, status: 201},
				{method: read, status: 201},
				{method: read, status: 429, retryAfter: "1"},
			},
		},
		{
			name:   "a service's bucket before the class's",
			limits: map[string]Bucket{ClassRead: {Rate: 100, Burst: 100}, "compute/read": {Rate: 1}},
			steps:  []step{{method: read, status: 201}, {method: read, status: 429, retryAfter: "1"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := newFixture(t, FrontOptions{Limits: tt.limits, Describe: service})
			for i, s := range tt.steps {
				x.clock.Step(s.after)
				status, header := x.call(s.method, "/things")
				if status != s.status || header.Get("Retry-After") != s.retryAfter {
					t.Errorf("step %d: status %d, Retry-After %q; want %d, %q",
						i+1, status, header.Get("Retry-After"), s.status, s.retryAfter)
				}
			}
		})
	}
}

// TestOrder pins the order of the package documentation where two things happen to one call.
func TestOrder(t *testing.T) {
	one := map[string]Bucket{ClassWrite: {Rate: 1, Burst: 1}}
	tests := []struct {
		name     string
		faults   []Fault
		statuses []int
		done     int64
	}{
		{
			name:     "a call that fails before the bucket takes no token",
			faults:   []Fault{{Kind: FaultError}},
			statuses: []int{500, 201, 429}, done: 1,
		},
		{
			name:     "an injected throttle takes no token",
			faults:   []Fault{{Kind: FaultThrottle}},
			statuses: []int{429, 201, 429}, done: 1,
		},
		{
			name:     "the reply of a throttled call can be lost",
			faults:   []Fault{{Kind: FaultLostReply, Call: 2}},
			statuses: []int{201, 0, 429}, done: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := newFixture(t, FrontOptions{Limits: one})
			x.SetFaults(tt.faults...)
			if diff := cmp.Diff(tt.statuses, x.post(3)); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
			x.wantDone(tt.done)
		})
	}
}

// TestWireParity checks that a client in process sees the same as one over a socket.
func TestWireParity(t *testing.T) {
	type seen struct {
		Method, Target, Path, Host, Body, Length, Header string
	}
	var got []seen
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, seen{
			r.Method, r.RequestURI, r.URL.String(), r.Host, string(body), fmt.Sprint(r.ContentLength), r.Header.Get("X-Token"),
		})
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot) // ignored: the first counts
		_, _ = io.WriteString(w, `{"id": 1}`)
	})
	describe := func(r *http.Request) Operation {
		// The query protocol: the operation is in the body, which the handler reads again.
		return Operation{Name: r.FormValue("Action"), Mutating: true}
	}
	x := newFixture(t, FrontOptions{Handler: handler, Describe: describe})
	type answered struct {
		Status, Body, Type, Answer string
		Length                     int64
	}
	send := func(method, body string) answered {
		req, err := http.NewRequestWithContext(t.Context(), method, x.url+"/v1/a%2Fb?x=1#part",
			io.MultiReader(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "cloud.example"
		req.Header.Set("X-Token", "t")
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := x.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		content, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return answered{resp.Status, string(content), resp.Header.Get("Content-Type"), resp.Header.Get("X-Answer"),
			resp.ContentLength}
	}
	ask := func() []answered {
		return []answered{send(http.MethodPost, "Action=RunInstances&N=1"), send(http.MethodGet, ""),
			send(http.MethodHead, "")}
	}
	inProcess := ask()
	x.overSocket()
	overSocket := ask()
	if diff := cmp.Diff(overSocket, inProcess); diff != "" {
		t.Errorf("client's side (-socket +in process):\n%s", diff)
	}
	if diff := cmp.Diff(got[3:], got[:3]); diff != "" {
		t.Errorf("simulator's side (-socket +in process):\n%s", diff)
	}
	if got[0].Body != "Action=RunInstances&N=1" {
		t.Errorf("the handler read %q after Describe had", got[0].Body)
	}
	if n := x.Log().Count()["RunInstances"]; n != 2 {
		t.Errorf("%d calls of RunInstances in the log, want 2", n)
	}
}

func TestAbortingHandler(t *testing.T) {
	x := newFixture(t, FrontOptions{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})})
	if diff := cmp.Diff([]int{0}, x.post(1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := x.Log().Len(); n != 1 {
		t.Errorf("%d calls in the log, want 1", n)
	}
}

func TestHandlerPanicsPropagate(t *testing.T) {
	x := newFixture(t, FrontOptions{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("bug") })})
	defer func() {
		if p := recover(); p != "bug" {
			t.Errorf("recovered %v, want the simulator's own panic", p)
		}
	}()
	x.post(1)
}

func TestDirectMeetsNoFaults(t *testing.T) {
	x := newFixture(t, FrontOptions{Latency: time.Hour, Limits: map[string]Bucket{ClassRead: {Rate: 1, Burst: 1}}})
	x.SetFaults(Fault{Kind: FaultError, Call: 1})
	client := &http.Client{Transport: x.Direct()}
	for range 3 {
		a, err := client.Post(x.url, "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != http.StatusCreated {
			t.Errorf("status %d, want that of the simulator", a.StatusCode)
		}
	}
	if done, calls := x.world.done.Load(), x.Log().Len(); done != 3 || calls != 0 || x.Injected() != 0 {
		t.Errorf("%d calls done, %d in the log, %d faults; want 3, none, none", done, calls, x.Injected())
	}
}
