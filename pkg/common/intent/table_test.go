package intent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type toyOptions struct {
	Color, Name string
	Size        int
	Limit       *int
}

func toyTable(o *toyOptions) Table {
	return Table{
		{Key: "toy/color", Type: "red or blue", Example: "red", Doc: "The colour.", Set: Store(&o.Color, OneOf("red", "blue"))},
		{Key: "toy/name", Type: "name", Example: "a", Doc: "The name.", Empty: EmptyRefused, Set: Store(&o.Name, Text)},
		{Key: "toy/size", Type: "1 to 9", Default: "1", Example: "3", Doc: "The size.", Set: Store(&o.Size, Int(1, 9))},
		{Key: "toy/limit", Type: "0 to 9", Example: "3", Doc: "The limit.", Set: StorePointer(&o.Limit, Int(0, 9))},
		{Key: "toy/address", Type: "text", Example: "x", Doc: "The manager writes it."},
	}
}

func TestTableReadsValues(t *testing.T) {
	three := 3
	for _, tc := range []struct {
		name        string
		annotations map[string]string
		want        toyOptions
		err         string
	}{
		{"nothing", nil, toyOptions{}, "<nil>"},
		{"all", map[string]string{"toy/color": " blue ", "toy/name": "n", "toy/size": "9", "toy/limit": "3", "toy/address": "?"},
			toyOptions{Color: "blue", Name: "n", Size: 9, Limit: &three}, "<nil>"},
		{"empty values", map[string]string{"toy/color": " ", "toy/name": ""}, toyOptions{},
			"toy: toy/name: the value is empty: write for example a, or remove the annotation (invalid)"},
		{"invalid values in the order of the table", map[string]string{"toy/size": "10", "toy/color": "green"}, toyOptions{},
			`toy: toy/color is "green": write red or blue; toy/size is "10": write a whole number from 1 to 9 (invalid)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var o toyOptions
			var problems Problems
			toyTable(&o).Read(tc.annotations, &problems)
			if diff := cmp.Diff(tc.want, o); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			if got := errText(problems.Err("toy")); got != tc.err {
				t.Errorf("error\n got: %s\nwant: %s", got, tc.err)
			}
		})
	}
	if keys := strings.Join(toyTable(&toyOptions{}).Keys(),
		" "); keys != "toy/color toy/name toy/size toy/limit toy/address" {
		t.Errorf("keys %s", keys)
	}
	if docs := toyTable(&toyOptions{}).Documentation(); docs[2].Key != "toy/size" || docs[2].Default != "1" ||
		docs[2].Doc != "The size." {
		t.Errorf("documentation %+v", docs)
	}
}

func TestMergeReportsConflictsAndSources(t *testing.T) {
	const own = "toy/timeout"
	for _, tc := range []struct {
		name            string
		sources         Sources
		option, value   time.Duration
		want            time.Duration
		where, conflict string
	}{
		{"not set", nil, 5, 0, 5, own, "<nil>"},
		{"only the portable annotation", nil, 0, 7, 7, KeyIdleTimeout, "<nil>"},
		{"only the field", Sources{KeyIdleTimeout: "spec.idle"}, 0, 7, 7, "spec.idle", "<nil>"},
		{"the same value", nil, 7, 7, 7, own, "<nil>"},
		{"another value", nil, 5, 7, 5, own,
			"toy: " + KeyIdleTimeout + ` is "7ns": toy/timeout is set too and conflicts: remove one of them (invalid)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			problems := Service{Sources: tc.sources, Annotations: map[string]string{KeyIdleTimeout: "7ns"}}.NewProblems()
			option := tc.option
			Merge(&problems, &option, tc.value, KeyIdleTimeout, own)
			if option != tc.want || problems.Sources.FieldOf(own) != tc.where || errText(problems.Err("toy")) != tc.conflict {
				t.Errorf("%s from %s, %v", option, problems.Sources.FieldOf(own), problems.Err("toy"))
			}
			if len(tc.sources) > 1 {
				t.Errorf("the sources of the Service were modified: %v", tc.sources)
			}
		})
	}
}
