package ccmapp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/server/mux"
	cloudprovider "k8s.io/cloud-provider"
	testclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// reporting is a cloud that knows its parts.
type reporting struct {
	cloudprovider.Interface
	parts []provider.PartHealth
}

func (r reporting) Health() []provider.PartHealth { return r.parts }

// answer is what a path of the process' server says.
type answer struct {
	Status int
	Body   string
}

func ask(t *testing.T, h http.Handler, path string) answer {
	t.Helper()
	m := mux.NewPathRecorderMux("test")
	installHealth(m, h)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return answer{w.Code, w.Body.String()}
}

func TestReadiness(t *testing.T) {
	start := time.Unix(0, 0)
	nodes, balancers := provider.PartHealth{Part: provider.PartNodes}, provider.PartHealth{Part: provider.PartLoadBalancers}
	broken := func(p provider.PartHealth) provider.PartHealth {
		p.Err, p.Since = errors.New("no endpoint\nof the service"), start
		return p
	}
	const reason = " failing for 1m30s: no endpoint; of the service\n"
	for _, tc := range []struct {
		name, path string
		parts      []provider.PartHealth
		want       answer
	}{
		{"all well", "/readyz", []provider.PartHealth{nodes, balancers}, answer{200, "ok"}},
		{"all well, verbose", "/readyz?verbose", []provider.PartHealth{nodes, balancers}, answer{200, "[+]nodes ok\n[+]load-balancers ok\nreadyz check passed\n"}},
		{"one part fails", "/readyz", []provider.PartHealth{nodes, broken(balancers)}, answer{200, "ok"}},
		{"one part fails, verbose", "/readyz?verbose", []provider.PartHealth{nodes, broken(balancers)},
			answer{200, "[+]nodes ok\n[-]load-balancers" + reason + "readyz check passed\n"}},
		{"that part alone", "/readyz/load-balancers", []provider.PartHealth{nodes, broken(balancers)}, answer{503, "[-]load-balancers" + reason + "readyz check failed\n"}},
		{"the other part alone", "/readyz/nodes", []provider.PartHealth{nodes, broken(balancers)}, answer{200, "ok"}},
		{"a part that there is not", "/readyz/zones", []provider.PartHealth{nodes}, answer{404, "404 page not found\n"}},
		{"all parts fail", "/readyz", []provider.PartHealth{broken(nodes), broken(balancers)},
			answer{503, "[-]nodes" + reason + "[-]load-balancers" + reason + "readyz check failed\n"}},
		{"alive all the same", "/livez", []provider.PartHealth{broken(nodes)}, answer{200, "ok"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := NewHealth(testclock.NewFakeClock(start.Add(90*time.Second)), reporting{parts: tc.parts})
			if diff := cmp.Diff(tc.want, ask(t, h, tc.path)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// outage is a cloud that knows no parts, and does not answer until it is back.
type outage struct {
	cloudprovider.Interface
	back   atomic.Bool
	checks atomic.Int32
}

func (o *outage) Check(context.Context) error {
	o.checks.Add(1)
	if o.back.Load() {
		return nil
	}
	return errors.New("no answer")
}

// A replica that waits for its turn makes no calls of its own, and must see that the cloud is back.
func TestHealthIsCheckedAgainUntilTheCloudIsBack(t *testing.T) {
	c := testclock.NewFakeClock(time.Unix(0, 0))
	cloud := &outage{}
	h := NewHealth(c, cloud)
	if err := h.Clouds()[0].Check(t.Context()); err == nil {
		t.Fatal("the check passed")
	}
	if got := ask(t, h, "/readyz"); got != (answer{503, "[-]cloud failing for 0s: no answer\nreadyz check failed\n"}) {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		h.Watch(ctx)
		close(ended)
	}()
	cloud.back.Store(true)
	for ask(t, h, "/readyz").Status != http.StatusOK {
		if c.HasWaiters() {
			c.Step(recheckPeriod)
		}
		if t.Context().Err() != nil {
			t.Fatal("the cloud is back, and the process is not ready")
		}
	}
	was := cloud.checks.Load()
	for range 3 { // a healthy cloud is not checked
		for !c.HasWaiters() {
			continue
		}
		c.Step(recheckPeriod)
	}
	cancel()
	<-ended
	if got := cloud.checks.Load(); got != was {
		t.Errorf("%d checks of a cloud that is well", got-was)
	}
}

// A provider without a check is ready.
func TestHealthWithoutACheck(t *testing.T) {
	h := NewHealth(testclock.NewFakeClock(time.Unix(0, 0)), struct{ cloudprovider.Interface }{})
	if err := h.Clouds()[0].Check(t.Context()); err != nil {
		t.Error(err)
	}
	if got := ask(t, h, "/readyz?verbose"); got != (answer{200, "[+]cloud ok\nreadyz check passed\n"}) {
		t.Errorf("got %+v", got)
	}
}

func TestReadinessNamesTheLease(t *testing.T) {
	h := NewHealth(testclock.NewFakeClock(time.Unix(0, 0)), reporting{parts: []provider.PartHealth{{Part: provider.PartNodes}}})
	h.SetInfo(func() string { return "[+]lease manager is held by node-1\n" })
	for path, want := range map[string]string{
		"/readyz":         "ok",
		"/readyz?verbose": "[+]lease manager is held by node-1\n[+]nodes ok\nreadyz check passed\n",
		"/readyz/nodes":   "ok",
	} {
		if got := ask(t, h, path); got.Status != http.StatusOK || got.Body != want {
			t.Errorf("%s: %+v, want %q", path, got, want)
		}
	}
}
