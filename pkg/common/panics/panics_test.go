package panics

import (
	"errors"
	"strings"
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
