package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// finalizerToy is a toy whose Services have a finalizer for each scheme of a load balancer.
type finalizerToy struct{ *toy }

func finalizerOf(scheme string) string { return "toy.example/" + scheme }

func (c finalizerToy) OwnsFinalizer(name string) bool { return strings.HasPrefix(name, "toy.example/") }

func (c finalizerToy) Finalizers(want *objects, have objects) []string {
	var names []string
	for _, all := range []*objects{want, &have} {
		if all == nil {
			continue
		}
		for r, value := range *all {
			if name := finalizerOf(value); r.Kind == "load balancer" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// finalizerFixture is a controller on a finalizerToy, and the cluster's Service.
type finalizerFixture struct {
	*fixture
	service *v1.Service
	// log has the writes of finalizers, and the mutations in the cloud between them.
	log []string
	// fail is the error of the next writes.
	fail error
}

func newFinalizerFixture(t *testing.T) *finalizerFixture {
	t.Helper()
	f := &finalizerFixture{fixture: newFixture(t), service: web()}
	f.service.Finalizers = []string{"theirs"}
	f.Controller = New(Options{Provider: "toy", Vocabulary: intent.Vocabulary{Portable: intent.Keys()}}, finalizerToy{f.cloud})
	f.SetRuntime(provider.Runtime{Recorder: f.events, ClusterUID: "uid", SetFinalizers: f.set})
	f.cloud.fault = func(_ int, done bool) error {
		if !done && (len(f.log) == 0 || f.log[len(f.log)-1] != "changes") {
			f.log = append(f.log, "changes")
		}
		return nil
	}
	return f
}

// set is the SetFinalizers of the API server.
func (f *finalizerFixture) set(_ context.Context, service *v1.Service, add, remove []string) error {
	if f.fail != nil {
		return f.fail
	}
	if service.UID != f.service.UID {
		return errors.New("another Service")
	}
	f.log = append(f.log, "+"+strings.Join(add, ",")+" -"+strings.Join(remove, ","))
	stored := f.service.DeepCopy() // the caller's copy stays as it is
	stored.Finalizers = slices.DeleteFunc(stored.Finalizers, func(name string) bool { return slices.Contains(remove, name) })
	for _, name := range add {
		if !slices.Contains(stored.Finalizers, name) {
			stored.Finalizers = append(stored.Finalizers, name)
		}
	}
	f.service = stored
	return nil
}

func (f *finalizerFixture) verify(t *testing.T, log string, finalizers ...string) {
	t.Helper()
	if got := strings.Join(f.log, "; "); got != log {
		t.Errorf("writes: %s\nwant:   %s", got, log)
	}
	if !slices.Equal(f.service.Finalizers, finalizers) {
		t.Errorf("finalizers: %v, want %v", f.service.Finalizers, finalizers)
	}
	f.log = nil
}

func TestFinalizersEncloseTheChanges(t *testing.T) {
	f := newFinalizerFixture(t)
	f.mustEnsure(t, f.service)
	f.verify(t, "+toy.example/public -; changes", "theirs", "toy.example/public")
	f.mustEnsure(t, f.service)
	f.verify(t, "", "theirs", "toy.example/public")

	f.service.Annotations[intent.KeyScheme] = "internal"
	f.mustEnsure(t, f.service)
	f.verify(t, "+toy.example/internal -; changes; + -toy.example/public", "theirs", "toy.example/internal")

	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", f.service); err != nil {
		t.Fatal(err)
	}
	f.verify(t, "changes; + -toy.example/internal", "theirs")
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", f.service); err != nil {
		t.Fatal(err)
	}
	f.verify(t, "", "theirs")
}

func TestFinalizerThatCannotBeSetStopsTheSync(t *testing.T) {
	f := newFinalizerFixture(t)
	f.fail = errors.New("forbidden")
	if _, err := f.EnsureLoadBalancer(t.Context(), "prod", f.service, nil); !errors.Is(err, f.fail) {
		t.Errorf("got %v", err)
	}
	if len(f.cloud.mutations) > 0 {
		t.Errorf("changes without the finalizer: %v", f.cloud.mutations)
	}
}

func TestFinalizerStaysUntilTheLastChange(t *testing.T) {
	f := newFinalizerFixture(t)
	f.mustEnsure(t, f.service)
	f.log = nil
	broken := errors.New("broken")
	f.cloud.doing = func(_ context.Context, r plan.Ref) error {
		if r.Kind == "address" {
			return broken
		}
		return nil
	}
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", f.service); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	f.verify(t, "changes", "theirs", "toy.example/public")
	f.cloud.doing, f.fail = nil, errors.New("no API server")
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", f.service); !errors.Is(err, f.fail) {
		t.Errorf("got %v", err)
	}
	f.fail, f.log = nil, nil
	// The framework deletes only what GetLoadBalancer reports.
	now := metav1.Now()
	f.service.DeletionTimestamp = &now
	if _, exists, err := f.GetLoadBalancer(t.Context(), "prod", f.service); !exists || err != nil {
		t.Errorf("exists: %t, %v", exists, err)
	}
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", f.service); err != nil {
		t.Error(err)
	}
	f.verify(t, "+ -toy.example/public", "theirs")
	if _, exists, err := f.GetLoadBalancer(t.Context(), "prod", f.service); exists || err != nil {
		t.Errorf("exists: %t, %v", exists, err)
	}
}

func TestFinalizersOfAnOldCopyOfTheService(t *testing.T) {
	f := newFinalizerFixture(t)
	old := f.service
	f.mustEnsure(t, old)
	f.log = nil
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", old); err != nil {
		t.Fatal(err)
	}
	f.verify(t, "changes; + -toy.example/public", "theirs")
}

func TestFinalizerIsAddedAgainAlthoughAnOldCopyHasIt(t *testing.T) {
	f := newFinalizerFixture(t)
	f.mustEnsure(t, f.service)
	old := f.service.DeepCopy()
	f.service.Annotations[intent.KeyScheme] = "internal"
	f.mustEnsure(t, f.service)
	f.log = nil
	f.mustEnsure(t, old)
	f.verify(t, "+toy.example/public,toy.example/internal -; changes; + -toy.example/internal",
		"theirs", "toy.example/public")
}

func TestTakenOverServiceGetsItsFinalizer(t *testing.T) {
	f := newFinalizerFixture(t)
	f.mustEnsure(t, f.service)
	f.service.Finalizers, f.log = nil, nil
	f.restart()
	f.mustEnsure(t, f.service)
	f.verify(t, "+toy.example/public -", "toy.example/public")
}

func TestDeletedServiceGetsNoFinalizer(t *testing.T) {
	f := newFinalizerFixture(t)
	now := metav1.Now()
	f.service.DeletionTimestamp = &now
	f.mustEnsure(t, f.service)
	f.verify(t, "changes", "theirs")
}

func TestLoadBalancerOfAnotherControllerGetsNoFinalizer(t *testing.T) {
	f := newFinalizerFixture(t)
	f.cloud.refused = cloudprovider.ImplementedElsewhere
	_, err := f.EnsureLoadBalancer(t.Context(), "prod", f.service, nil)
	if err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // the framework compares it so
		t.Errorf("got %v", err)
	}
	if err := f.UpdateLoadBalancer(t.Context(), "prod", f.service, nil); err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // as above
		t.Errorf("got %v", err)
	}
	f.verify(t, "", "theirs")
}
