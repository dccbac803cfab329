package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
)

// streams are the outputs: results go to out, progress and errors to err.
type streams struct{ out, err io.Writer }

// progress prints the steps of a command and their durations.
type progress struct {
	w        io.Writer
	terminal bool

	// mu serializes writes. current is the running step, and open means that the cursor is behind its name.
	mu      sync.Mutex
	current string
	open    bool
}

func newProgress(w io.Writer) *progress {
	_, _, terminal := screen.Size(w)
	return &progress{w: w, terminal: terminal}
}

// step runs do. On a terminal it counts the seconds in place; otherwise it prints the name at once, and the
// duration when the step has ended.
func (p *progress) step(ctx context.Context, name string, do func(context.Context) error) error {
	started := time.Now()
	p.begin(name)
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
			p.end(end)
			return err
		case <-tick.C:
			p.count(time.Since(started))
		}
	}
}

func (p *progress) begin(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.open = name, true
	fmt.Fprintf(p.w, "%s…", name)
}

func (p *progress) count(elapsed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s… %ds", p.current, int(elapsed.Seconds()))
		p.open = true
	}
}

func (p *progress) end(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.terminal:
		fmt.Fprintf(p.w, "\r\x1b[K%s…", p.current)
	case !p.open:
		fmt.Fprintf(p.w, "%s…", p.current)
	}
	fmt.Fprintln(p.w, text)
	p.current, p.open = "", false
}

// notify prints a separate line within the running step.
func (p *progress) notify(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.terminal:
		fmt.Fprint(p.w, "\r\x1b[K")
	case p.open:
		fmt.Fprintln(p.w)
	}
	fmt.Fprintf(p.w, "  %s\n", message)
	p.open = false
}

func (p *progress) say(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }
