package merge_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/merge"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

// crowd sets the values of Services at once, and returns their errors. The first by name is alone in the first write: the
// others arrive meanwhile.
func crowd(ctx context.Context, w *merge.Writers[rules], values map[string]string) map[string]error {
	var mu sync.Mutex
	var group sync.WaitGroup
	errs := map[string]error{}
	first := slices.Min(slices.Collect(maps.Keys(values)))
	apply := func(name string) {
		_, err := w.Apply(ctx, "d", name, set(name, values[name]))
		mu.Lock()
		defer mu.Unlock()
		errs[name] = err
	}
	group.Go(func() { apply(first) })
	synctest.Wait()
	for name := range values {
		if name != first {
			group.Go(func() { apply(name) })
		}
	}
	group.Wait()
	return errs
}

func many(n int, bad ...int) map[string]string {
	values := map[string]string{}
	for i := range n {
		values[service(i)] = "good"
	}
	for _, i := range bad {
		values[service(i)] = "bad"
	}
	return values
}

func TestPatchesOfManyServicesAreMerged(t *testing.T) {
	for name, versioned := range map[string]bool{"versioned": true, "unversioned": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &toy{versioned: versioned}
				start := time.Now()
				for name, err := range crowd(t.Context(), c.writers(), many(200)) {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				if !maps.Equal(c.document.values, many(200)) {
					t.Errorf("the document has %d values", len(c.document.values))
				}
				wantReads := 1
				if !versioned {
					wantReads = 2 * c.writes // before and after each write
				}
				if c.writes > 2 || c.reads != wantReads || time.Since(start) > 20*time.Second {
					t.Errorf("%d writes and %d reads in %v", c.writes, c.reads, time.Since(start))
				}
			})
		})
	}
}

func TestRejectedPatchesAreTakenOut(t *testing.T) {
	tests := map[string]struct {
		named  bool
		bad    []int
		writes int
	}{
		"one, named":       {named: true, bad: []int{77}, writes: 3},
		"several, named":   {named: true, bad: []int{0, 77, 199}, writes: 4},
		"one, not named":   {bad: []int{77}, writes: 3 + log2(200)},
		"three, not named": {bad: []int{3, 77, 199}, writes: 3 + 3*(log2(200)+1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &toy{versioned: true, bad: "bad", named: test.named}
				values := many(200, test.bad...)
				errs := crowd(t.Context(), c.writers(), values)
				for name, value := range values {
					if cloudapi.Is(errs[name], cloudapi.Invalid) != (value == "bad") || value == "good" && errs[name] != nil {
						t.Errorf("%s, %s: %v", name, value, errs[name])
					}
				}
				maps.DeleteFunc(values, func(_, value string) bool { return value == "bad" })
				if !maps.Equal(c.document.values, values) {
					t.Errorf("the document has %d values, want %d", len(c.document.values), len(values))
				}
				if c.writes > test.writes {
					t.Errorf("%d writes, want at most %d: %v", c.writes, test.writes, c.sizes)
				}
				if c.reads != 1 {
					t.Errorf("%d reads", c.reads)
				}
			})
		})
	}
}

func TestRejectedPatchIsWrittenAloneUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &toy{versioned: true, bad: "bad"}
		w := c.writers()
		crowd(t.Context(), w, many(50, 7))
		for round, want := range map[string]int{"again": 3, "and again": 3} {
			c.writes, c.sizes = 0, nil
			values := many(50, 7)
			for name := range values {
				if values[name] == "good" {
					values[name] = "good " + round
				}
			}
			errs := crowd(t.Context(), w, values)
			if errs[service(7)] == nil || errs[service(8)] != nil {
				t.Errorf("%v, %v", errs[service(7)], errs[service(8)])
			}
			if c.writes > want {
				t.Errorf("%d writes, want at most %d: %v", c.writes, want, c.sizes)
			}
		}
		c.bad = ""
		crowd(t.Context(), w, many(50, 7))
		c.writes, c.document = 0, rules{version: c.document.version}
		crowd(t.Context(), w, many(50))
		if c.writes > 2 {
			t.Errorf("%d writes after the patch has succeeded", c.writes)
		}
	})
}

func TestOtherFailureDuringIsolationBlamesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &toy{versioned: true, bad: "bad"}
		c.before = func(write int) error {
			if write > 3 {
				return failure(cloudapi.Denied, "403")
			}
			return nil
		}
		w := c.writers()
		errs := crowd(t.Context(), w, many(50, 7))
		denied := 0
		for _, err := range errs {
			if cloudapi.Is(err, cloudapi.Denied) {
				denied++
			}
		}
		if denied == 0 {
			t.Error("no caller got an error")
		}
		c.before, c.bad, c.writes = nil, "", 0
		if crowd(t.Context(), w, many(50)); c.writes > 2 {
			t.Errorf("%d writes", c.writes)
		}
	})
}

