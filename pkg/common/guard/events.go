package guard

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/lru"
)

// Reasons of the Events. People filter and alert by them, so they can never change.
const (
	reasonDeletionSuppressed = "NodeDeletionSuppressed"
	reasonInstanceFound      = "InstanceFound"
	reasonNotOurs            = "NodeNotOurs"
	reasonDryRunPlan         = "DryRunPlan"
)

const (
	// maxRemembered bounds the memory of what was last said about an object. Forgetting only
	// costs a repeated Event.
	maxRemembered = 8192
	// maxEventMessage is what the Kubernetes API takes as the message of an Event.
	maxEventMessage = 1024
)

// events sends Events, each text about an object once until it changes. Until use is called they
// go nowhere.
type events struct {
	mu       sync.RWMutex
	recorder record.EventRecorder
	said     *lru.Cache // of eventKey to the last text
}

type eventKey struct {
	uid    types.UID
	reason string
}

func newEvents() *events {
	// A FakeRecorder without a channel drops what it is given.
	return &events{recorder: &record.FakeRecorder{}, said: lru.New(maxRemembered)}
}

func (e *events) use(recorder record.EventRecorder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recorder = recorder
}

func (e *events) get() record.EventRecorder {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.recorder
}

// node sends an Event about a node.
func (e *events) node(node *v1.Node, kind, reason, text string) {
	e.get().Event(node, kind, reason, text)
}

// nodeOnce sends a normal Event about a node unless it was the last thing said for that reason.
func (e *events) nodeOnce(node *v1.Node, reason, text string) {
	if e.isNews(identity(node), reason, text) {
		e.node(node, v1.EventTypeNormal, reason, text)
	}
}

// serviceOnce does the same for a Service. It says whether the text was news.
func (e *events) serviceOnce(service *v1.Service, reason, text string) bool {
	uid := service.UID
	if uid == "" {
		uid = types.UID(service.Namespace + "/" + service.Name)
	}
	if !e.isNews(uid, reason, text) {
		return false
	}
	e.get().Event(service, v1.EventTypeNormal, reason, shorten(text))
	return true
}

func (e *events) isNews(uid types.UID, reason, text string) bool {
	key := eventKey{uid, reason}
	e.mu.Lock()
	defer e.mu.Unlock()
	if last, ok := e.said.Get(key); ok && last == text {
		return false
	}
	e.said.Add(key, text)
	return true
}

// shorten cuts a text to what an Event can carry, at the end of a character.
func shorten(text string) string {
	const more = "… (more in the log)"
	if len(text) <= maxEventMessage {
		return text
	}
	cut := maxEventMessage - len(more)
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + more
}
