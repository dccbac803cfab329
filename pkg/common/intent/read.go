package intent

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Vocabulary is what one cloud understands. It only decides about warnings and refusals, never
// about the meaning of a value.
type Vocabulary struct {
	// Provider is the cloud's name, as used in messages.
	Provider string
	// Portable are the keys of the portable annotations that the cloud honours. A value under
	// another portable key is not read at all.
	Portable []string
	// Own are the keys of the provider's own Service annotations.
	Own []string
	// OwnPrefixes are how all of them begin. A key that has such a beginning and is not in Own is
	// taken for a slip.
	OwnPrefixes []string
	// Advice says what to do instead of annotations that people expect to work here and that don't,
	// by key; it wins over the prefixes.
	Advice map[string]string
	// SCTP says that the cloud's load balancers forward SCTP.
	SCTP bool
	// NoNodePorts says that the cloud reaches pods without node ports.
	NoNodePorts bool
}

// Reason sorts warnings; each becomes an Event reason of its own.
type Reason string

// The closed set of reasons.
const (
	// Unsupported: the setting is portable, or another cloud's, and this cloud doesn't honour it.
	Unsupported Reason = "unsupported"
	// UnknownKey: nobody knows the annotation; most likely a slip.
	UnknownKey Reason = "unknown"
	// Ignored: the setting is known and valid, and something else in the Service overrides it.
	Ignored Reason = "ignored"
)

// Warning is something that the owner of a Service should know and that stops nothing.
type Warning struct {
	Reason Reason
	// Where is the annotation's key or the field's path.
	Where string
	// Message is the whole text, which names the key, the value where it matters, and the fix.
	Message string
}

// Read turns a Service into what it asks of a cloud. It makes no call and changes nothing in svc.
//
// The error, of class cloudapi.Invalid, names every problem; warnings are returned in any case,
// in a stable order. The Service returned with an error holds what could be read: enough for
// Status texts, never to build something from.
func Read(svc *v1.Service, vocabulary Vocabulary) (Service, []Warning, error) {
	r := &reader{svc: svc, vocabulary: vocabulary}
	r.out = Service{
		Namespace:   svc.Namespace,
		Name:        svc.Name,
		UID:         svc.UID,
		Scheme:      Public,
		Annotations: maps.Clone(svc.Annotations),
	}
	r.spec()
	for _, o := range options {
		r.option(o)
	}
	r.sourceRanges()
	r.staticAddresses()
	r.healthCheck()
	r.strangers()
	return r.out, r.warnings, r.problems.Err(Subject(svc))
}

// Subject is how a Service is called in plans, Events and errors.
func Subject(svc *v1.Service) string { return "Service " + svc.Namespace + "/" + svc.Name }

// reader carries one Read through its steps.
type reader struct {
	svc        *v1.Service
	vocabulary Vocabulary
	out        Service
	problems   Problems
	warnings   []Warning
}

func (r *reader) warn(reason Reason, where, message string) {
	r.warnings = append(r.warnings, Warning{Reason: reason, Where: where, Message: where + ": " + message})
}

// set says whether a portable annotation is there and counts.
func (r *reader) set(key string) bool {
	_, ok := r.svc.Annotations[key]
	return ok && r.honours(key)
}

func (r *reader) honours(key string) bool { return slices.Contains(r.vocabulary.Portable, key) }

// option reads one annotation of the table that has a reader of its own.
func (r *reader) option(o option) {
	value, ok := r.svc.Annotations[o.doc.Key]
	if !ok {
		return
	}
	if !r.honours(o.doc.Key) {
		r.warn(Unsupported, o.doc.Key, "the cloud "+r.vocabulary.Provider+" does not support it, so it has no effect; remove it")
		return
	}
	value = strings.TrimSpace(value)
	if value == "" {
		// An empty value is what a template leaves behind. Reading it as "not set" would turn a
		// forgotten list of source ranges into an open door.
		r.problems.Addf(o.doc.Key, "", "the value is empty: write for example %s, or remove the annotation", o.doc.Example)
		return
	}
	if err := o.read(&r.out, value); err != nil {
		r.problems.Add(o.doc.Key, value, err.Error())
	}
}
