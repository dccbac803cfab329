// Package approval has the IDs of held changes, by which users approve them.
package approval

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

const (
	// idLength is the length of a change in the ID of held changes: 80 bits. Who writes the Service chooses wanted
	// values, and must not find two changes with one ID: one to get approved, and another one to be applied.
	idLength = 16
	// separator joins the changes of an ID.
	separator = "-"
)

// encoding has no character that differs only in its case, and no separator.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// OfHeld returns the ID of held differences, for an approval of exactly these: a digest of each of them, sorted. So an
// approval covers what is left of them when a manager ends before it has applied them all, and nothing else. The ID
// does not depend on what exists, nor on members: nodes that join or leave do not revoke an approval. Used approvals
// are part of it, so that each is used once.
func OfHeld(held []plan.Difference, used int) string {
	var items []string
	for _, h := range held {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %d", h.Kind, h.Object, h.Field, h.Wanted, used))
		items = append(items, encoding.EncodeToString(sum[:])[:idLength])
	}
	slices.Sort(items)
	return strings.Join(slices.Compact(items), separator)
}

// ID returns the ID that approves one thing, which the parts identify.
func ID(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return encoding.EncodeToString(sum[:])[:idLength]
}

// IsNeeded reports whether a held change is part of the ID and of the warning. Marks, and changes of members that
// disrupt nothing, are held only because they depend on others.
func IsNeeded(h plan.HeldChange) bool { return !h.Mark && (!h.Membership || h.Disrupts.Severe()) }

// Covers reports whether an approval names everything that an ID stands for. An approval of a part approves nothing.
func Covers(approval, id string) bool {
	if id == "" {
		return false
	}
	approved := strings.Split(approval, separator)
	for item := range strings.SplitSeq(id, separator) {
		if !slices.Contains(approved, item) {
			return false
		}
	}
	return true
}
