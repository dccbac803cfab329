package instances

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// lackingAge is how long the list of all instances is not read again for an instance that it lacked: the provider ID of
// one Node may name none, and each sync of each Service asks for all of them.
const lackingAge = time.Minute

// lacking are the instances that lists lacked. It is safe for concurrent use.
type lacking struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	byID map[string]lack
}

// lack is when an instance was absent, and whether its zone did not answer.
type lack struct {
	at     time.Time
	silent bool
}

func newLacking(c clock.PassiveClock) *lacking { return &lacking{clock: c, byID: map[string]lack{}} }

// record notes which of the wanted instances a list of all lacks.
func (l *lacking) record(wanted []string, found []api.Instance, silent []string) {
	has := map[string]bool{}
	for _, i := range found {
		has[names.InstanceID(api.Last(i.Zone), i.Name)] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, entry := range l.byID {
		if has[id] || l.clock.Since(entry.at) >= lackingAge {
			delete(l.byID, id)
		}
	}
	for _, id := range wanted {
		if zone, _ := names.SplitInstanceID(id); !has[id] {
			l.byID[id] = lack{l.clock.Now(), slices.Contains(silent, zone)}
		}
	}
}

// of reports whether a list has just lacked an instance, and whether its zone did not answer.
func (l *lacking) of(id string) (lacks, silent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry, ok := l.byID[id]
	if !ok || l.clock.Since(entry.at) >= lackingAge {
		return false, false
	}
	return true, entry.silent
}
