package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSortedKeepsOrderOfIndependentChanges(t *testing.T) {
	var d diary
	for _, tc := range []struct {
		name    string
		changes []Change
		want    []string
	}{
		{"independent", []Change{d.change("c"), d.change("a"), d.change("b")}, []string{"c", "a", "b"}},
		{"needs come first", []Change{d.change("c", "b"), d.change("a"), d.change("b")}, []string{"a", "b", "c"}},
		{"a chain backwards", []Change{d.change("c", "b"), d.change("b", "a"), d.change("a")}, []string{"a", "b", "c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sorted, err := Plan{Changes: tc.changes}.Sorted()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names(sorted)); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMembershipOmitsChangesThatWaitForOthers(t *testing.T) {
	var d diary
	member := func(name string, after ...string) Change {
		c := d.change(name, after...)
		c.Membership = true
		return c
	}
	p := Plan{Subject: "Service a/b", Warnings: []string{"w"}, Changes: []Change{
		d.change("new pool"),
		member("members of new pool", "new pool"),
		member("behind those", "members of new pool"),
		member("members of old pool"),
		member("behind old", "members of old pool"),
		d.change("listener"),
	}}
	sub := p.Membership()
	if diff := cmp.Diff([]string{"members of old pool", "behind old"}, names(sub)); diff != "" {
		t.Errorf("membership (-want +got):\n%s", diff)
	}
	if err := sub.Validate(); err != nil {
		t.Error(err)
	}
	if sub.Subject != p.Subject || len(sub.Warnings) != 1 {
		t.Errorf("subject %q, warnings %v", sub.Subject, sub.Warnings)
	}
}
