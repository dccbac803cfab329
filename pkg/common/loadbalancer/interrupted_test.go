package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// Each operation is interrupted at each of its mutations in turn, once before the mutation is done
// and once after (the reply is lost), and called again until it succeeds.
func TestInterruptedOperationsConverge(t *testing.T) {
	nodes := []*v1.Node{node("a")}
	ensure := func(ctx context.Context, f *fixture) error {
		_, err := f.EnsureLoadBalancer(ctx, "prod", web(), nodes)
		return err
	}
	remove := func(ctx context.Context, f *fixture) error {
		return f.EnsureLoadBalancerDeleted(ctx, "prod", web())
	}
	change := func(ctx context.Context, f *fixture) error {
		_, err := f.EnsureLoadBalancer(ctx, "prod", web(func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[1:] }),
			[]*v1.Node{node("b")})
		return err
	}
	for _, tc := range []struct {
		name      string
		prepare   func(context.Context, *fixture) error
		operation func(context.Context, *fixture) error
	}{
		{"create", nil, ensure},
		{"change", ensure, change},
		{"delete", ensure, remove},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clean := newPrepared(t, tc.prepare)
			before := len(clean.cloud.mutations)
			if err := tc.operation(t.Context(), clean); err != nil {
				t.Fatal(err)
			}
			injected := len(clean.cloud.mutations) - before
			for number := 1; number <= injected; number++ {
				for _, lost := range []bool{false, true} {
					t.Run(fmt.Sprintf("mutation %d, lost reply %t", number, lost), func(t *testing.T) {
						f := newPrepared(t, tc.prepare)
						first := len(f.cloud.mutations)
						f.cloud.fault = func(n int, done bool) error {
							if n == first+number && done == lost {
								return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "fault", Err: errors.New("no answer")}
							}
							return nil
						}
						if err := tc.operation(t.Context(), f); !cloudapi.Is(err, cloudapi.Unavailable) {
							t.Fatalf("the interrupted call: %v", err)
						}
						if err := tc.operation(t.Context(), f); err != nil {
							t.Fatalf("the call after it: %v", err)
						}
						if diff := cmp.Diff(clean.cloud.have, f.cloud.have); diff != "" {
							t.Errorf("cloud (-want +got):\n%s", diff)
						}
					})
				}
			}
		})
	}
}

// newPrepared is a fixture on which prepare has run. Mutations run one after another, so that
// their numbers mean the same in each run.
func newPrepared(t *testing.T, prepare func(context.Context, *fixture) error) *fixture {
	t.Helper()
	f := newFixture(t, func(o *Options) { o.Parallel = 1 })
	if prepare != nil {
		if err := prepare(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Two creations that wait for each other only succeed if they run in parallel.
func TestDifferentServicesRunSideBySide(t *testing.T) {
	f := newFixture(t)
	var both sync.WaitGroup
	both.Add(2)
	f.cloud.doing = func(ctx context.Context, r plan.Ref) error {
		if r.Kind != "load balancer" {
			return nil
		}
		both.Done()
		met := make(chan struct{})
		go func() { both.Wait(); close(met) }()
		select {
		case <-met:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var calls sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		svc := web(func(svc *v1.Service) { svc.Name = name })
		calls.Go(func() {
			if _, err := f.EnsureLoadBalancer(ctx, "prod", svc, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	calls.Wait()
	if n := len(f.cloud.have); n != 12 {
		t.Errorf("%d objects, want 12", n)
	}
}

// Sixteen workers on one Service never run at the same time, even if its UID changes.
func TestCallsForOneServiceAreSerialized(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Parallel = 1 })
	var inside atomic.Int32
	f.cloud.doing = func(context.Context, plan.Ref) error {
		if inside.Add(1) > 1 {
			t.Error("two calls work on one load balancer")
		}
		defer inside.Add(-1)
		return nil
	}
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			svc := web(func(svc *v1.Service) { svc.UID += "x" })
			var err error
			if i%2 == 0 {
				_, err = f.EnsureLoadBalancer(t.Context(), "prod", svc, []*v1.Node{node("a")})
			} else {
				err = f.EnsureLoadBalancerDeleted(t.Context(), "prod", web())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := f.locks.Len(); n != 0 {
		t.Errorf("%d locks left in memory", n)
	}
}

func TestWaitingForAServiceEndsWithTheContext(t *testing.T) {
	f := newFixture(t)
	holding, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.cloud.doing = func(context.Context, plan.Ref) error {
		once.Do(func() { close(holding) })
		<-release
		return nil
	}
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := f.EnsureLoadBalancer(t.Context(), "prod", web(), nil); err != nil {
			t.Errorf("the first: %v", err)
		}
	})
	<-holding
	ctx, cancel := context.WithCancel(t.Context())
	var second sync.WaitGroup
	second.Go(func() {
		err := f.UpdateLoadBalancer(ctx, "prod", web(), nil)
		if want := "waiting for another change of load balancer lb-web to finish: context canceled"; err == nil ||
			err.Error() != want {
			t.Errorf("the second: %v", err)
		}
	})
	cancel()
	second.Wait()
	close(release)
	first.Wait()
	if n := f.locks.Len(); n != 0 {
		t.Errorf("%d locks left in memory", n)
	}
}

func TestCancellationStopsAnEnsureThatCanBeRunAgain(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Parallel = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.cloud.ready = func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }
	if _, err := f.EnsureLoadBalancer(ctx, "prod", web(), nil); !cloudapi.Is(err, cloudapi.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := len(f.cloud.have); n != 2 {
		t.Errorf("%d objects, want the address and the load balancer", n)
	}
	f.cloud.ready = nil
	f.mustEnsure(t, web())
	f.converged(t, web())
}
