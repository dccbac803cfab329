package batch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
)

// backend answers every key with its upper case, each call taking latency of fake time.
type backend struct {
	latency time.Duration
	fail    func(keys []string) error

	mu    sync.Mutex
	calls [][]string
	// canceled counts calls whose context ended before their answer.
	canceled int
}

func (b *backend) call(ctx context.Context, keys []string) (map[string]string, error) {
	b.mu.Lock()
	b.calls = append(b.calls, slices.Clone(keys))
	b.mu.Unlock()
	select {
	case <-time.After(b.latency):
	case <-ctx.Done():
		b.mu.Lock()
		b.canceled++
		b.mu.Unlock()
		return nil, ctx.Err()
	}
	if b.fail != nil {
		if err := b.fail(keys); err != nil {
			return nil, err
		}
	}
	result := map[string]string{}
	for _, k := range keys {
		if k != "absent" {
			result[k] = strings.ToUpper(k)
		}
	}
	return result, nil
}

// crowd requests all keys at once and returns their errors by key.
func crowd(ctx context.Context, b *batch.Batcher[string, string], keys ...string) map[string]error {
	var mu sync.Mutex
	var group sync.WaitGroup
	errs := map[string]error{}
	for _, k := range keys {
		group.Go(func() {
			_, _, err := b.Do(ctx, k)
			mu.Lock()
			defer mu.Unlock()
			errs[k] = err
		})
		// Keys arrive in the order given.
		synctest.Wait()
	}
	group.Wait()
	return errs
}

func TestSingleCallerNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		be := &backend{latency: time.Second}
		b := batch.New(batch.Options{}, be.call)
		start := time.Now()
		got, found, err := b.Do(t.Context(), "a")
		if got != "A" || !found || err != nil {
			t.Errorf("Do = %q, %v, %v", got, found, err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %s, want only the call's second", took)
		}
		if _, found, err := b.Do(t.Context(), "absent"); found || err != nil {
			t.Errorf("absent key: found %v, err %v", found, err)
		}
	})
}

func TestConcurrentCallersShareOneCall(t *testing.T) {
	tests := map[string]struct {
		options batch.Options
		keys    []string
		want    [][]string
	}{
		"collected while one is in flight": {
			keys: []string{"a", "b", "c", "d"},
			want: [][]string{{"a"}, {"b", "c", "d"}},
		},
		"in parts of the largest size": {
			options: batch.Options{MaxSize: 2},
			keys:    []string{"a", "b", "c", "d"},
			want:    [][]string{{"a"}, {"b", "c"}, {"d"}},
		},
		"two requests for one key share a call": {
			keys: []string{"a", "b", "b", "b"},
			want: [][]string{{"a"}, {"b"}},
		},
		"a call in flight does not answer a later question": {
			keys: []string{"a", "a"},
			want: [][]string{{"a"}, {"a"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				be := &backend{latency: time.Second}
				crowd(t.Context(), batch.New(test.options, be.call), test.keys...)
				if diff := cmp.Diff(test.want, be.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestCanceledCallerEndsOnlyItsOwnWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		be := &backend{latency: 10 * time.Second}
		b := batch.New(batch.Options{}, be.call)
		go func() { _, _, _ = b.Do(t.Context(), "first") }()
		synctest.Wait()
		impatient, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		stays := make(chan error, 1)
		go func() { _, _, err := b.Do(t.Context(), "b"); stays <- err }()
		synctest.Wait()
		if _, _, err := b.Do(impatient, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("impatient caller got %v", err)
		}
		if err := <-stays; err != nil {
			t.Errorf("caller of the same key that kept waiting got %v", err)
		}
		if be.canceled != 0 {
			t.Errorf("%d calls were canceled", be.canceled)
		}
	})
}

func TestCallWithoutWaitersIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		be := &backend{latency: 10 * time.Second}
		b := batch.New(batch.Options{}, be.call)
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		errs := crowd(ctx, b, "running", "queued")
		synctest.Wait()
		for key, err := range errs {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", key, err)
			}
		}
		if diff := cmp.Diff([][]string{{"running"}}, be.calls); diff != "" {
			t.Errorf("a key without a waiting caller must not be requested (-want +got):\n%s", diff)
		}
		if be.canceled != 1 {
			t.Errorf("%d calls were canceled, want the running one", be.canceled)
		}
		if _, _, err := b.Do(t.Context(), "later"); err != nil {
			t.Errorf("the batcher is stuck: %v", err)
		}
	})
}

func TestCallHasItsOwnTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		be := &backend{latency: time.Hour}
		b := batch.New(batch.Options{Timeout: time.Minute}, be.call)
		start := time.Now()
		_, _, err := b.Do(t.Context(), "a")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

func TestInvalidKeyFailsAlone(t *testing.T) {
	invalid, broken := errors.New("invalid"), errors.New("broken")
	tests := map[string]struct {
		err  error
		want map[string]error
	}{
		"an error that one key can cause": {invalid, map[string]error{"a": nil, "b": nil, "bad": invalid, "c": nil, "d": nil}},
		"an error of the whole call":      {broken, map[string]error{"a": nil, "b": broken, "bad": broken, "c": broken, "d": broken}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				be := &backend{latency: time.Second, fail: func(keys []string) error {
					if slices.Contains(keys, "bad") {
						return test.err
					}
					return nil
				}}
				b := batch.New(batch.Options{Split: func(err error) bool { return errors.Is(err, invalid) }}, be.call)
				got := crowd(t.Context(), b, "a", "b", "bad", "c", "d")
				for key, want := range test.want {
					if !errors.Is(got[key], want) || (want == nil) != (got[key] == nil) {
						t.Errorf("%s: got %v, want %v", key, got[key], want)
					}
				}
			})
		})
	}
}

func TestWindowCollectsABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := &backend{latency: time.Second}
		b := batch.New(batch.Options{Window: 20 * time.Millisecond}, back.call)
		gone, cancel := context.WithCancel(t.Context())
		go func() { _, _, _ = b.Do(gone, "gone") }()
		synctest.Wait()
		cancel() // The caller leaves before the call.
		start := time.Now()
		for key, err := range crowd(t.Context(), b, "a", "b", "c") {
			if err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
		if took := time.Since(start); took != time.Second+20*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if len(back.calls) != 1 || len(back.calls[0]) != 3 {
			t.Errorf("calls %q", back.calls)
		}
		time.Sleep(time.Minute)
		if _, found, err := b.Do(t.Context(), "d"); err != nil || !found {
			t.Errorf("after the burst: %t, %v", found, err)
		}
	})
}
