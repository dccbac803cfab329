package ccmapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	cmfeatures "k8s.io/controller-manager/pkg/features"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/cmd/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

func TestDefaults(t *testing.T) {
	root, err := newRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"concurrent-service-syncs": "256", "concurrent-node-syncs": "16", "concurrent-node-status-updates": "16", "concurrent-node-lifecycle-syncs": "16",
		"kube-api-qps": "100", "kube-api-burst": "200", "profiling": "false", "min-resync-period": "30m0s", "webhook-secure-port": "0", "leader-elect-resource-name": "cloud-controller-manager",
	} {
		f := root.Flags().Lookup(flag)
		if f == nil {
			t.Errorf("there is no --%s", flag)
			continue
		}
		if f.DefValue != want || !strings.Contains(f.Usage, defaultReasons[flag]) {
			t.Errorf("--%s: default %s, want %s with its reason; help: %s", flag, f.DefValue, want, f.Usage)
		}
	}
	if !utilfeature.DefaultFeatureGate.Enabled(cmfeatures.CloudControllerManagerWatchBasedRoutesReconciliation) {
		t.Error("routes are not reconciled by watching")
	}
	own := (&options{}).constructors()
	for name, c := range app.DefaultInitFuncConstructors {
		if got := own[name].InitContext.ClientName; got != c.InitContext.ClientName {
			t.Errorf("the account of %s is %s, want %s", name, got, c.InitContext.ClientName)
		}
	}
}

func TestCompleteSetsDependentOptions(t *testing.T) {
	root, err := newRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o, err := newOptions()
	if err != nil {
		t.Fatal(err)
	}
	o.framework.Webhook.Webhooks = []string{"*"}
	o.guard.DryRun = true
	o.complete(root.Flags())
	o.complete(root.Flags())
	if got := o.framework.WebhookServing.BindPort; got != 10260 {
		t.Errorf("webhook port %d", got)
	}
	if got := o.framework.Generic.LeaderElection.ResourceName; got != "cloud-controller-manager-dry-run" {
		t.Errorf("lease %s", got)
	}
}

// checkedCloud is a cloud with a Check that returns err.
type checkedCloud struct {
	cloudprovider.Interface

	mu     sync.Mutex
	err    error
	checks int
}

func (c *checkedCloud) Check(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks++
	return c.err
}

func (c *checkedCloud) set(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *checkedCloud) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checks
}

// daemonOf returns a daemon of clouds with the guards of tests: none.
func daemonOf(c clock.Clock, clouds ...cloudprovider.Interface) *daemon {
	d := &daemon{health: NewHealth(c, clouds...), clock: c}
	var sets []*controllers.Set
	for i, cloud := range clouds {
		source := cloudSource{Descriptor: provider.Descriptor{Name: fmt.Sprint("cloud", i), Title: "Cloud"}, configFile: "c.conf"}
		d.sources = append(d.sources, source)
		sets = append(sets, controllers.NewSet(source.Descriptor, cloud, d.health.Clouds()[i], c))
	}
	d.sets = controllers.NewSets("clouds", sets...)
	return d
}

// rejectedRetry is the first wait for credentials that are accepted.
const rejectedRetry = 30 * time.Second

// TestUnansweredReplicaYieldsLease: a replica that cannot reach the cloud leaves the lease to others first; one that can
// takes part in the election immediately.
func TestUnansweredReplicaYieldsLease(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		yields bool
	}{
		"answer":    {nil, false},
		"no answer": {&cloudapi.Error{Class: cloudapi.Unavailable, Operation: "List", Err: errors.New("refused")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := testclock.NewFakeClock(time.Unix(0, 0))
			d := daemonOf(now, &checkedCloud{err: tc.err})
			d.checkCredentials(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				d.yieldLease(t.Context())
			}()
			if tc.yields {
				awaitSleeper(t, now)
				now.Step(unansweredDelay - time.Second)
				if !now.HasWaiters() {
					t.Errorf("it takes part before the end of %s", unansweredDelay)
				}
				now.Step(time.Second)
			}
			<-done
		})
	}
}

