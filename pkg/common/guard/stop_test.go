package guard

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// TestStopEndsCallsInFlight: the process ends after the last call, calls that come later wait for the end of the
// process, and a plan in flight starts no further change.
func TestStopEndsCallsInFlight(t *testing.T) {
	a := newAdmission()
	call, err := a.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inTime, expire := context.WithCancel(t.Context())
	expire()
	if left := a.close(inTime); left != 1 {
		t.Errorf("%d calls in flight after the timeout, want 1", left)
	}
	result, err := plan.Plan{Changes: []plan.Change{{Ref: plan.Ref{Kind: "pool", Name: "a", Action: plan.Create},
		Do: func(context.Context, *plan.Handles) error { t.Error("a change starts"); return nil }}}}.Apply(call, plan.ApplyOptions{})
	if err == nil || result.Outcomes[0].Status != plan.Pending {
		t.Errorf("the plan in flight: %+v, error %v", result.Outcomes, err)
	}
	late, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := a.enter(late)
		ended <- err
	}()
	a.leave()
	end()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a late call: %v", err)
	}
	if a.calls != 0 {
		t.Errorf("%d calls in flight", a.calls)
	}
	<-a.idle
}

// TestStopStopsProvider: the provider stops after the last call, and the contexts of its controllers end.
func TestStopStopsProvider(t *testing.T) {
	s := &stoppingSpy{spy: &spy{}, ended: make(chan struct{})}
	g := Wrap(s, Options{}).(*guarded)
	if _, err := g.StartController(t.Context(), "tagging", provider.ControllerContext{}); err != nil {
		t.Fatal(err)
	}
	g.Stop(t.Context())
	<-s.ended
	if !slices.Contains(s.calls, "Stop") {
		t.Errorf("calls %v", s.calls)
	}
}

type stoppingSpy struct {
	*spy
	ended chan struct{}
}

func (s *stoppingSpy) Stop(context.Context) { s.note("Stop") }

func (s *stoppingSpy) StartController(ctx context.Context, _ string, _ provider.ControllerContext) (bool, error) {
	context.AfterFunc(ctx, func() { close(s.ended) })
	return true, nil
}

// TestInitializeWaitsForClusterUID: without the UID, objects of clusters with the same name cannot be distinguished, so
// no controller starts and the manager is not ready.
func TestInitializeWaitsForClusterUID(t *testing.T) {
	client := fake.NewClientset()
	s := &spy{}
	started := 0
	g := Wrap(s, Options{Started: func() string { started++; return "since" }}).(*guarded)
	stop, initialized := make(chan struct{}), make(chan struct{})
	defer close(stop)
	go func() {
		defer close(initialized)
		g.Initialize(builder{client}, stop)
	}()
	for len(g.Health()) == 0 {
		runtime.Gosched()
	}
	if part := g.Health()[0]; part.Part != partCluster || !strings.Contains(part.Err.Error(), "namespace kube-system") {
		t.Errorf("health %+v", part)
	}
	s.mu.Lock()
	calls := len(s.calls)
	s.mu.Unlock()
	if calls > 0 {
		t.Errorf("the provider is initialized without the UID: %v", s.calls)
	}
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "u-1"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-initialized
	if s.runtime.ClusterUID != "u-1" || s.runtime.LeadingSince != "since" || len(g.Health()) > 0 || started != 1 {
		t.Errorf("UID %q, health %v, started %d times", s.runtime.ClusterUID, g.Health(), started)
	}
}

// builder builds the same client for every controller.
type builder struct{ kubernetes.Interface }

func (b builder) Config(string) (*rest.Config, error)         { return nil, errors.New("not used") }
func (b builder) ConfigOrDie(string) *rest.Config             { return nil }
func (b builder) Client(string) (kubernetes.Interface, error) { return b.Interface, nil }
func (b builder) ClientOrDie(string) kubernetes.Interface     { return b.Interface }

// TestStopWaitsForControllers: the last writes of controllers end before the provider stops.
func TestStopWaitsForControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &controllerSpy{spy: &spy{}}
		g := Wrap(s, Options{}).(*guarded)
		if _, err := g.StartController(t.Context(), "tagging", provider.ControllerContext{}); err != nil {
			t.Fatal(err)
		}
		expired, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g.awaitControllers(expired)
		if expired.Err() == nil {
			t.Error("a controller that runs is not awaited")
		}
		g.Stop(t.Context())
		if !s.written {
			t.Error("stopped before the last write")
		}
	})
}

// controllerSpy has a controller that writes for a while after its context has ended.
type controllerSpy struct {
	*spy
	written bool
}

// StartController implements provider.ControllerStarter.
func (s *controllerSpy) StartController(ctx context.Context, _ string, c provider.ControllerContext) (bool, error) {
	c.Go(func() {
		<-ctx.Done()
		time.Sleep(5 * time.Second)
		s.written = true
	})
	return true, nil
}
