package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
)

// samples are plans with everything in them that a plan can have.
func samples() []Plan {
	lb := Ref{"load balancer", "a1b2", Create}
	pool := Ref{"pool", "a1b2/80-TCP", Create}
	old := Ref{"listener", "c3d4/443-TCP", Delete}
	return []Plan{
		{
			Subject: "Service default/web",
			Changes: []Change{
				{Ref: Ref{"listener", "a1b2/80-TCP", Create}, Fields: []Field{{Name: "port", After: "80"}, {Name: "sourceRanges", After: "10.0.0.0/8"}}, After: []Ref{pool}},
				{Ref: lb, Fields: []Field{{Name: "scheme", After: "public"}, {Name: "subnets"}}},
				{Ref: pool, Fields: []Field{{Name: "members", After: "node-1,node-2,node-3,node-4,node-5,node-6,node-7"}}, After: []Ref{lb}},
			},
		},
		{
			Subject: "Service default/api",
			Changes: []Change{
				{Ref: Ref{"listener", "c3d4/8443-TCP", Update}, Fields: []Field{{Name: "sourceRanges", Before: "10.0.0.0/8", After: "10.0.0.0/8,192.168.0.0/16"}, {Name: "idleTimeout", After: "60s"}}, Reason: "changed by hand"},
				{Ref: old, Fields: []Field{{Name: "port", Before: "443"}}, Reason: "the protocol cannot be changed in place"},
				{Ref: Ref{"listener", "c3d4/443-TCP", Create}, Fields: []Field{{Name: "port", After: "443"}}, After: []Ref{old}},
				{Ref: Ref{"pool", "c3d4/443-TCP", Update}, Membership: true, Fields: []Field{{Name: "members", Before: "node-1", After: "node-1,node-2"}}},
			},
			Warnings: []string{"load-balancer.unified-ccm.io/idle-timout: no such annotation, so it has no effect; did you mean load-balancer.unified-ccm.io/idle-timeout?"},
		},
		{
			Subject: "Service default/held", HeldID: "k3f7qa-z2xm4d",
			Held: []HeldChange{
				{Change: Change{Ref: Ref{"listener", "e5f6/443-TCP", Delete}, Fields: []Field{{Name: "port", Before: "443"}},
					Disrupts: DisruptsTraffic, Because: []string{"spec.ports"}}, Reason: "not changed since it was applied: spec.ports"},
				{Change: Change{Ref: Ref{"pool", "e5f6/443-TCP", Delete}, After: []Ref{{"listener", "e5f6/443-TCP", Delete}}},
					Reason: "it waits for: delete listener e5f6/443-TCP"},
			},
			Warnings: []string{"held, because the changes disrupt without a cause in the Service"},
		},
		{Subject: "Service default/unchanged"},
		{Subject: "Service default/warned", Warnings: []string{"a tag with a \x1b[31mcolour"}},
		{Subject: "routes of cluster prod", Changes: []Change{{Ref: Ref{"route", "10.244.1.0/24", Create}, Fields: []Field{{Name: "node", After: "node-1"}}}}},
	}
}

func TestRenderText(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options TextOptions
		plans   []Plan
	}{
		{"plain", TextOptions{}, samples()},
		{"narrow", TextOptions{Width: 40}, samples()},
		{"verbose", TextOptions{Width: 40, Verbose: true}, samples()},
		{"colour", TextOptions{Color: true}, samples()},
		{"one", TextOptions{}, samples()[:1]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := RenderText(&b, tc.options, tc.plans...); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, tc.name+".txt", b.String())
			if !tc.options.Color && strings.Contains(b.String(), "\x1b") {
				t.Error("an escape sequence without colour")
			}
		})
	}
}

func TestRenderTextWithoutChanges(t *testing.T) {
	unchanged := Plan{Subject: "Service default/unchanged"}
	routes := Plan{Subject: "routes of cluster prod"}
	for _, tc := range []struct {
		name  string
		plans []Plan
		want  string
	}{
		{"none", nil, "No changes: there is nothing to compare.\n"},
		{"one Service", []Plan{unchanged}, "No changes: the cloud matches 1 Service.\n"},
		{"two Services", []Plan{unchanged, unchanged}, "No changes: the cloud matches 2 Services.\n"},
		{"routes too", []Plan{unchanged, routes}, "No changes: the cloud matches 1 Service, routes of cluster prod.\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := RenderText(&b, TextOptions{}, tc.plans...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, b.String()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderNamesPlansThatCouldNotBeMade(t *testing.T) {
	unchanged := Plan{Subject: "Service default/unchanged"}
	changed := Plan{Subject: "Service default/web", Changes: []Change{{Ref: create("a")}}}
	failures := []string{"Service default/db: the cloud does not answer", "routes: denied"}
	for _, tc := range []struct {
		name  string
		plans []Plan
		want  string
	}{
		{"no plan", nil, "Failed: no plan could be made.\n"},
		{"nothing else changes", []Plan{unchanged}, "Failed: 2 plans could not be made; the cloud matches 1 Service.\n"},
		{"others change", []Plan{changed},
			"Plan: 1 to create, 0 to update, 0 to delete in 1 Service. 2 further plans could not be made.\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var text, document bytes.Buffer
			if err := RenderText(&text, TextOptions{Failed: len(failures)}, tc.plans...); err != nil {
				t.Fatal(err)
			}
			if got := text.String(); !strings.HasSuffix(got, tc.want) || strings.Contains(got, "No changes") {
				t.Errorf("text:\n%s\nwant at the end:\n%s", got, tc.want)
			}
			if err := RenderJSON(&document, "fake", failures, tc.plans...); err != nil {
				t.Fatal(err)
			}
			var d Document
			if err := json.Unmarshal(document.Bytes(), &d); err != nil {
				t.Fatal(err)
			}
			if d.Summary.Failed != len(failures) || !slices.Equal(d.Failures, failures) {
				t.Errorf("document:\n%s", document.String())
			}
		})
	}
}

func TestRenderJSON(t *testing.T) {
	var b bytes.Buffer
	if err := RenderJSON(&b, "fake", nil, samples()...); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "plans.json", b.String())
	var d Document
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if want := (DocumentSummary{Create: 5, Update: 2, Delete: 1, Held: 2, Subjects: 6, Changed: 3}); d.Summary != want {
		t.Errorf("summary %+v, want %+v", d.Summary, want)
	}
}

func TestRenderRejectsCycles(t *testing.T) {
	bad := Plan{Subject: "Service a/b", Changes: []Change{{Ref: create("a"), After: []Ref{create("a")}}}}
	var b bytes.Buffer
	if err := RenderText(&b, TextOptions{}, bad); err == nil || b.Len() > 0 {
		t.Errorf("text: error %v, wrote %q", err, b.String())
	}
	if err := RenderJSON(&b, "fake", nil, bad); err == nil || b.Len() > 0 {
		t.Errorf("JSON: error %v, wrote %q", err, b.String())
	}
}

func TestSummary(t *testing.T) {
	long := Plan{}
	for _, c := range "abcd" {
		long.Changes = append(long.Changes, Change{Ref: create(string(c) + strings.Repeat("x", 280))})
	}
	var nodes []string
	for i := range 100 {
		nodes = append(nodes, fmt.Sprintf("node-%d", i))
	}
	less := slices.Concat(nodes[:7], nodes[8:], []string{"new"})
	members := Plan{Changes: []Change{{Ref: Ref{"pool", "a", Update},
		Fields: []Field{{Name: "members", Before: strings.Join(nodes, ","), After: strings.Join(less, ",")}}}}}
	huge := Plan{Changes: []Change{{Ref: create(strings.Repeat("ü", 4000))}}}
	for _, tc := range []struct {
		name string
		plan Plan
		want string
	}{
		{"nothing", Plan{}, "no changes"},
		{"creations in order", samples()[0], "create load balancer a1b2, pool a1b2/80-TCP, listener a1b2/80-TCP"},
		{
			"updates name their fields", Plan{Changes: samples()[1].Changes[:2]},
			"update listener c3d4/8443-TCP (sourceRanges: 10.0.0.0/8 → 10.0.0.0/8,192.168.0.0/16, idleTimeout: (none) → 60s); delete listener c3d4/443-TCP",
		},
		{
			"no room for all", long,
			"create pool a" + strings.Repeat("x", 280) + ", pool b" + strings.Repeat("x", 280) + ", pool c" + strings.Repeat("x",
				280) + "; and 1 more",
		},
		{"a name without end", huge, "create pool " + strings.Repeat("ü", 146) + "…"},
		{"long lists show who joins and who leaves", members, "update pool a (members: +new -node-7)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Summary(tc.plan)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Summary (-want +got):\n%s", diff)
			}
			if len(got) > MaxSummary || !utf8.ValidString(got) {
				t.Errorf("%d bytes, valid %t", len(got), utf8.ValidString(got))
			}
		})
	}
}