func TestChangedObjectIsReadAgain(t *testing.T) {
	tests := map[string]struct {
		versioned bool
		// times is the number of writes before which another client changes the object.
		times         int
		class         cloudapi.Class
		writes, reads int
	}{
		"versioned, once":   {versioned: true, times: 1, writes: 2, reads: 2},
		"versioned, always": {versioned: true, times: 100, class: cloudapi.Conflict, writes: 5, reads: 5},
		"not versioned":     {times: 0, writes: 1, reads: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &toy{versioned: test.versioned}
				c.before = func(write int) error {
					if write <= test.times {
						c.byOther("other", time.Now().String())
					}
					return nil
				}
				_, err := c.writers().Apply(t.Context(), "d", "a", set("a", "v"))
				if cloudapi.ClassOf(err) != test.class {
					t.Errorf("got %v", err)
				}
				if c.writes != test.writes || c.reads != test.reads {
					t.Errorf("%d writes and %d reads, want %d and %d", c.writes, c.reads, test.writes, test.reads)
				}
				if c.document.values["a"] != "v" && err == nil || c.document.values["other"] == "" && test.times > 0 {
					t.Errorf("the document is %v", c.document.values)
				}
			})
		})
	}
}

func TestUndoneWriteIsRepeatedABoundedNumberOfTimes(t *testing.T) {
	for name, test := range map[string]struct {
		times, writes int
		class         cloudapi.Class
	}{
		"once": {times: 1, writes: 2}, "always": {times: 100, writes: 5, class: cloudapi.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &toy{}
				c.after = func(write int) error {
					if write <= test.times {
						c.document = rules{}
					}
					return nil
				}
				_, err := c.writers().Apply(t.Context(), "d", "a", set("a", "v"))
				if cloudapi.ClassOf(err) != test.class || c.writes != test.writes {
					t.Errorf("%v after %d writes, want %q after %d", err, c.writes, test.class, test.writes)
				}
			})
		})
	}
}

func TestTransientFailures(t *testing.T) {
	throttled := &cloudapi.Error{Class: cloudapi.Throttled, RetryAfter: 14 * time.Second, Err: errors.New("429")}
	tests := map[string]struct {
		before, after error
		took          time.Duration
		writes, reads int
		class         cloudapi.Class
	}{
		"throttled":   {before: throttled, took: 34 * time.Second, writes: 2, reads: 1},
		"unavailable": {before: failure(cloudapi.Unavailable, "503"), took: 21 * time.Second, writes: 2, reads: 2},
		"lost reply":  {after: failure(cloudapi.Unavailable, "reset"), took: 11 * time.Second, writes: 1, reads: 2},
		"denied": {
			before: failure(cloudapi.Denied, "403"), took: 10 * time.Second, writes: 1, reads: 1, class: cloudapi.Denied,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				once := func(err error) func(int) error {
					return func(write int) error {
						if write == 1 {
							return err
						}
						return nil
					}
				}
				c := &toy{versioned: true, before: once(test.before), after: once(test.after)}
				start := time.Now()
				_, err := c.writers().Apply(t.Context(), "d", "a", set("a", "v"))
				if cloudapi.ClassOf(err) != test.class {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took != test.took || c.writes != test.writes || c.reads != test.reads {
					t.Errorf("%d writes and %d reads in %v, want %d and %d in %v", c.writes, c.reads, took, test.writes,
						test.reads, test.took)
				}
			})
		})
	}
}

func TestSentWriteIsNotCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &toy{versioned: true}
		w := c.writers()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		errs := crowd(ctx, w, many(2)) // one is written, one waits
		for name, err := range errs {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(c.document.values) == 0 || c.writes != 1 {
			t.Errorf("%d writes, and the document is %v", c.writes, c.document.values)
		}
		if _, err := w.Apply(t.Context(), "d", "z", set("z", "v")); err != nil || c.document.values["z"] != "v" {
			t.Errorf("%v, and the document is %v", err, c.document.values)
		}
	})
}

func TestPatchThatCannotBeApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, full := &toy{versioned: true}, errors.New("no port is free")
		w := c.writers()
		var group sync.WaitGroup
		group.Go(func() {
			_, err := w.Apply(t.Context(), "d", "a", func(r rules) (rules, error) { return r, full })
			if !errors.Is(err, full) {
				t.Errorf("got %v", err)
			}
		})
		group.Go(func() {
			if object, err := w.Apply(t.Context(), "d", "b", set("b", "v")); err != nil || object.values["b"] != "v" {
				t.Errorf("%v, %v", object, err)
			}
		})
		group.Wait()
		if c.writes != 1 {
			t.Errorf("%d writes", c.writes)
		}
	})
}

func TestNothingIsWrittenWithoutADifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &toy{versioned: true}
		w := c.writers()
		for range 2 {
			if _, err := w.Apply(t.Context(), "d", "a", set("a", "v")); err != nil {
				t.Error(err)
			}
		}
		if c.writes != 1 {
			t.Errorf("%d writes", c.writes)
		}
		c.byOther("a", "theirs")
		if _, err := w.Apply(t.Context(), "d", "a", set("a", "v")); err != nil || c.document.values["a"] != "v" {
			t.Errorf("%v: the document is %v, because the last write was believed", err, c.document.values)
		}
	})
}

func TestObjectsAreWrittenSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &toy{}
		w := c.writers()
		start := time.Now()
		var group sync.WaitGroup
		for _, name := range []string{"x", "y", "z"} {
			group.Go(func() { _, _ = w.Apply(t.Context(), name, "a", set("a", "v")) })
		}
		group.Wait()
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestPanicEndsThePatchesOfAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &toy{before: func(write int) error {
			if write == 1 {
				panic("defect")
			}
			return nil
		}}
		w := c.writers()
		var panicked *panics.Error
		for name, err := range crowd(t.Context(), w, many(1)) {
			if !errors.As(err, &panicked) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, err := range crowd(t.Context(), w, many(3)) {
			if err != nil {
				t.Errorf("after the panic: %s: %v", name, err)
			}
		}
	})
}
