package intent

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Vocabulary lists the annotations that one cloud reads. It only affects warnings and refusals, never the
// meaning of a value.
type Vocabulary struct {
	// Provider is the cloud's name, for messages.
	Provider string
	// Portable are the keys of the portable annotations that the cloud supports. Values under other portable
	// keys are not read.
	Portable []string
	// Own are the keys of the provider's own Service annotations.
	Own []string
	// Written are those of Own that the manager itself writes. They are not part of Service.Fields.
	Written []string
	// OwnPrefixes are the prefixes of Own. A key with such a prefix that is not in Own is reported as a probable
	// typo.
	OwnPrefixes []string
	// ForeignPrefixes are the prefixes of Service annotations of other clouds, each with the cloud's name.
	ForeignPrefixes map[string]string
	// Advice maps annotations that users expect to work here, and that don't, to instructions. It takes
	// precedence over the prefixes.
	Advice map[string]string
	// SCTP reports whether the cloud's load balancers forward SCTP.
	SCTP bool
	// NodePorts are what node ports are for the cloud's load balancers.
	NodePorts NodePorts
}

// NodePorts are what node ports are for the load balancers of a cloud.
type NodePorts int

const (
	// NodePortsNeeded means that there is no traffic without them.
	NodePortsNeeded NodePorts = iota
	// NodePortsOptional means the same, but other managers of the cloud accept Services with ports that have none, so
	// that such Services have load balancers.
	NodePortsOptional
	// NodePortsUnused means that load balancers leave the destination of packets as it is, so that nodes get them at the
	// ports of the Service.
	NodePortsUnused
)

// Reason classifies warnings; each becomes an Event reason of its own.
type Reason string

// The closed set of reasons.
const (
	// Unsupported: the setting is portable, or another cloud's, and this cloud doesn't support it.
	Unsupported Reason = "unsupported"
	// UnknownKey: the annotation does not exist; most likely a typo.
	UnknownKey Reason = "unknown"
	// Ignored: the setting is known and valid, and something else in the Service overrides it.
	Ignored Reason = "ignored"
)

// Warning is a message for the author of a Service that does not block reconciliation.
type Warning struct {
	Reason Reason
	// Field is the annotation's key or the field's path.
	Field string
	// Message is the whole text, which names the key, the value if relevant, and the fix.
	Message string
}

// reader carries one Read through its steps.
type reader struct {
	svc        *v1.Service
	vocabulary Vocabulary
	out        Service
	problems   Problems
	warnings   []Warning
	// unlisted counts the warnings after maxMessages.
	unlisted int
}

func (r *reader) warn(reason Reason, field, message string) {
	if len(r.warnings) == maxMessages {
		r.unlisted++
		return
	}
	r.warnings = append(r.warnings, Warning{Reason: reason, Field: field, Message: field + ": " + message})
}

// allWarnings returns the first warnings, and how many more there are.
func (r *reader) allWarnings() []Warning {
	if r.unlisted == 0 {
		return r.warnings
	}
	text := more(r.unlisted) + " settings of the Service without effect"
	return append(r.warnings, Warning{Reason: Ignored, Message: text})
}

// isSet reports whether a portable annotation is present and supported.
func (r *reader) isSet(key string) bool {
	_, ok := r.svc.Annotations[key]
	return ok && r.supports(key)
}

func (r *reader) supports(key string) bool { return slices.Contains(r.vocabulary.Portable, key) }

// recordSource records that a portable setting was written as a field or as another annotation.
func (r *reader) recordSource(key, field string) {
	if r.out.Sources == nil {
		r.out.Sources = Sources{}
	}
	r.out.Sources[key] = field
}

func (r *reader) warnUnsupported(field string) {
	r.warn(Unsupported, field, "the cloud "+r.vocabulary.Provider+" does not support it, so it has no effect; remove it")
}
