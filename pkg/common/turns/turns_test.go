package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// taker is Turn.Take, or Named.Take for one name.
type taker func(context.Context) (func(), error)

func takers() map[string]func() taker {
	return map[string]func() taker{
		"a turn": func() taker { return new(Turn).Take },
		"a name": func() taker {
			n := &Named{}
			return func(ctx context.Context) (func(), error) { return n.Take(ctx, "x") }
		},
	}
}

func TestOneAfterTheOther(t *testing.T) {
	for name, newTaker := range takers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				take, inside, most, total := newTaker(), 0, 0, 0
				var mu sync.Mutex
				var group sync.WaitGroup
				for range 20 {
					group.Go(func() {
						release, err := take(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						inside++
						total++
						most = max(most, inside)
						mu.Unlock()
						synctest.Wait() // whoever could come in as well has come in
						mu.Lock()
						inside--
						mu.Unlock()
						release()
					})
				}
				group.Wait()
				if most != 1 || total != 20 {
					t.Errorf("%d had their turn at once, and %d in all, want 1 and 20", most, total)
				}
			})
		})
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	for name, newTaker := range takers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				take := newTaker()
				release, err := take(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				failed := errors.New("not yet")
				go func() { _, failed = take(ctx) }()
				synctest.Wait()
				cancel()
				synctest.Wait()
				if !errors.Is(failed, context.Canceled) {
					t.Errorf("who waits in vain gets %v", failed)
				}
				release()
				if _, err := take(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("a context that has ended gets a turn that is free: %v", err)
				}
				release, err = take(t.Context())
				if err != nil {
					t.Errorf("the next one gets %v", err)
				}
				release()
			})
		})
	}
}

func TestNames(t *testing.T) {
	var n Named
	var releases []func()
	for _, name := range []string{"a", "b"} {
		release, err := n.Take(t.Context(), name) // one does not wait for the other
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Take(ended, "a"); err == nil {
		t.Error("no error")
	}
	if n.Len() != 2 {
		t.Errorf("it is somebody's turn at %d names, want 2", n.Len())
	}
	for _, release := range releases {
		release()
	}
	if n.Len() != 0 {
		t.Errorf("%d names stay in memory", n.Len())
	}
}
