package main

import (
	"bytes"
	"context"
	"regexp"
	"testing"
)

func TestStepContinuesAfterANotification(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	err := p.step(t.Context(), "20 Services created", func(context.Context) error {
		p.notify("waiting for demo/bench-1")
		return nil
	})
	want := regexp.MustCompile(`^20 Services created…\n  waiting for demo/bench-1\n20 Services created… \d+\.\ds\n$`)
	if err != nil || !want.Match(out.Bytes()) {
		t.Errorf("%v, %q", err, out.String())
	}
}
