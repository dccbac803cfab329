package guard

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// suppression is the reason for keeping a node although the cloud reports that its instance does not exist. The
// set is closed, because it is a metric label.
type suppression string

const (
	confirming suppression = "confirming"
	grace      suppression = "grace"
	wrongCloud suppression = "wrong-cloud"
	limit      suppression = "limit"
	dryRun     suppression = "dry-run"
)

// forgetAfter is the time after which an absence that was not observed again expires. The framework checks a
// NotReady node every few seconds, so a longer gap means that the node was Ready in between, or was deleted: the
// next absence then counts as a new one.
const forgetAfter = 5 * time.Minute

// deletions decides which absences become deletions. It only remembers nodes without an instance at the last check.
type deletions struct {
	provider string
	options  Options

	mu      sync.Mutex
	absent  map[types.UID]*absence
	sweptAt time.Time
}

// absence records since when the instance of one node has not been found.
type absence struct {
	first, last time.Time
	kept        suppression // "" once the deletion was allowed
	allowed     bool
}

// verdict is the decision about one absence.
type verdict struct {
	// kept is the reason for keeping the node; "" means that it may be deleted.
	kept suppression
	// changed reports whether the verdict differs from the last one about the node.
	changed bool
	// detail explains kept to users, and names the flag that changes it.
	detail string
}

func newDeletions(provider string, o Options) *deletions {
	return &deletions{provider: provider, options: o, absent: map[types.UID]*absence{}}
}

// recordFound records that the node's instance exists. It reports whether the instance was absent before.
func (d *deletions) recordFound(uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, wasAbsent := d.absent[uid]
	delete(d.absent, uid)
	return wasAbsent
}

// missingSince returns when the instance of a node was first not found, and whether it was not found at the last check.
func (d *deletions) missingSince(uid types.UID) (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.absent[uid]; a != nil && d.options.Clock.Since(a.last) <= d.retention() {
		return a.first, true
	}
	return time.Time{}, false
}

// acceptFirst reports whether the first answer that an instance does not exist may delete a node.
func (d *deletions) acceptFirst() bool { return d.options.Confirmation <= 0 }

// isKept reports whether the node is being kept although its instance was last found absent.
func (d *deletions) isKept(uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.absent[uid]
	return ok && a.kept != ""
}

// recordMissing records an authoritative answer that the node's instance does not exist, and decides about the node.
// peers are Ready nodes whose instances the cloud does not find either; they are not read for the first of two answers.
func (d *deletions) recordMissing(uid types.UID, owner provider.Ownership, peers []string) verdict {
	now := d.options.Clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweepLocked(now)
	a := d.absent[uid]
	isNew := a == nil || now.Sub(a.last) > d.retention()
	if isNew {
		a = &absence{first: now}
		d.absent[uid] = a
	}
	a.last = now
	v := d.decideLocked(a, owner, peers, now)
	v.changed = isNew || a.kept != v.kept
	a.kept = v.kept
	a.allowed = a.allowed || v.kept == ""
	return v
}

func (d *deletions) decideLocked(a *absence, owner provider.Ownership, peers []string, now time.Time) verdict {
	o := d.options
	since := now.Sub(a.first)
	switch {
	case a.allowed:
		// The framework checks again after a failed deletion, which still counts as one.
		return verdict{}
	case owner == provider.Unknown && o.NotFoundGrace < 0:
		return verdict{kept: grace, detail: fmt.Sprintf("nodes without a provider ID are never deleted (--%s=%s)",
			flagNotFoundGrace, o.NotFoundGrace)}
	case owner == provider.Unknown && since < o.NotFoundGrace:
		return verdict{kept: grace, detail: fmt.Sprintf("it has no provider ID, so it is kept for %s after its instance "+
			"was first not found (--%s)", o.NotFoundGrace, flagNotFoundGrace)}
	case o.Confirmation > 0 && since < o.Confirmation:
		return verdict{kept: confirming, detail: fmt.Sprintf("waiting for a second such answer at least %s after the first "+
			"(--%s)", o.Confirmation, flagConfirmation)}
	case len(peers) > 0:
		return verdict{kept: wrongCloud, detail: fmt.Sprintf("the cloud does not find the instances of Ready nodes either "+
			"(%s): check project, region and account in the cloud configuration", strings.Join(peers, ", "))}
	case o.DryRun:
		return verdict{kept: dryRun, detail: "this is a dry run; without --dry-run it would be deleted now"}
	}
	if deleted, ok := o.Budget.take(d.provider, now, o.DeletionInterval, o.MaxDeletions); !ok {
		return verdict{kept: limit, detail: fmt.Sprintf("%d nodes were deleted within %s, which is the limit (--%s, --%s); "+
			"if so many machines were not meant to be deleted, check the project and region in the cloud configuration",
			deleted, o.DeletionInterval, flagMaxDeletions, flagDeletionInterval)}
	}
	return verdict{}
}

// sweepLocked removes expired absences.
func (d *deletions) sweepLocked(now time.Time) {
	retention := d.retention()
	if now.Sub(d.sweptAt) < retention/10 {
		return
	}
	d.sweptAt = now
	for uid, a := range d.absent {
		if now.Sub(a.last) > retention {
			delete(d.absent, uid)
		}
	}
}

// retention returns the time after which an absence that was not observed again expires.
func (d *deletions) retention() time.Duration { return max(forgetAfter, 2*d.options.Confirmation) }
