package plan

import (
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
