// Package events limits Events to what is new, and to the length that the Kubernetes API accepts.
package events

import (
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/lru"
)

const (
	// maxEntries bounds the memory of a Deduplicator. An evicted entry only costs repeated Events.
	maxEntries = 8192
	// MaxMessage is the longest message of an Event that the Kubernetes API accepts, in bytes.
	MaxMessage = 1024
)

// Message is the reason and text of an Event.
type Message struct {
	Reason Reason
	Text   string
}

// Deduplicator remembers the messages that were last sent about objects. It is safe for concurrent use.
type Deduplicator struct {
	mu   sync.Mutex
	sent *lru.Cache // of topic to []Message
}

type topic struct{ object, source string }

// NewDeduplicator returns a Deduplicator that remembers nothing.
func NewDeduplicator() *Deduplicator { return &Deduplicator{sent: lru.New(maxEntries)} }

// FilterNew returns the current messages from one source about one object that the previous call did not include. A
// message is therefore sent once, and again after a call without it.
func (d *Deduplicator) FilterNew(object, source string, current []Message) []Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := topic{object, source}
	var previous []Message
	if value, ok := d.sent.Get(key); ok {
		previous, _ = value.([]Message)
	}
	if len(current) == 0 {
		d.sent.Remove(key)
		return nil
	}
	d.sent.Add(key, current)
	return slices.DeleteFunc(slices.Clone(current), func(m Message) bool { return slices.Contains(previous, m) })
}

// Forget forgets the messages from these sources about an object.
func (d *Deduplicator) Forget(object string, sources ...string) {
	for _, source := range sources {
		d.FilterNew(object, source, nil)
	}
}

// Shorten cuts a message to MaxMessage bytes, at the end of a character.
func Shorten(message string) string {
	const suffix = "… (more in the log)"
	if len(message) <= MaxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:MaxMessage-len(suffix)], "") + suffix
}

// Recorder sends Events, as record.EventRecorder does.
type Recorder interface {
	Event(object runtime.Object, kind, reason, message string)
}

// Send sends an Event of the type that its reason has.
func Send(r Recorder, object runtime.Object, reason Reason, message string) {
	for _, d := range definitions {
		if d.Reason == reason {
			r.Event(object, d.Type, reason.name, Shorten(message))
			return
		}
	}
}

// SendNormal sends a normal Event with a reason that is a warning in other cases.
func SendNormal(r Recorder, object runtime.Object, reason Reason, message string) {
	r.Event(object, v1.EventTypeNormal, reason.name, Shorten(message))
}
