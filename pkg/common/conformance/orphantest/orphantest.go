// Package orphantest verifies that an audit finds and deletes every orphan in a cloud, and changes nothing else.
package orphantest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// Run plants orphans beside objects of a Service and of another cluster of the same name. It verifies that an
// audit finds and deletes all of them and changes nothing else, also while calls are throttled, while each list fails,
// and when it is killed before or after any deletion.
func Run(t *testing.T, subject conformance.Subject, options Options) {
	t.Helper()
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	klog.SetLogger(logr.Discard()) // the clients log every injected fault
	run := func(name string, f func(*rig) error) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps.InBubble(t, func(t *testing.T) error { return withOrphans(t, subject, options, f) })
		})
	}
	run("found and deleted", (*rig).deleteAll)
	run("throttled", (*rig).deleteThrottled)
	for operation := range options.Lists {
		run("failed "+operation, func(r *rig) error { return r.deleteWithout(operation, sim.FaultError) })
		run("denied "+operation, func(r *rig) error { return r.deleteWithout(operation, sim.FaultDenied) })
		if options.Restrict != nil {
			run("restricted "+operation, func(r *rig) error { return r.deleteWithout(operation, restricted) })
		}
	}
	run("cost", (*rig).verifyCost)
	for _, kind := range []sim.FaultKind{sim.FaultKillBefore, sim.FaultKillAfter} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				killed := false
				steps.InBubble(t, func(t *testing.T) error {
					return withOrphans(t, subject, options, func(r *rig) (err error) {
						killed, err = r.deleteKilled(kind, n)
						return steps.Wrap(fmt.Sprintf("%s at mutating call %d", kind, n), err)
					})
				})
				if !killed || t.Failed() {
					return
				}
			}
		})
	}
}

// deleteOrphans audits and deletes once.
func (r *rig) deleteOrphans(ctx context.Context) (*orphans.Audit, []orphans.Deletion, error) {
	audit, err := r.audit(ctx)
	if err != nil {
		return nil, nil, err
	}
	all := audit.Refused()
	for _, removal := range audit.Removals(ctx) {
		all = append(all, removal.Apply(ctx)...)
	}
	return audit, all, nil
}

// deleteAll verifies the states, the number of calls, and that one run deletes all orphans.
func (r *rig) deleteAll() error {
	time.Sleep(time.Hour) // orphans are old enough
	r.world.Front().Log().Reset()
	audit, err := r.audit(r.ctx)
	if err != nil {
		return err
	}
	if err := r.verifyCalls(); err != nil {
		return err
	}
	if err := r.verifyStates(audit); err != nil {
		return err
	}
	_, deletions, err := r.deleteOrphans(r.ctx)
	if err != nil {
		return err
	}
	for _, d := range deletions {
		if d.Outcome != orphans.Deleted && !slices.Contains(r.options.LateKinds, d.Kind) {
			err = errors.Join(err, fmt.Errorf("%s %s (%s): %s: %s", d.Kind, d.Name, d.Service(), d.Outcome, d.Detail))
		}
	}
	if err == nil && len(r.options.LateKinds) > 0 {
		err = r.deleteRemaining()
	}
	return errors.Join(err, r.verifyUnchanged(r.options.LeftByHand...))
}

// verifyCalls returns an error if an audit has changed something, or has made too many lists.
func (r *rig) verifyCalls() error {
	log := r.world.Front().Log()
	if n := log.MutationCount(); n > 0 {
		return fmt.Errorf("an audit made %d mutating calls", n)
	}
	lists := 0
	for _, call := range log.Calls() {
		if _, ok := r.options.Lists[call.Name]; ok {
			lists++
		}
	}
	if r.options.MaxLists > 0 && lists > r.options.MaxLists {
		return fmt.Errorf("%d lists, at most %d are allowed", lists, r.options.MaxLists)
	}
	return nil
}

// verifyStates returns an error unless the audit found orphans, and no drift that nothing has made.
func (r *rig) verifyStates(audit *orphans.Audit) error {
	states := audit.Report.Count()
	if len(audit.Failures) > 0 || states[inventory.Drifted]+states[inventory.Unknown]+states[inventory.Held] > 0 ||
		states[inventory.Unidentified] > 0 && len(r.options.Unproven)+len(r.options.LeftByHand) == 0 {
		return fmt.Errorf("states %v, failures %q:\n%s", states, audit.Failures, describeEntries(audit.Report.Entries))
	}
	if states[inventory.Orphaned] == 0 || states[inventory.InSync] == 0 || states[inventory.Foreign] == 0 {
		return fmt.Errorf("states %v:\n%s", states, describeEntries(audit.Report.Entries))
	}
	return nil
}

// verifyUnchanged returns an error unless the world has its objects from before the orphans, and no other, except for
// unproven kinds.
func (r *rig) verifyUnchanged(unproven ...string) error {
	now := r.dump()
	maps.DeleteFunc(now, func(key, _ string) bool {
		kind, _, _ := strings.Cut(key, ":")
		_, existed := r.before[key]
		return !existed && slices.Contains(unproven, kind)
	})
	if diff := cmp.Diff(r.before, now); diff != "" {
		return fmt.Errorf("objects (-before the orphans +after their deletion):\n%s", diff)
	}
	return nil
}

// verifyIntact returns an error if an object that existed before the orphans has changed.
func (r *rig) verifyIntact() error {
	now := r.dump(r.options.Shared...)
	maps.DeleteFunc(now, func(key, _ string) bool { _, existed := r.before[key]; return !existed })
	if diff := cmp.Diff(r.beforeShared, now); diff != "" {
		return fmt.Errorf("objects other than orphans have changed (-before +after):\n%s", diff)
	}
	return nil
}

// deleteRemaining repeats audits until nothing is left to delete.
func (r *rig) deleteRemaining() error {
	var last error
	for range 40 {
		audit, deletions, err := r.deleteOrphans(r.ctx)
		if intact := r.verifyIntact(); intact != nil {
			return intact
		}
		if err == nil && len(deletions) == 0 && len(audit.Failures) == 0 {
			return r.verifyUnchanged(append(r.options.Unproven, r.options.LeftByHand...)...)
		}
		last = err
		for _, d := range deletions {
			if d.Outcome != orphans.Deleted {
				last = errors.Join(last, fmt.Errorf("%s %s: %s: %s", d.Kind, d.Name, d.Outcome, d.Detail))
			}
		}
		time.Sleep(10 * time.Minute)
	}
	return errors.Join(errors.New("orphans are left after 40 audits"), last, r.verifyUnchanged())
}

// deleteThrottled deletes while every third call is throttled.
func (r *rig) deleteThrottled() error {
	time.Sleep(time.Hour)
	r.world.Front().SetFaults(sim.Fault{Kind: sim.FaultThrottle, Rate: 0.3})
	for range 5 {
		if _, _, err := r.deleteOrphans(r.ctx); err != nil {
			continue
		}
		if err := r.verifyIntact(); err != nil {
			return err
		}
		time.Sleep(10 * time.Minute)
	}
	r.world.Front().SetFaults()
	return r.deleteRemaining()
}

// restricted rejects calls by Options.Restrict instead of by a fault.
const restricted sim.FaultKind = "restricted"

// deleteWithout deletes while a list fails. No object may be reported as an orphan if its kind is in that list, or
// needs a kind of that list.
func (r *rig) deleteWithout(operation string, fault sim.FaultKind) error {
	time.Sleep(time.Hour)
	if fault == restricted {
		r.options.Restrict(r.world, operation)
	} else {
		r.world.Front().SetFaults(sim.Fault{Kind: fault, Operation: operation, Times: sim.Always})
	}
	audit, _, err := r.deleteOrphans(r.ctx)
	if err != nil {
		return err
	}
	unlisted := map[string]bool{}
	for _, k := range audit.Report.Unlisted {
		unlisted[k.Name] = true
		if denied := cloudapi.Is(k.Err, cloudapi.Denied); denied != (fault != sim.FaultError) {
			return fmt.Errorf("%s is %s, and the error of %s is %w", operation, fault, k.Name, k.Err)
		}
	}
	want := sets.New(r.options.Lists[operation]...)
	if diff := cmp.Diff(sets.List(want), sets.List(sets.KeySet(unlisted))); diff != "" {
		return fmt.Errorf("kinds that cannot be listed without %s (-want +got):\n%s", operation, diff)
	}
	needs := map[string][]string{}
	for _, k := range audit.Inventory.Kinds {
		needs[k.Name] = append([]string{k.Name}, k.Needs...)
	}
	for _, e := range audit.Report.Entries {
		if e.State == inventory.Orphaned && slices.ContainsFunc(needs[e.Kind], func(k string) bool { return unlisted[k] }) {
			return fmt.Errorf("%s fails, and %s %s is reported as an orphan", operation, e.Kind, e.Name)
		}
	}
	if err := r.verifyIntact(); err != nil {
		return err
	}
	if fault == restricted {
		r.options.Restrict(r.world, "")
	}
	r.world.Front().SetFaults()
	return r.deleteRemaining()
}

// deleteKilled kills the process at its n-th mutating call. It returns false if there are fewer.
func (r *rig) deleteKilled(kind sim.FaultKind, n int) (bool, error) {
	time.Sleep(time.Hour)
	front := r.world.Front()
	ctx, kill := context.WithCancel(r.ctx)
	defer kill()
	front.OnKill(kill)
	audit, err := r.audit(ctx)
	if err != nil {
		return false, err
	}
	front.SetFaults(sim.Fault{Kind: kind, Mutating: true, Call: n})
	for _, removal := range audit.Removals(ctx) {
		removal.Apply(ctx)
	}
	killed := front.Injected() > 0
	front.SetFaults()
	if !killed {
		return false, r.deleteRemaining()
	}
	front.Revive()
	time.Sleep(10 * time.Minute) // the calls of the killed process end
	return true, errors.Join(r.verifyIntact(), r.deleteRemaining())
}

func describeEntries(entries []inventory.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s: %s %s (%s) of %q: %s%s\n", e.State, e.Kind, e.Name, e.ID, e.Service(), e.Reason,
			strings.TrimRight("; "+e.Refusal, "; "))
	}
	return b.String()
}
