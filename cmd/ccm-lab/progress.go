package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
)

// progress tells on a stream what is being done and how long it takes.
type progress struct {
	w        io.Writer
	terminal bool
}

func newProgress(w io.Writer) *progress {
	_, _, terminal := screen.Size(w)
	return &progress{w: w, terminal: terminal}
}

// step runs do. On a terminal the seconds are counted in place; elsewhere the line appears at
// once, and its end when the step has ended.
func (p *progress) step(ctx context.Context, what string, do func(context.Context) error) error {
	started := time.Now()
	fmt.Fprintf(p.w, "%s…", what)
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			end := fmt.Sprintf(" %.1fs", time.Since(started).Seconds())
			if err != nil {
				end = " failed after" + end
			}
			if p.terminal {
				fmt.Fprintf(p.w, "\r\x1b[K%s…", what)
			}
			fmt.Fprintln(p.w, end)
			return err
		case <-tick.C:
			if p.terminal {
				fmt.Fprintf(p.w, "\r\x1b[K%s… %ds", what, int(time.Since(started).Seconds()))
			}
		}
	}
}

func (p *progress) say(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }
