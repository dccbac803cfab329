package rows

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// server is an object of a cloud in these tests, serverPatch its update request.
type server struct {
	Port        int
	Protocol    string
	Certificate string
	Policy      string
	Ranges      []string
	Tags        map[string]string
	Members     []int
	Used        bool
	Timeout     int
}

type serverPatch struct {
	Certificate, Policy *string
	Ranges              *[]string
	Tags                map[string]string
	Timeout             *int
	Members             []int
}

var (
	closes = plan.Effect{Change: "ranges leave", Disrupts: plan.DisruptsTraffic}
	serves = plan.Effect{Change: "TLS changes", Disrupts: plan.DisruptsTraffic}
)

var serverKind = Kind[*server, *serverPatch]{
	Name:     "server",
	Key:      func(s *server) string { return fmt.Sprint(s.Port) },
	Deletion: plan.Effect{Change: "a server is deleted", Disrupts: plan.DisruptsAddress},
	Unused:   func(s *server) bool { return !s.Used },
	Rows: []Row[*server, *serverPatch]{
		{
			Name: "protocol", Value: Text(func(s *server) *string { return &s.Protocol }),
			Effect: plan.Effect{Change: "a server is replaced", Disrupts: plan.DisruptsLoadBalancer},
		},
		{
			Name: "certificate", Value: Text(func(s *server) *string { return &s.Certificate }), Group: "tls",
			Set: func(p *serverPatch, want *server) { p.Certificate = &want.Certificate },
		},
		{
			Name: "policy", Value: Text(func(s *server) *string { return &s.Policy }), Group: "tls",
			Set: func(p *serverPatch, want *server) { p.Policy = &want.Policy }, Effect: serves,
		},
		{
			Name: "ranges", Value: Set(func(s *server) *[]string { return &s.Ranges }),
			Set:    func(p *serverPatch, want *server) { p.Ranges = NonNil(want.Ranges) },
			Effect: closes, Disrupts: func(_, want *server) bool { return len(want.Ranges) > 0 },
		},
		{
			Name: "timeout", Value: Number(func(s *server) *int { return &s.Timeout }),
			Set:    func(p *serverPatch, want *server) { p.Timeout = &want.Timeout },
			Ignore: func(_, want *server) bool { return want.Timeout == 0 },
		},
		{
			Name: "tags", Value: Map(func(s *server) *map[string]string { return &s.Tags }),
			Set: func(p *serverPatch, want *server) { p.Tags = want.Tags }, Mark: true,
		},
	},
}

var memberKind = Kind[*server, *serverPatch]{
	Name: "members", Key: serverKind.Key, Label: func(s *server) string { return "of " + fmt.Sprint(s.Port) },
	Rows: []Row[*server, *serverPatch]{{
		Name:       "members",
		Value:      Members(func(m int) string { return fmt.Sprintf("m%02d", m) }, func(s *server) *[]int { return &s.Members }),
		Set:        func(p *serverPatch, want *server) { p.Members = want.Members },
		Membership: true,
	}},
}

