package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// goal is the condition that a phase waits for.
type goal struct {
	description string
	// missing returns the number of objects that have not reached the goal. It is 0 once the goal is reached.
	missing func() int
	// examples returns the names of at most maxExamples of these objects, with the reason if it is known.
	examples func() []string
}

// describe formats the goal in one line.
func (g goal) describe() string {
	text := g.description
	if n := g.missing(); n > 1 {
		text += fmt.Sprintf(" (%d missing)", n)
	}
	if g.examples == nil {
		return text
	}
	if examples := g.examples(); len(examples) > 0 {
		text += ": " + strings.Join(examples, "; ")
	}
	return text
}

// stall detects that the number of missing objects has not changed for stallAfter.
type stall struct {
	missing  int
	since    time.Time
	reported string
}

// due reports whether a message is due: after stallAfter without progress, and again after every further
// stallAfter if the message has changed.
func (s *stall) due(now time.Time, g goal) (message string, due bool) {
	missing := g.missing()
	if missing != s.missing || s.since.IsZero() {
		s.missing, s.since, s.reported = missing, now, ""
		return "", false
	}
	if now.Sub(s.since) < stallAfter {
		return "", false
	}
	s.since, message = now, g.describe()
	due = message != s.reported
	s.reported = message
	return message, due
}

// waitFor waits for a goal, and prints what is missing when there is no progress.
func (r *runner) waitFor(ctx context.Context, g goal) error { return r.waitEvery(ctx, poll, g) }

// waitEvery is waitFor with another interval between two reads of the state.
func (r *runner) waitEvery(ctx context.Context, interval time.Duration, g goal) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var stalled stall
	for g.missing() != 0 {
		if message, due := stalled.due(time.Now(), g); due && r.Notify != nil {
			r.Notify("waiting for " + message)
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("not reached within %s: %s", r.PhaseTimeout, g.describe())
		case <-r.cluster.Manager().Done():
			return errors.New("ccm exited")
		case <-tick.C:
		}
	}
	return nil
}

// waitUntilQuiet waits until no call has reached the cloud for the period.
func (r *runner) waitUntilQuiet(ctx context.Context, period time.Duration) error {
	idle := lab.NewIdle(period, r.calls)
	return r.waitFor(ctx, goal{
		description: "a cloud without calls for " + period.String(),
		missing:     func() int { return boolToInt(!idle.Reached()) },
		examples: func() []string {
			return []string{fmt.Sprintf("%d calls so far", r.calls())}
		},
	})
}

// calls returns the number of calls to all clouds.
func (r *runner) calls() (n int) {
	for _, log := range r.logs() {
		n += log.Len()
	}
	return n
}

// nodesInitialized is the goal that the watch counts the given number of initialized nodes.
func (r *runner) nodesInitialized(want int) goal {
	return goal{
		description: count(want, "node") + " initialized",
		missing:     func() int { return want - r.watch.initialized() },
		examples:    r.watch.uninitialized,
	}
}

// servicesEnsured is the goal that a manager that has just started has ensured all Services. Events identify them.
// While their number stands still, the manager's metrics have the number: Events get lost.
func (r *runner) servicesEnsured(ctx context.Context, services int) goal {
	var ensured, synced int
	var changed time.Time
	return goal{
		description: count(services, "Service") + " ensured",
		missing: func() int {
			if n := r.watch.ensured(); n != ensured {
				ensured, changed = n, time.Now()
			} else if time.Since(changed) > lostAfter {
				if n, err := r.cluster.SyncedServices(ctx); err == nil { // Otherwise the Events count.
					synced = n
				}
				changed = time.Now()
			}
			return max(0, services-max(ensured, synced))
		},
		examples: r.watch.unensured,
	}
}

// servicesAddressed is the goal that the given number of Services have an address.
func (r *runner) servicesAddressed(want int) goal {
	return goal{
		description: "the address of " + count(want, "Service"),
		missing:     func() int { return want - r.watch.addressed() },
		examples:    r.watch.unaddressed,
	}
}

// servicesLeft is the goal that the given number of Services remain after deletions.
func (r *runner) servicesLeft(want int) goal {
	return goal{
		description: "the deletion of Services",
		missing:     func() int { return r.watch.services() - want },
		examples:    r.watch.deleting,
	}
}

// routesCreated is the goal that the cloud has exactly the given number of routes.
func (r *runner) routesCreated(want int) goal {
	return goal{
		description: count(want, "route"),
		missing:     func() int { return want - len(r.cluster.Cloud.World.Routes()) },
	}
}

// memberOfAll is the goal that a node is a member of every listener of every load balancer.
func (r *runner) memberOfAll(node string) goal {
	incomplete := func() (names []string) {
		for _, lb := range r.cluster.Cloud.World.LoadBalancers() {
			if !isMember(lb, node) {
				names = append(names, lb.Name)
			}
		}
		return names
	}
	return goal{
		description: "member " + node + " in all load balancers",
		missing:     func() int { return len(incomplete()) },
		examples:    func() []string { return firstExamples(incomplete()) },
	}
}

func isMember(lb world.LoadBalancer, node string) bool {
	return !slices.ContainsFunc(lb.Listeners, func(l world.Listener) bool {
		_, found := slices.BinarySearch(l.Members, node)
		return !found
	})
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
