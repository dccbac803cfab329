// Package locks has mutexes with a Lock that gives up when a context ends, because their holders wait for a cloud.
package locks

import (
	"context"
	"sync"
)

// Mutex is a mutual exclusion lock. The zero value is unlocked.
type Mutex struct {
	once sync.Once
	held chan struct{}
}

// Lock locks m, or returns the context's error. The caller must call unlock exactly once.
func (m *Mutex) Lock(ctx context.Context) (unlock func(), err error) {
	m.once.Do(m.init)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case m.held <- struct{}{}:
		return m.unlock, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TryLock locks m if it is unlocked. The caller must call unlock exactly once.
func (m *Mutex) TryLock() (unlock func(), ok bool) {
	m.once.Do(m.init)
	select {
	case m.held <- struct{}{}:
		return m.unlock, true
	default:
		return nil, false
	}
}

func (m *Mutex) init() { m.held = make(chan struct{}, 1) }

func (m *Mutex) unlock() { <-m.held }

// KeyedMutex is one Mutex per key. Unlocked keys take no memory. The zero value is ready to use.
type KeyedMutex struct {
	mu    sync.Mutex
	locks map[string]*countedMutex
}

// countedMutex is a Mutex with the number of callers that hold it or wait for it.
type countedMutex struct {
	Mutex
	users int
}

// Lock locks the key, or returns the context's error. The caller must call unlock exactly once.
func (k *KeyedMutex) Lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	lock := k.joinLocked(key)
	k.mu.Unlock()

	release, err := lock.Mutex.Lock(ctx)
	if err != nil {
		k.leave(key, lock)
		return nil, err
	}
	return func() { release(); k.leave(key, lock) }, nil
}

// TryLock locks the key if no caller holds it or waits for it. The caller must call unlock exactly once.
func (k *KeyedMutex) TryLock(key string) (unlock func(), ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, used := k.locks[key]; used {
		return nil, false
	}
	lock := k.joinLocked(key)
	release, _ := lock.Mutex.TryLock() // succeeds: the lock is new
	return func() { release(); k.leave(key, lock) }, true
}

// joinLocked returns the lock of a key with the caller as one of its users. k.mu is held.
func (k *KeyedMutex) joinLocked(key string) *countedMutex {
	lock, ok := k.locks[key]
	if !ok {
		if k.locks == nil {
			k.locks = map[string]*countedMutex{}
		}
		lock = &countedMutex{}
		k.locks[key] = lock
	}
	lock.users++
	return lock
}

// Len returns the number of keys that are locked or waited for.
func (k *KeyedMutex) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.locks)
}

func (k *KeyedMutex) leave(key string, lock *countedMutex) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if lock.users--; lock.users == 0 {
		delete(k.locks, key)
	}
}