func TestCreateHasAllSetFields(t *testing.T) {
	t.Parallel()
	got := serverKind.Create(&server{Port: 80, Protocol: "TCP", Ranges: []string{"b", "a"}, Timeout: 5})
	want := plan.Change{
		Ref: plan.Ref{Kind: "server", Name: "80", Action: plan.Create},
		Fields: []plan.Field{{Name: "protocol", After: "TCP"}, {Name: "ranges", After: "a, b"},
			{Name: "timeout", After: "5"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	have := server{Port: 80, Protocol: "TCP", Certificate: "a", Policy: "old", Ranges: []string{"a", "b"}, Timeout: 5}
	tests := map[string]struct {
		edit  func(*server)
		want  plan.Change
		patch serverPatch
	}{
		"equal":                         {edit: func(s *server) { s.Ranges = []string{"b", "a"} }},
		"a value that is not ours":      {edit: func(s *server) { s.Timeout = 0 }},
		"a field that cannot change":    {edit: func(s *server) { s.Protocol = "UDP" }},
		"a change that disrupts":        {edit: func(s *server) { s.Ranges = []string{"a"} }, want: plan.Change{Fields: []plan.Field{{Name: "ranges", Before: "a, b", After: "a", Disrupts: plan.DisruptsTraffic}}, Disrupts: plan.DisruptsTraffic}, patch: serverPatch{Ranges: &[]string{"a"}}},
		"one that never disrupts":       {edit: func(s *server) { s.Ranges = nil }, want: plan.Change{Fields: []plan.Field{{Name: "ranges", Before: "a, b"}}}, patch: serverPatch{Ranges: &[]string{}}},
		"a field of a group":            {edit: func(s *server) { s.Certificate = "b" }, want: plan.Change{Fields: []plan.Field{{Name: "certificate", Before: "a", After: "b"}}}, patch: serverPatch{Certificate: ptr("b"), Policy: ptr("old")}},
		"a mark":                        {edit: func(s *server) { s.Tags = map[string]string{"a": "b"} }, want: plan.Change{Fields: []plan.Field{{Name: "tags", After: "a=b"}}, Mark: true}, patch: serverPatch{Tags: map[string]string{"a": "b"}}},
		"a mark beside another setting": {edit: func(s *server) { s.Tags, s.Timeout = map[string]string{"a": "b"}, 6 }, want: plan.Change{Fields: []plan.Field{{Name: "timeout", Before: "5", After: "6"}, {Name: "tags", After: "a=b"}}}, patch: serverPatch{Tags: map[string]string{"a": "b"}, Timeout: ptr(6)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := have
			tt.edit(&want)
			tt.want.Ref = plan.Ref{Kind: "server", Name: "80", Action: plan.Update}
			change, differ := serverKind.Update(&have, &want)
			var patch serverPatch
			serverKind.Set(&patch, &want, change.Fields)
			if diff := cmp.Diff(tt.want, change); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.patch, patch); diff != "" {
				t.Error(diff)
			}
			if differ != (len(tt.want.Fields) > 0) {
				t.Errorf("differ = %v", differ)
			}
		})
	}
}

func ptr[T any](value T) *T { return &value }

func TestSetLeavesOtherFields(t *testing.T) {
	t.Parallel()
	kind := Kind[*server, *server]{Key: serverKind.Key, Rows: InPlace([]Row[*server, *server]{
		{Name: "protocol", Value: Text(func(s *server) *string { return &s.Protocol })},
		{Name: "timeout", Value: Number(func(s *server) *int { return &s.Timeout })},
	})}
	have, want := server{Protocol: "TCP", Timeout: 5}, server{Protocol: "TCP", Timeout: 6}
	change, _ := kind.Update(&have, &want)
	current := server{Protocol: "edited by hand", Timeout: 5, Policy: "unknown to us"}
	kind.Set(&current, &want, change.Fields)
	if diff := cmp.Diff(server{Protocol: "edited by hand", Timeout: 6, Policy: "unknown to us"}, current); diff != "" {
		t.Error(diff)
	}
}

func TestUpdateShowsAmountOfZero(t *testing.T) {
	t.Parallel()
	kind := Kind[*server, *server]{Key: serverKind.Key, Rows: InPlace([]Row[*server, *server]{
		{Name: "timeout", Value: Amount(func(s *server) *int { return &s.Timeout })},
	})}
	change, _ := kind.Update(&server{Timeout: 5}, &server{})
	if diff := cmp.Diff([]plan.Field{{Name: "timeout", Before: "5", After: "0"}}, change.Fields); diff != "" {
		t.Error(diff)
	}
	if created := kind.Create(&server{}); len(created.Fields) > 0 {
		t.Errorf("a creation has the fields %v", created.Fields)
	}
	if !kind.Equal(&server{}, &server{}) {
		t.Error("equal amounts differ")
	}
}

func TestUpdateOfMembersNamesThoseThatJoin(t *testing.T) {
	t.Parallel()
	var have, want server
	for i := range 12 {
		have.Members = append(have.Members, i)
	}
	want.Members = append(append(want.Members, have.Members[1:]...), 12)
	change, _ := memberKind.Update(&have, &want)
	var patch serverPatch
	memberKind.Set(&patch, &want, change.Fields)
	expected := plan.Change{
		Ref: plan.Ref{Kind: "members", Name: "of 0", Action: plan.Update}, Key: "0", Membership: true,
		Fields: []plan.Field{{Name: "members", Before: "12 members", After: "+m12 -m00 (12 members)", Membership: true}},
	}
	if diff := cmp.Diff(expected, change); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Members, patch.Members); diff != "" {
		t.Error(diff)
	}
	if _, differ := memberKind.Update(&have, &have); differ {
		t.Error("equal members differ")
	}
}

func TestDeleteOfUnusedObjectDisruptsNothing(t *testing.T) {
	t.Parallel()
	for used, want := range map[bool]plan.Disruption{false: plan.DisruptsNothing, true: plan.DisruptsAddress} {
		if got := serverKind.Delete(&server{Port: 80, Used: used}).Disrupts; got != want {
			t.Errorf("used %v: disrupts %q, not %q", used, got, want)
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	have := server{Port: 80, Protocol: "TCP", Timeout: 5}
	if _, replace := serverKind.Replace(&have, &server{Port: 80, Protocol: "TCP", Timeout: 6}); replace {
		t.Error("a field that can be changed in place replaces the object")
	}
	change, replace := serverKind.Replace(&have, &server{Port: 80, Protocol: "UDP", Timeout: 6})
	want := []plan.Field{{Name: "protocol", Before: "TCP", After: "UDP", Disrupts: plan.DisruptsLoadBalancer}}
	if diff := cmp.Diff(want, change.Fields); diff != "" || !replace || change.Action != plan.Delete {
		t.Errorf("replace %v by %s: %s", replace, change.Action, diff)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	have := []server{
		{Port: 80, Protocol: "TCP", Certificate: "a", Policy: "old", Ranges: []string{"a"}, Timeout: 5},
		{Port: 81, Protocol: "TCP"},
	}
	wanted := server{Port: 80, Protocol: "UDP", Certificate: "b", Policy: "new", Ranges: []string{"b"}, Timeout: 6}
	difference := func(object, field string) plan.Difference {
		return plan.Difference{Kind: "server", Object: object, Field: field}
	}
	tests := map[string]struct {
		held plan.Difference
		want func(*server)
		more []server
	}{
		"a field":                  {held: difference("80", "ranges"), want: func(s *server) { s.Ranges = []string{"a"} }},
		"an item of a set":         {held: difference("80", "ranges b"), want: func(s *server) { s.Ranges = []string{"a"} }},
		"a group":                  {held: difference("80", "policy"), want: func(s *server) { s.Policy, s.Certificate = "old", "a" }},
		"a replacement":            {held: difference("80", "protocol"), want: func(s *server) { s.Protocol = "TCP" }},
		"the object":               {held: difference("80", ""), want: func(s *server) { *s = have[0] }},
		"a deletion":               {held: difference("81", ""), want: func(*server) {}, more: have[1:]},
		"another object":           {held: difference("82", "ranges"), want: func(*server) {}},
		"another kind":             {held: plan.Difference{Kind: "pool", Object: "80", Field: "ranges"}, want: func(*server) {}},
		"a field of a longer name": {held: difference("80", "rangesX"), want: func(*server) {}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := wanted
			tt.want(&want)
			got := Keep(&serverKind, []server{wanted}, have, []plan.Difference{tt.held})
			if diff := cmp.Diff(append([]server{want}, tt.more...), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	want := []plan.Effect{
		{Change: "a server is deleted", Disrupts: plan.DisruptsAddress},
		{Change: "a server is replaced", Disrupts: plan.DisruptsLoadBalancer, Fields: []string{"protocol"}},
		{Change: "TLS changes", Disrupts: plan.DisruptsTraffic, Fields: []string{"policy"}},
		{Change: "ranges leave", Disrupts: plan.DisruptsTraffic, Fields: []string{"ranges"}},
	}
	if diff := cmp.Diff(want, serverKind.Effects()); diff != "" {
		t.Error(diff)
	}
}
