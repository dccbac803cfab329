package assign

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
)

// recorder sends Events. It drops them until set is called.
type recorder struct {
	current *recorderState
	sent    *events.Deduplicator
}

type recorderState struct {
	mu    sync.Mutex
	inner events.Recorder
}

func newRecorder() recorder { return recorder{&recorderState{}, events.NewDeduplicator()} }

func (r recorder) set(inner events.Recorder) {
	r.current.mu.Lock()
	defer r.current.mu.Unlock()
	r.current.inner = inner
}

// sendOnce sends an Event about an object unless it was the last one for that reason.
func (r recorder) sendOnce(object runtime.Object, reason events.Reason, text string) {
	r.current.mu.Lock()
	inner := r.current.inner
	r.current.mu.Unlock()
	accessor, err := meta.Accessor(object)
	if inner == nil || err != nil {
		return
	}
	current := []events.Message{{Reason: reason, Text: text}}
	if len(r.sent.FilterNew(string(accessor.GetUID()), reason.String(), current)) > 0 {
		events.Send(inner, object, reason, text)
	}
}

// forget makes the next Event of a reason a new one.
func (r recorder) forget(object runtime.Object, reason events.Reason) {
	if accessor, err := meta.Accessor(object); err == nil {
		r.sent.Forget(string(accessor.GetUID()), reason.String())
	}
}