func TestRejectedCredentialsAreTriedAgain(t *testing.T) {
	denied := &cloudapi.Error{Class: cloudapi.Denied, Operation: "List", Err: errors.New("bad token")}
	for _, tc := range []struct {
		name     string
		err      error
		rejected bool
		warnings int
	}{
		{"accepted", nil, false, 0},
		{"rejected", denied, true, 0},
		{"timeout", &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "List", Err: errors.New("timeout")}, false, 1},
		{"throttled", &cloudapi.Error{Class: cloudapi.Throttled, Operation: "List", Err: errors.New("slow down")}, false, 1},
		{"unclassified", errors.New("unclassified"), false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := testclock.NewFakeClock(time.Unix(0, 0))
			cloud := &checkedCloud{err: tc.err}
			d := daemonOf(now, cloud)
			d.checkCredentials(t.Context())
			if rejected := d.sets.All()[0].Rejected; (rejected != nil) != tc.rejected || len(d.warnings) != tc.warnings {
				t.Fatalf("rejected %v, warnings %v", rejected, d.warnings)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				d.awaitCredentials(t.Context())
			}()
			if tc.rejected {
				// An account is locked by five failed logins within minutes, as restarts of the process make them.
				waits := []time.Duration{rejectedRetry, 2 * rejectedRetry, 4 * rejectedRetry}
				for i, wait := range waits {
					awaitSleeper(t, now)
					w := httptest.NewRecorder()
					d.health.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz?verbose", nil))
					if body := w.Body.String(); w.Code != http.StatusServiceUnavailable ||
						!strings.Contains(body, "Cloud rejects the credentials") || !strings.Contains(body, "renew those in c.conf") {
						t.Fatalf("status %d:\n%s", w.Code, body)
					}
					now.Step(wait - time.Second)
					if checks := cloud.count(); checks != i+1 || !now.HasWaiters() {
						t.Errorf("%d checks before the end of %s, want %d", checks, wait, i+1)
					}
					if i == len(waits)-1 {
						cloud.set(nil)
					}
					now.Step(time.Second)
				}
			}
			<-done
			if parts := d.health.Parts(); tc.rejected && parts[0].Err != nil {
				t.Errorf("after the credentials were accepted: %v", parts)
			}
		})
	}
}

// awaitSleeper waits until something waits for the clock.
func awaitSleeper(t *testing.T, c *testclock.FakeClock) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !c.HasWaiters(); {
		if time.Now().After(end) {
			t.Fatal("nothing waits")
		}
		runtime.Gosched()
	}
}

func TestReachRetriesUntilTimeout(t *testing.T) {
	for _, tc := range []struct {
		name     string
		statuses []int // HTTP status of each response; the last one repeats
		want     string
		attempts int
	}{
		{"up", []int{200}, "", 1},
		{"up, request forbidden", []int{403}, "", 1},
		{"starting", []int{500, 500, 200}, "", 3},
		{"credentials refused", []int{401}, "rejects the credentials", 1},
		{"never up", []int{500}, "does not answer (tried for 10s)", 11},
	} {
		t.Run(tc.name, func(t *testing.T) {
			attempts := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.statuses[min(attempts, len(tc.statuses)-1)])
				attempts++
			}))
			defer server.Close()
			c := testclock.NewFakeClock(time.Unix(0, 0))
			done := make(chan error, 1)
			go func() {
				_, err := apiServer{clock: c, wait: 10 * time.Second, pause: time.Second}.reach(t.Context(),
					&rest.Config{Host: server.URL}, source{kubeconfig: "kc"})
				done <- err
			}()
			var err error
			for waiting := true; waiting; {
				select {
				case err = <-done:
					waiting = false
				default:
					if c.HasWaiters() {
						c.Step(time.Second)
					}
				}
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if attempts != tc.attempts {
				t.Errorf("%d attempts, want %d", attempts, tc.attempts)
			}
		})
	}
}
