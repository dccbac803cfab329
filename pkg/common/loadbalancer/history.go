package loadbalancer

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/digests"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

const (
	// ConditionHistory is the condition of a Service whose message is its encoded history. It is part of the status,
	// where it starts no second sync, is not copied or removed with manifests, and cannot be written with the role edit.
	ConditionHistory = "unified-ccm.io/LoadBalancerHistory"
	historyReason    = "Recorded"
	// maxHistory is the length limit of an encoded history: half of what the message of a condition may have.
	maxHistory = 16 << 10
	// plainHistory is the length above which a history is compressed.
	plainHistory = 2 << 10
	// gzipPrefix begins a compressed history.
	gzipPrefix = "gzip:"
)

// history is what this manager knows about the earlier inputs of a Service: why a disruptive difference may be applied.
type history struct {
	// UID is that of the Service. A history of another one is ignored.
	UID types.UID `json:"uid"`
	// Sequence counts the changes of a history: of two, the one with the higher sequence counts.
	Sequence int64 `json:"sequence"`
	// Seen is when the inputs were seen first.
	Seen metav1.Time `json:"seen"`
	// Inputs are those that this manager saw last, while the Service was valid; nil if they are too long to be stored.
	Inputs intent.Inputs `json:"inputs,omitempty"`
	// Digest is the digest of Inputs.
	Digest string `json:"digest"`
	// Keys are the hashes of the annotations that the release read which wrote the history. Other annotations count
	// as unchanged.
	Keys string `json:"keys"`
	// Caused are the disruptive differences with a cause in an edit that are not applied yet.
	Caused []digests.Cause `json:"caused,omitempty"`
	// Wanted is the digest of the wanted state while changes are held, and Held are those of the held differences: all
	// else in that state was applied, or found as it is wanted, so that another difference from it is drift. The applied
	// record of the load balancer has no such state. On a cloud whose load balancers store no record, Wanted is always
	// set once this manager has changed more than members.
	Wanted string   `json:"wanted,omitempty"`
	Held   []string `json:"held,omitempty"`
	// SeenOnly are the places of differences that disrupt nothing, and that this manager has seen and never applied.
	SeenOnly []string `json:"seenOnly,omitempty"`
	// Approvals counts the approvals that were used. It is part of the IDs of held changes, so that none is used twice.
	Approvals int `json:"approvals,omitempty"`
	// Approved is set while approved changes are applied: after an interruption the approval still covers what is left of
	// them, and counts as used once they are applied.
	Approved bool `json:"approved,omitempty"`
	// LeadingSince is the one of the manager that has seen the Service last.
	LeadingSince string `json:"leadingSince,omitempty"`
	// Created is set for a Service without an address when it was seen first: this manager makes its load balancer, also
	// if it is interrupted. It ends when another manager leads.
	Created bool `json:"created,omitempty"`
	// Unfinished is set while an edit is not applied completely: the applied record of the load balancer may be wrong.
	Unfinished bool `json:"unfinished,omitempty"`
	// Unproven is set after another manager has led, until nothing differs, or what differs is in Held: until then, the
	// applied record of the load balancer does not show which values this manager applied last.
	Unproven bool `json:"unproven,omitempty"`

	// applying is set while a plan is not applied completely, unstored while the status of the Service lacks the history.
	// Neither is stored.
	applying, unstored bool
}

// withCaused returns the history with the causes of a plan, and with those before of other places: a change that is not
// finished may hide their differences.
func (h history) withCaused(causes []plan.Cause, before []digests.Cause) history {
	h.Caused = nil
	places := sets.New[string]()
	for _, cause := range causes {
		c := digests.NewCause(cause)
		h.Caused = append(h.Caused, c)
		places.Insert(c.Place)
	}
	for _, c := range before {
		if !places.Has(c.Place) && len(h.Caused) < maxHeld {
			h.Caused = append(h.Caused, c)
		}
	}
	return h
}

// left returns the causes of differences that are held or that hide behind those, once changes are applied. What was
// started may be finished with any value, so that its cause ends as soon as it is not held.
func (h history) left(applied []plan.Change, held []plan.HeldChange) (left []digests.Cause) {
	if len(held) == 0 {
		return nil
	}
	places := func(p plan.Plan) sets.Set[string] {
		all := sets.New[string]()
		for _, d := range p.Differences() {
			place, _ := digests.Of(d)
			all.Insert(place)
		}
		return all
	}
	done, kept := places(plan.Plan{Changes: applied}), places(plan.Plan{Held: held})
	return slices.DeleteFunc(slices.Clone(h.Caused), func(c digests.Cause) bool {
		return !kept.Has(c.Place) && (c.Started || done.Has(c.Place))
	})
}

