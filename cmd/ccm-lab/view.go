package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
)

const (
	// observeInterval is the interval at which the cluster is observed.
	observeInterval = 500 * time.Millisecond
	// answerTime is the time that the final tables wait for an answer through every load balancer: health checks
	// and echo servers take a moment.
	answerTime = 10 * time.Second
	// initialiseTime is the time that the demo Services wait for the nodes.
	initialiseTime = 20 * time.Second
	// firstNodePort is the first node port of the demo Services. The lab chooses them, so that echo servers can
	// listen before the Services exist.
	firstNodePort = 30001
	// logTail is the number of warnings and errors of ccm's log in a failure message.
	logTail = 5
)

// view shows a running cluster.
type view struct {
	options    runOptions
	streams    streams
	progress   *progress
	cluster    *lab.Cluster
	observer   *lab.Observer
	kubeconfig string
}

type runOptions struct {
	provider        string
	nodes, services int
	kubeconfigOut   string
	traces          string
	once, keep      bool
	timeout         time.Duration
}

// join creates the demo nodes, and waits until they are initialised, as they usually are before a cluster
// gets its Services. A timeout is not an error here: the caller reports nodes that are not initialised.
func (v *view) join(ctx context.Context) error {
	for i := range v.options.nodes {
		cloud := v.cluster.Clouds[i%len(v.cluster.Clouds)]
		if err := lab.JoinNode(ctx, v.cluster.Plane.Client, cloud.World, lab.DemoMachine(i+1)); err != nil {
			return err
		}
	}
	initCtx, cancel := context.WithTimeout(ctx, initialiseTime)
	defer cancel()
	err := v.follow(initCtx, func(s screen.State) bool { return s.Ended != "" || s.Initialised() })
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// once waits until everything is ready and prints it, or prints what is missing.
func (v *view) once(ctx context.Context) error {
	state, err := v.waitReady(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	v.printTables(state)
	if !state.Ready() {
		return v.notReady(state)
	}
	fmt.Fprintf(v.streams.out, "\nOK: %s\n", state.Summary())
	return nil
}

// waitReady waits until everything is ready, and then up to answerTime for answers through the load
// balancers. It returns the last state even if that is not ready.
func (v *view) waitReady(ctx context.Context) (state screen.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, v.options.timeout)
	defer cancel()
	err = v.progress.step(ctx, "waiting for nodes, load balancers and routes", func(ctx context.Context) error {
		answersUntil := time.Time{}
		return v.follow(ctx, func(s screen.State) bool {
			state = s
			if s.Ready() && answersUntil.IsZero() {
				answersUntil = time.Now().Add(answerTime)
				v.observer.ProbeAgain()
				return false
			}
			return s.Ended != "" || s.Ready() && (lab.Answered(s) || time.Now().After(answersUntil))
		})
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // The missing parts of the state are more precise.
	}
	return state, err
}

// follow observes the cluster until show returns true or ctx ends.
func (v *view) follow(ctx context.Context, show func(screen.State) bool) error {
	tick := time.NewTicker(observeInterval)
	defer tick.Stop()
	for {
		state, err := v.observer.Observe(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if show(state) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (v *view) notReady(s screen.State) error {
	missing := s.Missing()
	if warnings := lab.LastWarnings(v.cluster.ManagerOptions.Log, logTail); len(warnings) > 0 {
		missing = append(missing, "the last warnings and errors in the log of ccm:")
		for _, line := range warnings {
			missing = append(missing, "  "+line)
		}
	}
	if !v.options.keep {
		missing = append(missing, "run it again with --keep to keep all logs")
	}
	summary := "not ready after " + v.options.timeout.String()
	if s.Ended != "" {
		summary = "ccm ended"
	}
	return notReady(summary+": "+s.Summary(), missing)
}

func (v *view) printTables(s screen.State) {
	width, _, _ := screen.Size(v.streams.out)
	fmt.Fprint(v.streams.out, "\n"+screen.Tables(s, screen.Options{Width: width, Colour: screen.Colours(v.streams.out)}))
}

// live shows the cluster until the user ends it.
func (v *view) live(ctx context.Context) error {
	var err error
	if _, _, ok := screen.Size(v.streams.out); ok {
		err = v.liveScreen(ctx)
	} else {
		err = v.liveLines(ctx)
	}
	if errors.Is(err, context.Canceled) {
		return nil // Ctrl-C is the regular end.
	}
	return err
}

func (v *view) liveScreen(ctx context.Context) error {
	var last screen.State
	terminal := screen.OpenTerminal(v.streams.out)
	colour := screen.Colours(v.streams.out)
	err := v.follow(ctx, func(s screen.State) bool {
		last = s
		width, height, _ := screen.Size(v.streams.out)
		terminal.Draw(screen.Screen(s, screen.Options{Width: width, Height: height, Colour: colour, Hints: v.hints(s)}))
		return false
	})
	terminal.Close()
	// Closing the alternate screen removes its content: print the last state on the regular screen.
	v.printTables(last)
	fmt.Fprintf(v.streams.out, "\n%s\n", last.Summary())
	return err
}

// liveLines is for output other than a terminal: the tables when everything is ready, and each Event.
func (v *view) liveLines(ctx context.Context) error {
	shown, seen := false, map[screen.Event]bool{}
	fmt.Fprintf(v.streams.out, "export KUBECONFIG=%s\n", v.kubeconfig)
	return v.follow(ctx, func(s screen.State) bool {
		for _, e := range s.Events {
			if !seen[e] {
				seen[e] = true
				fmt.Fprintln(v.streams.out, e)
			}
		}
		if ready := s.Ready(); ready != shown {
			shown = ready
			if ready {
				v.printTables(s)
				fmt.Fprintf(v.streams.out, "\nOK: %s\n%s\n", s.Summary(), strings.Join(v.hints(s), "\n"))
			} else {
				fmt.Fprintln(v.streams.out, s.Summary())
			}
		}
		return false
	})
}

// hints returns what a user can do now.
func (v *view) hints(s screen.State) []string {
	var out []string
	if v.observer.EchoServers != nil {
		out = append(out, curl(s)...)
	}
	return append(out,
		"export KUBECONFIG="+v.kubeconfig,
		"log of ccm: "+v.cluster.ManagerOptions.Log,
		"Ctrl-C ends and removes everything",
	)
}

// curl returns a command that reaches an echo server through the first load balancer that supports it.
func curl(s screen.State) []string {
	for _, name := range []string{"web", ""} {
		for _, svc := range s.Services {
			if len(svc.Addresses) == 0 || len(svc.Ports) == 0 || name != "" && svc.Name != name {
				continue
			}
			port, protocol, _ := strings.Cut(svc.Ports[0], "/")
			if n, err := strconv.Atoi(port); err == nil && n > 0 && protocol == string(v1.ProtocolTCP) {
				return []string{"curl http://" + net.JoinHostPort(svc.Addresses[0], port)}
			}
		}
	}
	return nil
}
