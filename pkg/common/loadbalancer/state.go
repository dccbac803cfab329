package loadbalancer

import (
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// serviceState is what this process knows about one Service. A sync after a restart needs none of it.
type serviceState struct {
	// missing is set if an Update found the load balancer to be deleted; see reportMissing.
	missing bool
	// ensured is the Service of the last Ensure, because Update may get an older one; see latestService.
	ensured *v1.Service
	// valid has the settings at the last successful Ensure; see lastValidSettings.
	valid *intent.Service
	// history is what is known about earlier inputs.
	history *history
	// problems has the messages of the conditions that this process has set last, by type.
	problems map[string]string
	// finalizers are those that this process has set and removed last: whether the Service has each.
	finalizers map[string]bool
	// approved is the approval of applied changes that is still to be removed.
	approved string
}

// compare forgets what is known about a Service if this one is older than that of the last Ensure: its cluster was
// restored, so that the history in its status counts, and not that of what was done since. Versions that cannot be
// compared, and those of a cluster that was restored with higher ones, do not show it: the next manager reads the
// history.
func (s *serviceState) compare(service *v1.Service) {
	if s.ensured != nil {
		order, err := resourceversion.CompareResourceVersion(service.ResourceVersion, s.ensured.ResourceVersion)
		if err == nil && order < 0 {
			*s = serviceState{}
		}
	}
}

// states has the state of each Service, by UID. It is safe for concurrent use: calls for one Service are serialized but
// for GetLoadBalancer.
type states struct {
	mu    sync.Mutex
	byUID map[types.UID]serviceState
}

// of returns the state of a Service; the zero one if nothing is known.
func (s *states) of(uid types.UID) serviceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byUID[uid]
}

// update changes the state of a Service.
func (s *states) update(uid types.UID, change func(*serviceState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byUID == nil {
		s.byUID = map[types.UID]serviceState{}
	}
	state := s.byUID[uid]
	change(&state)
	s.byUID[uid] = state
}

// takeMissing reports whether the load balancer of a Service was found to be deleted, once.
func (s *states) takeMissing(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, known := s.byUID[uid]
	missing := state.missing
	if state.missing = false; known {
		s.byUID[uid] = state
	}
	return missing
}

// setProblem stores the message of a condition that was set.
func (s *states) setProblem(uid types.UID, conditionType, message string) {
	s.update(uid, func(state *serviceState) {
		problems := maps.Clone(state.problems) // readers have the other map
		if problems == nil {
			problems = map[string]string{}
		}
		problems[conditionType] = message
		state.problems = problems
	})
}

// setHistory stores a history.
func (s *states) setHistory(uid types.UID, h history) {
	s.update(uid, func(state *serviceState) { state.history = &h })
}

// setApproved stores the approval of applied changes that is still to be removed; "" for none.
func (s *states) setApproved(uid types.UID, id string) {
	s.update(uid, func(state *serviceState) { state.approved = id })
}

// forget removes the state of a Service.
func (s *states) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byUID, uid)
}

// dueRecords are the updates that wait for WriteRecords, by lockName.
type dueRecords struct {
	mu      sync.Mutex
	updates map[string]RecordUpdate[any]
	// changed is when an update was last added.
	changed time.Time
}

func (r *dueRecords) add(update RecordUpdate[any], now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.updates == nil {
		r.updates = map[string]RecordUpdate[any]{}
	}
	r.updates[lockName(update.Key)] = update
	r.changed = now
}

func (r *dueRecords) remove(name string) (RecordUpdate[any], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	update, ok := r.updates[name]
	delete(r.updates, name)
	return update, ok
}

func (r *dueRecords) names() (names []string, changed time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.updates)), r.changed
}
