package events

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFilterNewReturnsMessagesOnceUntilTheyChange(t *testing.T) {
	a, b := Message{LoadBalancerDrift, "a"}, Message{LoadBalancerDrift, "b"}
	d := NewDeduplicator()
	for i, step := range []struct{ current, want []Message }{
		{[]Message{a}, []Message{a}},
		{[]Message{a}, nil},
		{[]Message{a, b}, []Message{b}},
		{[]Message{b}, nil},
		{[]Message{a, b}, []Message{a}},
		{nil, nil},
		{[]Message{b}, []Message{b}},
	} {
		if got := d.FilterNew("uid", "plan", step.current); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
	if got := d.FilterNew("uid", "intent", []Message{b}); len(got) != 1 {
		t.Error("sources are not independent")
	}
	if got := d.FilterNew("other", "plan", []Message{b}); len(got) != 1 {
		t.Error("objects are not independent")
	}
	d.Forget("uid", "plan", "intent")
	if got := d.FilterNew("uid", "plan", []Message{b}); len(got) != 1 {
		t.Error("Forget keeps messages")
	}
}

func TestShorten(t *testing.T) {
	if got := Shorten("short"); got != "short" {
		t.Errorf("Shorten returns %q", got)
	}
	got := Shorten(strings.Repeat("ü", MaxMessage))
	if len(got) > MaxMessage || !utf8.ValidString(got) || !strings.HasSuffix(got, "(more in the log)") {
		t.Errorf("%d bytes: %q", len(got), got[len(got)-40:])
	}
}
