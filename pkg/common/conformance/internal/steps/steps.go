// Package steps runs the steps of scenarios.
package steps

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// Run runs functions in order and stops at the first error.
func Run(functions ...func() error) error {
	for _, f := range functions {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// Wrap adds a prefix to an error; nil stays nil.
func Wrap(prefix string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", prefix, err)
}

// InBubble runs a function in a bubble of package synctest, and fails the test if it returns an error.
func InBubble(t *testing.T, f func(t *testing.T) error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if err := f(t); err != nil {
			t.Errorf("\n%v", err)
		}
	})
}
