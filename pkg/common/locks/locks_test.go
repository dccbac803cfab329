package locks

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// locker is Mutex.Lock, or KeyedMutex.Lock for one key.
type locker func(context.Context) (func(), error)

func lockers() map[string]func() locker {
	return map[string]func() locker{
		"Mutex": func() locker { return new(Mutex).Lock },
		"KeyedMutex": func() locker {
			k := &KeyedMutex{}
			return func(ctx context.Context) (func(), error) { return k.Lock(ctx, "x") }
		},
	}
}

func TestLockExcludesOtherHolders(t *testing.T) {
	for name, newLocker := range lockers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock, inside, most, total := newLocker(), 0, 0, 0
				var mu sync.Mutex
				var group sync.WaitGroup
				for range 20 {
					group.Go(func() {
						unlock, err := lock(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						inside++
						total++
						most = max(most, inside)
						mu.Unlock()
						synctest.Wait() // every goroutine that is not blocked has entered
						mu.Lock()
						inside--
						mu.Unlock()
						unlock()
					})
				}
				group.Wait()
				if most != 1 || total != 20 {
					t.Errorf("%d goroutines held the lock at once and %d in all, want 1 and 20", most, total)
				}
			})
		})
	}
}

func TestLockReturnsWhenTheContextEnds(t *testing.T) {
	for name, newLocker := range lockers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock := newLocker()
				unlock, err := lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				failed := errors.New("not yet")
				go func() { _, failed = lock(ctx) }()
				synctest.Wait()
				cancel()
				synctest.Wait()
				if !errors.Is(failed, context.Canceled) {
					t.Errorf("Lock with a cancelled context: %v", failed)
				}
				unlock()
				if _, err := lock(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("Lock of a free lock with a cancelled context: %v", err)
				}
				unlock, err = lock(t.Context())
				if err != nil {
					t.Errorf("Lock after unlock: %v", err)
				}
				unlock()
			})
		})
	}
}

func TestKeyedMutexLocksEachKey(t *testing.T) {
	var k KeyedMutex
	var unlocks []func()
	for _, key := range []string{"a", "b"} {
		unlock, err := k.Lock(t.Context(), key) // keys do not block each other
		if err != nil {
			t.Fatal(err)
		}
		unlocks = append(unlocks, unlock)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Lock(ended, "a"); err == nil {
		t.Error("no error")
	}
	if k.Len() != 2 {
		t.Errorf("%d keys are locked, want 2", k.Len())
	}
	for _, unlock := range unlocks {
		unlock()
	}
	if k.Len() != 0 {
		t.Errorf("%d keys stay in memory", k.Len())
	}
}

func TestTryLockDoesNotWait(t *testing.T) {
	var k KeyedMutex
	unlock, ok := k.TryLock("a")
	if !ok {
		t.Fatal("a free key is not locked")
	}
	if _, ok := k.TryLock("a"); ok {
		t.Error("a key is locked twice")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Lock(ended, "a"); err == nil {
		t.Error("Lock ignores TryLock")
	}
	unlock()
	if k.Len() != 0 {
		t.Errorf("%d keys stay in memory", k.Len())
	}
}
