package guard

import (
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
)

// recorder sends Events. It drops them until setRecorder is called.
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

// sendNode sends an Event about a node.
func (r *recorder) sendNode(node *v1.Node, reason events.Reason, text string) {
	events.Send(r.get(), node, reason, text)
}

// sendNodeOnce sends an Event about a node unless it was the last one for that reason.
func (r *recorder) sendNodeOnce(node *v1.Node, reason events.Reason, text string) {
	if r.isNew(string(identity(node)), reason, text) {
		r.sendNode(node, reason, text)
	}
}

// sendServiceOnce sends an Event about a Service unless it was the last one for that reason. It reports whether
// it did.
func (r *recorder) sendServiceOnce(service *v1.Service, reason events.Reason, text string) bool {
	object := service.Namespace + "/" + service.Name + "/" + string(service.UID)
	if !r.isNew(object, reason, text) {
		return false
	}
	events.Send(r.get(), service, reason, text)
	return true
}

func (r *recorder) isNew(object string, reason events.Reason, text string) bool {
	return len(r.sent.FilterNew(object, reason.String(), []events.Message{{Reason: reason, Text: text}})) > 0
}

// identity distinguishes successive nodes of the same name.
func identity(node *v1.Node) types.UID {
	if node.UID != "" {
		return node.UID
	}
	return types.UID(node.Name)
}
