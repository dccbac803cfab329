package guard

import (
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
)

// Reasons of the Events. Users filter and alert by them, so they can never change.
const (
	reasonDeletionSuppressed = "NodeDeletionSuppressed"
	reasonInstanceFound      = "InstanceFound"
	reasonNotOurs            = "NodeNotOurs"
	reasonDryRunPlan         = "DryRunPlan"
)

// recorder sends Events. It drops them until use is called.
type recorder struct {
	current atomic.Pointer[record.EventRecorder]
	sent    *events.Deduplicator
}

func newRecorder() *recorder {
	r := &recorder{sent: events.NewDeduplicator()}
	r.setRecorder(&record.FakeRecorder{}) // drops Events, because it has no channel
	return r
}

func (r *recorder) setRecorder(current record.EventRecorder) { r.current.Store(&current) }

func (r *recorder) get() record.EventRecorder { return *r.current.Load() }

// node sends an Event about a node.
func (r *recorder) node(node *v1.Node, kind, reason, text string) {
	r.get().Event(node, kind, reason, text)
}

// nodeOnce sends a normal Event about a node unless it was the last one for that reason.
func (r *recorder) nodeOnce(node *v1.Node, reason, text string) {
	if r.isNew(string(identity(node)), reason, text) {
		r.node(node, v1.EventTypeNormal, reason, text)
	}
}

// serviceOnce sends a normal Event about a Service unless it was the last one for that reason. It reports whether
// it did.
func (r *recorder) serviceOnce(service *v1.Service, reason, text string) bool {
	object := service.Namespace + "/" + service.Name + "/" + string(service.UID)
	if !r.isNew(object, reason, text) {
		return false
	}
	r.get().Event(service, v1.EventTypeNormal, reason, events.Shorten(text))
	return true
}

func (r *recorder) isNew(object, reason, text string) bool {
	return len(r.sent.New(object, reason, []events.Message{{Reason: reason, Text: text}})) > 0
}
