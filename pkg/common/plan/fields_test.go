package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFields(t *testing.T) {
	var f Fields
	if f.Diff("name", "a", "a") || f.Diff("port", ShowInt(80), ShowInt(80)) {
		t.Error("what is equal differs")
	}
	if !f.Diff("protocol", "TCP", "UDP") || !f.Diff("timeout", ShowInt(0), ShowInt(60)) {
		t.Error("what differs is equal")
	}
	want := Fields{{Name: "protocol", Before: "TCP", After: "UDP"}, {Name: "timeout", After: "60"}}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !f.Has("timeout") || f.Has("name") {
		t.Errorf("Has is wrong about %v", f)
	}
}

func TestShow(t *testing.T) {
	for got, want := range map[string]string{
		ShowInt(0): "", ShowInt(-1): "-1",
		ShowSet([]string{"b", "a"}):                   "a, b",
		ShowMap(map[string]string{"b": "", "a": "1"}): "a=1, b=",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestShowMembersChange(t *testing.T) {
	nodes := func(from, to int) []string {
		var names []string
		for i := from; i <= to; i++ {
			names = append(names, fmt.Sprintf("node-%02d", i))
		}
		return names
	}
	for name, tc := range map[string]struct {
		before, after         []string
		wantBefore, wantAfter string
	}{
		"few":              {nodes(1, 2), nodes(2, 3), "node-01, node-02", "node-02, node-03"},
		"one joins":        {nodes(1, 10), nodes(1, 11), "10 members", "+node-11 (11 members)"},
		"one of each":      {nodes(1, 11), nodes(2, 12), "11 members", "+node-12 -node-01 (11 members)"},
		"many join":        {nodes(1, 3), nodes(2, 20), "3 members", "+17 members -node-01 (19 members)"},
		"all leave":        {nodes(1, 12), nil, "12 members", "-12 members (0 members)"},
		"only order":       {nodes(1, 11), append(nodes(2, 11), nodes(1, 1)...), "11 members", "(11 members)"},
		"nothing existing": {nil, nodes(1, 2), "", "node-01, node-02"},
	} {
		before, after := ShowMembersChange(tc.before, tc.after)
		if before != tc.wantBefore || after != tc.wantAfter {
			t.Errorf("%s: %q and %q, want %q and %q", name, before, after, tc.wantBefore, tc.wantAfter)
		}
	}
}
