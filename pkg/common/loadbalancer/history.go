package loadbalancer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

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

// knownHistory returns the newest history of a Service: that of this process, or the stored one.
func (c *Controller) knownHistory(service *v1.Service) (history, bool) {
	stored, isStored := storedHistory(service)
	if h := c.states.of(service.UID).history; h != nil && (!isStored || h.Sequence >= stored.Sequence) {
		return *h, true
	}
	return stored, isStored
}

// rememberFirst makes the inputs of a Service without a history its first ones, before they are validated: a correction
// is then an edit. It does so with each Service that was last seen before another manager has led.
func (c *Controller) rememberFirst(ctx context.Context, service *v1.Service) {
	before, known := c.knownHistory(service)
	since := before.LeadingSince
	if r := c.runtime.Load(); r != nil && r.LeadingSince != "" {
		since = r.LeadingSince
	}
	if known && before.LeadingSince == since {
		return
	}
	h := newHistory(service, c.options.Vocabulary, c.options.Clock.Now())
	h.Created = len(service.Status.LoadBalancer.Ingress) == 0
	if known {
		h = before.withInputs(h.Inputs, c.options.Vocabulary, before.Seen.Time).withHeld("", nil)
		h.Unproven, h.Created = true, false
	}
	h.LeadingSince = since
	if err := c.storeChanged(ctx, service, before, h); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to store the inputs of a Service in its status, retrying at its next sync",
			"service", klog.KObj(service))
	}
}

// beginPlan stores, before a plan is applied, the inputs of the Service and the differences that have a cause, so that
// these are finished after an interruption. An error means that no disruptive change may begin.
func (c *Controller) beginPlan(ctx context.Context, t target, have any, p plan.Plan) error {
	before, _ := c.knownHistory(t.service)
	h := before
	present := intent.InputsOf(t.service, c.options.Vocabulary)
	if last, ok := before.lastInputs(present, c.options.Vocabulary); ok && len(p.Unapplied) > 0 {
		present = present.With(last, p.Unapplied)
	}
	if h.Digest != applied.Digest(present) {
		h = h.withInputs(present, c.options.Vocabulary, c.options.Clock.Now())
		h.Unfinished = h.Unfinished || !p.Empty()
	} else if h.Inputs == nil {
		h.Inputs = present // They are too long to be stored. This process still knows them at the next edit.
	}
	h = h.withSeen(p.Held, c.seenOnly(t, have))
	h.Approved = h.Approved || p.Approval != ""
	h.UID, h.applying = t.service.UID, !p.Empty()
	h = h.withCaused(p.Caused, before.Caused)
	if err := c.storeChanged(ctx, t.service, before, h); err != nil {
		if slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Disrupts.Severe() }) {
			c.states.setHistory(t.service.UID, before) // nothing has started
			return fmt.Errorf("storing the causes of disruptive changes in the status of %s: %w", t.key.Subject(), err)
		}
		klog.FromContext(ctx).Error(err, "Failed to store the inputs of a Service in its status, retrying at its next sync",
			"service", klog.KObj(t.service))
	}
	return nil
}

// appliedState returns the digest of the wanted state to which a plan leads, but for what it holds; empty if it is
// unknown, or if the load balancer has only been taken over so far.
func (c *Controller) appliedState(t target, have any, p plan.Plan) string {
	if c.records == nil || t.want == nil {
		return ""
	}
	if stored, _ := c.records.StoredRecord(t.key, have); stored.IsZero() && p.Empty() {
		return ""
	}
	return c.records.DesiredRecord(*t.want).State
}

// endPlan stores, after a plan was applied, that its differences need no cause any more: only those that it does not
// apply stay. Have are the objects after it, and held the changes that are held then: a held value may have moved to a
// new object.
func (c *Controller) endPlan(ctx context.Context, t target, have any, p plan.Plan, held []plan.HeldChange) {
	before, _ := c.knownHistory(t.service)
	h := c.withApplied(t, have, p, held, before).withSeen(held, c.seenOnly(t, have))
	h.applying, h.Unfinished = false, false
	h.Unproven = before.Unproven && len(held) > 0
	h.Caused = before.left(p.Changes, held)
	if h.Approved {
		h.Approvals, h.Approved = h.Approvals+1, false
	}
	if err := c.storeChanged(ctx, t.service, before, h); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to store in the status of a Service that its changes are applied, retrying "+
			"at its next sync", "service", klog.KObj(t.service))
	}
}

// withApplied returns a history with the wanted state that a plan has applied, if the load balancer does not store it.
func (c *Controller) withApplied(t target, have any, p plan.Plan, held []plan.HeldChange, before history) history {
	state := c.appliedState(t, have, p)
	if len(held) > 0 {
		return before.withHeld(state, held)
	}
	if c.records == nil || t.want == nil {
		return before.withHeld("", nil)
	}
	if _, writable := c.records.StoredRecord(t.key, have); writable {
		return before.withHeld("", nil)
	}
	if membersOnly(p) {
		// The load balancer may have been taken over, unless this is the rest of an interrupted plan.
		state = ""
		if before.Wanted != "" || before.Unfinished || before.Created {
			state = c.records.DesiredRecord(*t.want).State
		}
	}
	return before.withHeld(state, nil)
}

// storeChanged stores a history that differs from the one before.
func (c *Controller) storeChanged(ctx context.Context, service *v1.Service, before, h history) error {
	if !before.unstored && before.encode() == h.encode() {
		c.states.setHistory(service.UID, h)
		return nil
	}
	h.Sequence++
	return c.store(ctx, service, h)
}

// store keeps a history in this process, and writes it to the status of the Service.
func (c *Controller) store(ctx context.Context, service *v1.Service, h history) error {
	var err error
	if r := c.runtime.Load(); r != nil && r.SetCondition != nil {
		message := h.encode()
		if message == "" {
			err = errHistoryTooLong
		} else {
			err = r.SetCondition(ctx, service, metav1.Condition{
				Type: ConditionHistory, Status: metav1.ConditionTrue, Reason: historyReason, Message: message,
				LastTransitionTime: h.Seen,
			})
		}
	}
	h.unstored = err != nil
	c.states.setHistory(service.UID, h)
	return err
}

// restoreHistory makes the next plan store the history again if the Service lacks it, because another client has
// overwritten its conditions. The Service is a current one.
func (c *Controller) restoreHistory(service *v1.Service) {
	stored, isStored := storedHistory(service)
	if known := c.states.of(service.UID).history; known != nil && (!isStored || stored.Sequence < known.Sequence) {
		h := *known
		h.unstored = true
		c.states.setHistory(service.UID, h)
	}
}

// leaveStatus ends what the status of a Service reports about a load balancer if the Service stays without one.
func (c *Controller) leaveStatus(ctx context.Context, service *v1.Service) {
	r := c.runtime.Load()
	if service.DeletionTimestamp != nil || r == nil || r.SetCondition == nil {
		return
	}
	c.setProblem(ctx, service, ConditionHeld, "", "")
	c.setProblem(ctx, service, ConditionRefused, "", "")
	if meta.FindStatusCondition(service.Status.Conditions, ConditionHistory) == nil {
		return
	}
	if err := r.SetCondition(ctx, service, metav1.Condition{Type: ConditionHistory}); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to remove the history of a load balancer from the status of its Service",
			"service", klog.KObj(service))
	}
}