// maxHeld is the maximum number of held differences in a history. With more, nothing else counts as drift.
const maxHeld = 128

// withHeld returns the history with the held differences of a plan for a wanted state; empty if that is unknown.
func (h history) withHeld(wanted string, held []plan.HeldChange) history {
	h.Wanted, h.Held = "", nil
	if wanted == "" {
		return h
	}
	digests := sets.New[string]()
	for _, change := range held {
		for _, d := range change.Differences() {
			digests.Insert(heldDigest(d))
		}
	}
	if digests.Len() <= maxHeld {
		h.Wanted, h.Held = wanted, sets.List(digests)
	}
	return h
}

// drifts reports whether a difference from a wanted state is drift, because it was not held in that state.
func (h history) drifts(d plan.Difference, wanted string) bool {
	return wanted != "" && h.Wanted == wanted && !slices.Contains(h.Held, heldDigest(d))
}

// heldDigest returns the digest of a held difference.
func heldDigest(d plan.Difference) string {
	place, wanted := digests.Of(d)
	return place + wanted
}

// newHistory returns the history of a Service that is seen first.
func newHistory(service *v1.Service, vocabulary intent.Vocabulary, now time.Time) history {
	return history{UID: service.UID}.withInputs(intent.InputsOf(service, vocabulary), vocabulary, now)
}

// withInputs returns the history with other inputs.
func (h history) withInputs(in intent.Inputs, vocabulary intent.Vocabulary, now time.Time) history {
	h.Inputs, h.Digest, h.Keys = in, applied.Digest(in), hashKeys(vocabulary)
	h.Seen = metav1.NewTime(now.UTC().Truncate(time.Second))
	return h
}

// lastInputs returns the last inputs as a Service with the present ones is compared with them: annotations that were
// not read then are unchanged. It reports false if the last inputs are unknown.
func (h history) lastInputs(present intent.Inputs, vocabulary intent.Vocabulary) (intent.Inputs, bool) {
	if h.Digest == applied.Digest(present) {
		return present, true
	}
	if h.Inputs == nil {
		return nil, false
	}
	if h.Keys == hashKeys(vocabulary) {
		return h.Inputs, true
	}
	var unread []string
	for name := range present {
		if !strings.HasPrefix(name, "spec.") && !hasKey(h.Keys, name) {
			unread = append(unread, name)
		}
	}
	return h.Inputs.With(present, unread), true
}

// keyHashLength is the length of the encoded hash of a key.
var keyHashLength = applied.Encoding.EncodedLen(len(applied.NameHash{}))

// hashKeys returns the hashes of the annotations that a vocabulary reads.
func hashKeys(vocabulary intent.Vocabulary) string {
	var text strings.Builder
	for _, key := range vocabulary.Inputs() {
		hash := applied.HashName(key)
		text.WriteString(applied.Encoding.EncodeToString(hash[:]))
	}
	return text.String()
}

// hasKey reports whether hashes of keys have a key.
func hasKey(hashes, key string) bool {
	hash := applied.HashName(key)
	want := applied.Encoding.EncodeToString(hash[:])
	for ; len(hashes) >= keyHashLength; hashes = hashes[keyHashLength:] {
		if hashes[:keyHashLength] == want {
			return true
		}
	}
	return false
}

// errHistoryTooLong is the error about a history with too many causes, which has no text.
var errHistoryTooLong = errors.New("the Service has more disruptive changes at once than its history can have: " +
	"change fewer ports at a time")

// encode returns the text of a history. Inputs that are too long are left out. The text of one that is still too long
// is empty.
func (h history) encode() string {
	text, err := json.Marshal(h)
	if err != nil {
		return ""
	}
	if len(text) <= plainHistory {
		return string(text)
	}
	if encoded := gzipPrefix + applied.Compress(text); len(encoded) <= maxHistory {
		return encoded
	}
	if h.Inputs == nil {
		return ""
	}
	h.Inputs = nil
	return h.encode()
}

// parseHistory returns the history of a text, and false for none.
func parseHistory(text string) (history, bool) {
	var h history
	if compressed, ok := strings.CutPrefix(text, gzipPrefix); ok {
		plain, err := applied.Decompress(compressed)
		if err != nil {
			return h, false
		}
		text = string(plain)
	}
	err := json.Unmarshal([]byte(text), &h)
	return h, err == nil && h.UID != "" && h.Digest != ""
}

// storedHistory returns the history in the status of a Service.
func storedHistory(service *v1.Service) (history, bool) {
	condition := meta.FindStatusCondition(service.Status.Conditions, ConditionHistory)
	if condition == nil {
		return history{}, false
	}
	h, ok := parseHistory(condition.Message)
	return h, ok && h.UID == service.UID
}
