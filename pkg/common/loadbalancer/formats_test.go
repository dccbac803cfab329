package loadbalancer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/approval"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/digests"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

var (
	storedVocabulary = intent.Vocabulary{Portable: []string{intent.KeyScheme, intent.KeyApprove}}

	address  = plan.Difference{Kind: "load balancer", Object: "web", Field: "address", Wanted: "192.0.2.1", Disrupts: plan.DisruptsAddress}
	listener = plan.Difference{Kind: "listener", Object: "tcp-443", Disrupts: plan.DisruptsTraffic}
	protocol = plan.Change{Ref: plan.Ref{Kind: "listener", Name: "tcp-80", Action: plan.Update}, Disrupts: plan.DisruptsTraffic,
		Fields: []plan.Field{{Name: "protocol", After: "TLS", Disrupts: plan.DisruptsTraffic}, {Name: "timeout", After: "60"}}}
)

// storedForm returns a history of a Service with all that it can have.
func storedForm(svc *v1.Service) history {
	held := []plan.HeldChange{{Change: protocol}}
	h := newHistory(svc, storedVocabulary, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)).withHeld("state", held).
		withSeen(held, seenOnly{all: true})
	h.Sequence, h.Approvals, h.LeadingSince, h.Unfinished = 7, 2, "4", true
	h.Caused = []digests.Cause{
		digests.NewCause(plan.Cause{Difference: address, Fields: []string{intent.FieldLoadBalancerIP}}),
		digests.NewCause(plan.Cause{Difference: listener, Started: true}),
	}
	return h
}

// manyPorts makes a history long enough to be compressed.
func manyPorts(svc *v1.Service) {
	for i := range int32(60) {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: 1000 + i, NodePort: 31000 + i})
	}
}

// Histories that another release has stored mean the same. The files are never written again: one that is not read any
// more needs a way to read it.
func TestHistoriesOfOtherReleasesAreRead(t *testing.T) {
	for name, edits := range map[string][]func(*v1.Service){"plain": nil, "compressed": {manyPorts}} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "history-1-"+name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			svc := web(append(edits, ranges("10.0.0.0/8"), annotated(intent.KeyScheme, "internal"))...)
			h, ok := parseHistory(string(text))
			last, known := h.lastInputs(intent.InputsOf(svc, storedVocabulary), storedVocabulary)
			if present := intent.InputsOf(svc, storedVocabulary); !ok || !known || !last.Equal(present) || !h.Inputs.Equal(present) {
				t.Errorf("inputs %v, want %v", h.Inputs, present)
			}
			c := &causes{caused: h.Caused}
			moved := listener
			moved.Wanted = "whatever is wanted by now"
			for _, d := range []plan.Difference{address, moved} {
				if _, caused := c.of(d); !caused {
					t.Errorf("%s has no cause", d)
				}
			}
			for _, d := range protocol.Differences() {
				if d.Field = "port"; !h.drifts(d, "state") {
					t.Errorf("%s is no drift", d)
				}
				if d.Field = "protocol"; h.drifts(d, "state") {
					t.Errorf("%s was not held", d)
				}
			}
			if d := protocol.Harmless(); len(d) != 1 || !(seenOnly{places: h.SeenOnly}).has(d[0]) {
				t.Errorf("%v was applied", d)
			}
			if want := storedForm(svc); h.encode() != want.encode() {
				t.Errorf("the history is %s, want %s", h.encode(), want.encode())
			}
		})
	}
}

// What is stored in clusters and clouds, and the IDs that users approve, keep their form: a manager reads what another
// release has written. A difference of testdata/formats.golden needs a version, or a way to read the earlier form.
func TestFormatsAreStable(t *testing.T) {
	h := storedForm(web(ranges("10.0.0.0/8"), annotated(intent.KeyScheme, "internal")))
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
	show("ID of held changes", approval.OfHeld([]plan.Difference{listener, address}, 0))
	show("ID of the same ones after an approval", approval.OfHeld([]plan.Difference{address, listener}, 1))
	show("conditions", strings.Join([]string{ConditionHistory, ConditionHeld, ConditionRefused}, "\n"))
	golden.Compare(t, "formats.golden", text.String())
	if parsed, ok := parseHistory(h.encode()); !ok || parsed.encode() != h.encode() {
		t.Errorf("a history that is read is %+v", parsed)
	}
}
