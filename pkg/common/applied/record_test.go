package applied

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

func manyFields(n int) map[string]string {
	fields := map[string]string{}
	for i := range n {
		fields[fmt.Sprintf("example.com/annotation-%d", i)] = fmt.Sprintf("value %d", i)
	}
	return fields
}

func TestRecordSurvivesEncoding(t *testing.T) {
	form := regexp.MustCompile(`^[A-Za-z0-9+/=._:-]*$`)
	for _, tc := range []struct{ fields, width int }{{0, 3}, {1, 3}, {30, 3}, {31, 2}, {38, 2}, {39, 1}, {50, 1}, {51, 0},
		{300, 0}} {
		t.Run(fmt.Sprintf("%d fields", tc.fields), func(t *testing.T) {
			fields := manyFields(tc.fields)
			record := New(Digest("state"), DigestSet([]string{"b", "a"}), fields)
			text := record.Encode()
			if len(text) > MaxRecord || !form.MatchString(text) {
				t.Errorf("%d characters: %s", len(text), text)
			}
			if got := record.width(); got != tc.width {
				t.Errorf("value digests of %d bytes, want %d", got, tc.width)
			}
			parsed := Parse(text)
			if parsed.Encode() != text || !parsed.Proves(record) || parsed.IsOutdated(record) {
				t.Errorf("parsed %+v, want %+v", parsed, record)
			}
			names := slices.Collect(func(yield func(string) bool) {
				for name := range fields {
					if !yield(name) {
						return
					}
				}
			})
			if changed := parsed.Changed(fields, names); len(changed) > 0 {
				t.Errorf("nothing changed, but Changed returns %v", changed)
			}
		})
	}
}

func TestChangedReturnsTheFieldsThatDiffer(t *testing.T) {
	record := Parse(New("", "", map[string]string{"kept": "1", "edited": "1", "removed": "1"}).Encode())
	now := map[string]string{"kept": "1", "edited": "2", "added": "1"}
	all := []string{"kept", "edited", "removed", "added", "never set"}
	if diff := cmp.Diff([]string{"edited", "removed", "added"}, record.Changed(now, all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (Record{}).Changed(now, all); got != nil {
		t.Errorf("without a record: %v", got)
	}
	fields := manyFields(300)
	crowded := Parse(New("", "", fields).Encode())
	fields["edited"] = "2"
	if got := crowded.Changed(fields, []string{"edited"}); len(got) != 1 {
		t.Errorf("with a combined digest: %v", got)
	}
}

func TestParseRecordIgnoresWhatItCannotRead(t *testing.T) {
	valid := New(Digest("a"), Digest("b"), map[string]string{"x": "y"}).Encode()
	for _, text := range []string{"", "garbage", "2" + valid[1:], valid + "A", valid + ".", "1.a.b.c", "1...", "1...BA",
		valid[:20], "1.....", "1.!.!.AA"} {
		if got := Parse(text); !got.IsZero() {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
	if text := (Record{}).Encode(); text != "" {
		t.Errorf("no record is encoded as %q", text)
	}
}

func TestRecordProvesOnlyWhatItKnows(t *testing.T) {
	known := New("a", "b", nil)
	for name, tc := range map[string]struct {
		have, want Record
		proves     bool
	}{
		"equal":           {known, known, true},
		"no record":       {Record{}, known, false},
		"other state":     {New("c", "b", nil), known, false},
		"other members":   {New("a", "c", nil), known, false},
		"unknown members": {New("a", "", nil), New("a", "", nil), false},
		"unknown state":   {New("", "b", nil), New("", "b", nil), false},
	} {
		if got := tc.have.Proves(tc.want); got != tc.proves {
			t.Errorf("%s: %t", name, got)
		}
	}
	if known.IsOutdated(New("a", "", nil)) || !known.IsOutdated(New("a", "c", nil)) {
		t.Error("unknown members must not outdate a record, other members must")
	}
}

func TestWithPendingKeepsValuesOfHeldFields(t *testing.T) {
	before := Parse(New(Digest(1), "", map[string]string{"held": "1", "applied": "1",
		"held and removed": "1"}).Encode())
	now := map[string]string{"held": "2", "applied": "2", "held and added": "2"}
	held := []string{"held", "held and removed", "held and added"}
	got := Parse(New(Digest(2), "", now).WithPending(before, held).Encode())
	if diff := cmp.Diff(held, got.Changed(now, append(held, "applied"))); diff != "" || got.State != "" {
		t.Errorf("state %q, changed (-want +got):\n%s", got.State, diff)
	}
}

// Two names with one hash would share a value. A new name that collides needs another recordVersion with another hash.
func TestFieldNamesDoNotCollide(t *testing.T) {
	if err := CheckFieldNames(append(intent.Keys(), intent.FieldPorts, intent.FieldIPFamilies, intent.FieldLoadBalancerIP,
		intent.FieldSourceRanges, intent.FieldExternalTrafficPolicy, intent.FieldHealthCheckNodePort, intent.FieldSessionAffinity)); err != nil {
		t.Error(err)
	}
}
