package loadbalancer

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

const (
	// approvalLength is the length of a change in the ID of held changes: 30 bits. An approval is compared with the
	// held changes of one Service only.
	approvalLength = 6
	// approvalSeparator joins the changes of an ID.
	approvalSeparator = "-"
)

// approvalEncoding has no character that differs only in its case, and no approvalSeparator.
var approvalEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// HeldID identifies held changes, for an approval of exactly these: a digest of each of them, sorted. So an approval
// covers what is left of these changes when a manager ends before it has applied them all, and nothing else. The ID
// does not depend on members: nodes that join or leave do not revoke an approval. Nor does it depend on marks.
func HeldID(held []plan.HeldChange) string {
	var items []string
	for _, h := range held {
		if h.Membership || h.Mark {
			continue
		}
		fields := slices.DeleteFunc(slices.Clone(h.Fields), func(f plan.Field) bool { return f.Membership })
		sum := sha256.Sum256([]byte(Digest([]any{h.Ref, fields, h.Disrupts})))
		items = append(items, approvalEncoding.EncodeToString(sum[:])[:approvalLength])
	}
	slices.Sort(items)
	return strings.Join(slices.Compact(items), approvalSeparator)
}

// approves reports whether an approval names all held changes. An approval of some of them applies none.
func approves(approval, heldID string) bool {
	if heldID == "" {
		return false
	}
	approved := strings.Split(approval, approvalSeparator)
	for item := range strings.SplitSeq(heldID, approvalSeparator) {
		if !slices.Contains(approved, item) {
			return false
		}
	}
	return true
}
