package batch

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

func TestSideBySide(t *testing.T) {
	t.Parallel()
	odd := errors.New("odd")
	for _, tc := range []struct {
		name        string
		n, atOnce   int
		want        []error
		alongside   int32
		atMostSlots int32
	}{
		{name: "nothing to do", want: []error{}},
		{name: "errors in order", n: 4, atOnce: 2, want: []error{nil, odd, nil, odd}, alongside: 2, atMostSlots: 2},
		{name: "fewer than could run", n: 2, atOnce: 8, want: []error{nil, odd}, alongside: 2, atMostSlots: 2},
		{name: "no number is one after the other", n: 3, want: []error{nil, odd, nil}, alongside: 1, atMostSlots: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var running, most atomic.Int32
			// The first ones wait for each other: that ends only if they run side by side.
			together := make(chan struct{})
			got := SideBySide(tc.n, tc.atOnce, func(at int) error {
				now := running.Add(1)
				defer running.Add(-1)
				for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
				}
				if int32(at) == tc.alongside-1 {
					close(together)
				}
				<-together
				if at%2 == 1 {
					return odd
				}
				return nil
			})
			if !slices.Equal(got, tc.want) {
				t.Errorf("errors %v, want %v", got, tc.want)
			}
			if most.Load() > tc.atMostSlots {
				t.Errorf("%d ran at once, want at most %d", most.Load(), tc.atMostSlots)
			}
		})
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	one, two := errors.New("one"), errors.New("two")
	both := make(chan struct{})
	err := Together(t.Context(), 2,
		func(context.Context) error { <-both; return one },
		func(context.Context) error { close(both); return two },
		func(context.Context) error { return nil },
	)
	if !errors.Is(err, one) || !errors.Is(err, two) {
		t.Errorf("errors %v, want both", err)
	}
}
