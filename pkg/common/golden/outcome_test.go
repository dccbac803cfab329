package golden

import (
	"errors"
	"testing"
)

func TestDiffFrom(t *testing.T) {
	before := Outcome{Facts: []string{"port 80", "subnet a"},
		Events: []string{"Warning Old it was so before", "Normal Created made"}}
	for _, tt := range []struct {
		name  string
		after Outcome
		want  string
	}{
		{"the same", before, ""},
		{"another place", Outcome{Facts: []string{"port 80", "subnet b"}}, "  - subnet a\n  + subnet b\n"},
		{"a warning", Outcome{Facts: before.Facts, Events: append([]string{"Warning New look", "Normal Updated changed"}, before.Events...)}, "  event: Warning New look\n"},
		{"a refusal", Outcome{Events: []string{"Warning New look"}, Refused: errors.New("no such subnet")}, "  refused: no such subnet\n  event: Warning New look\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.after.DiffFrom(before); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	var n Names
	if got := n.Replace("as it is"); got != "as it is" {
		t.Errorf("without names: %q", got)
	}
	n.Add("{a}", "id-1")
	n.Add("{b}", "id-2")
	if got := n.Replace("id-2 before id-1, "); got != "{b} before {a}," {
		t.Errorf("shown is %q", got)
	}
	if got := n.Expand("{b},{a}"); got != "id-2,id-1" {
		t.Errorf("expanded is %q", got)
	}
}
