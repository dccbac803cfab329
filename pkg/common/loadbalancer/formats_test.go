package loadbalancer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// What is stored in clusters and clouds, and the IDs that users approve, keep their form: a manager reads what another
// release has written. A difference of testdata/formats.golden needs a version, or a way to read the earlier form.
func TestFormatsAreStable(t *testing.T) {
	vocabulary := intent.Vocabulary{Portable: []string{intent.KeyScheme, intent.KeyApprove}}
	svc := web(ranges("10.0.0.0/8"), annotated(intent.KeyScheme, "internal"))
	address := plan.Difference{Kind: "load balancer", Object: "web", Field: "address", Wanted: "192.0.2.1", Disrupts: plan.DisruptsAddress}
	listener := plan.Difference{Kind: "listener", Object: "tcp-443", Disrupts: plan.DisruptsTraffic}
	change := plan.Change{Ref: plan.Ref{Kind: "listener", Name: "tcp-80", Action: plan.Update}, Disrupts: plan.DisruptsTraffic,
		Fields: []plan.Field{{Name: "protocol", After: "TLS", Disrupts: plan.DisruptsTraffic}, {Name: "timeout", After: "60"}}}
	h := newHistory(svc, vocabulary, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)).
		withHeld("state", []plan.HeldChange{{Change: change}}).withSeen([]plan.HeldChange{{Change: change}})
	h.Sequence, h.Approvals, h.LeadingSince, h.Unfinished = 7, 2, "4", true
	h.Caused = []causedDifference{
		newCausedDifference(plan.Cause{Difference: address, Fields: []string{intent.FieldLoadBalancerIP}}),
		newCausedDifference(plan.Cause{Difference: listener, Started: true}),
	}
	fields := map[string]string{intent.FieldPorts: "80", intent.KeyScheme: "internal"}
	many := map[string]string{}
	for i := range 120 {
		many[fmt.Sprint("field ", i)] = "value"
	}
	var text strings.Builder
	show := func(name, value string) { fmt.Fprintf(&text, "%s\n%s\n\n", name, value) }
	show("history", h.encode())
	show("record", applied.New(applied.Digest("state"), applied.DigestSet([]string{"b", "a"}), fields).Encode())
	show("record of many fields", applied.New(applied.Digest("state"), "", many).Encode())
	show("ID of held changes", heldID([]heldDifference{{listener, ""}, {address, ""}}, 0))
	show("ID of the same ones after an approval", heldID([]heldDifference{{address, ""}, {listener, ""}}, 1))
	show("conditions", strings.Join([]string{ConditionHistory, ConditionHeld, ConditionRefused}, "\n"))
	golden.Compare(t, "formats.golden", text.String())
	if parsed, ok := parseHistory(h.encode()); !ok || parsed.encode() != h.encode() {
		t.Errorf("a history that is read is %+v", parsed)
	}
}
