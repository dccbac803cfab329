package panics

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

func TestDoReturnsPanicsAsErrors(t *testing.T) {
	want := errors.New("no answer")
	if err := Do(func() error { return want }); err != want { //nolint:errorlint // the framework compares with ==
		t.Errorf("got %v, want the error itself", err)
	}
	var nothing map[string]int
	err := Do(func() error { nothing["a"] = 1; return nil })
	var panicked *Error
	if !errors.As(err, &panicked) || !strings.Contains(err.Error(), "nil map") ||
		!strings.Contains(panicked.Stack, "TestDoReturnsPanicsAsErrors") {
		t.Errorf("got %v", err)
	}
}

func TestPanicOfAGroupIsThatOfItsCaller(t *testing.T) {
	var ended atomic.Int64
	err := Do(func() error {
		group, ctx := WithContext(t.Context())
		group.SetLimit(3)
		for i := range 3 {
			group.Go(func() error {
				if i == 1 {
					panic("defect")
				}
				<-ctx.Done() // The panic ends the others.
				ended.Add(1)
				return nil
			})
		}
		return group.Wait()
	})
	var panicked *Error
	if !errors.As(err, &panicked) || panicked.Value != "defect" ||
		!strings.Contains(panicked.Stack, "TestPanicOfAGroupIsThatOfItsCaller.func1.1") {
		t.Errorf("got %v", err)
	}
	if ended.Load() != 2 {
		t.Errorf("%d others ended", ended.Load())
	}
}

func TestGroupReturnsTheFirstError(t *testing.T) {
	want := errors.New("no answer")
	var group Group
	group.Go(func() error { return nil })
	group.Go(func() error { return want })
	if err := group.Wait(); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	if value, err := Value(func() (int, error) { return 7, want }); value != 7 || !errors.Is(err, want) {
		t.Errorf("got %d, %v", value, err)
	}
}
