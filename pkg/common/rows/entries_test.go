package rows

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// network is an object with values whose entries are fields of their own. Attributes are nil if they were not read.
type network struct {
	Subnets, Attributes map[string]string
}

var (
	moves  = plan.Effect{Change: "other subnets", Disrupts: plan.DisruptsAddress}
	breaks = plan.Effect{Change: "a mode is switched", Disrupts: plan.DisruptsTraffic, Fields: []string{"mode"}}
)

var networkKind = Kind[*network, *[]string]{
	Name: "network",
	Key:  func(*network) string { return "n" },
	Rows: []Row[*network, *[]string]{
		{
			Name: "subnets", Effect: moves,
			Value: Entries(func(n *network) map[string]string { return n.Subnets },
				func(to, from *network) { to.Subnets = maps.Clone(from.Subnets) }),
			Set: func(sent *[]string, _ *network) { *sent = append(*sent, "subnets") },
		},
		{
			Value: Entries(func(n *network) map[string]string { return n.Attributes },
				func(to, from *network) { to.Attributes = maps.Clone(from.Attributes) }),
			Unread: func(have *network) bool { return have.Attributes == nil }, Effect: breaks,
			Set: func(*[]string, *network) {},
		},
	},
}

func TestEntriesAreFieldsOfTheirOwn(t *testing.T) {
	t.Parallel()
	subnets := map[string]string{"a": "subnet-1", "b": "subnet-2"}
	for _, tc := range []struct {
		name       string
		have, want network
		fields     []plan.Field
		sent       []string
	}{
		{name: "equal", have: network{Subnets: subnets, Attributes: map[string]string{"mode": "on"}},
			want: network{Subnets: subnets, Attributes: map[string]string{"mode": "on"}}},
		{name: "joins, leaves and moves", have: network{Subnets: subnets, Attributes: map[string]string{}},
			want: network{Subnets: map[string]string{"b": "subnet-3", "c": "subnet-4"}},
			fields: []plan.Field{{Name: "subnets a", Before: "subnet-1", Disrupts: plan.DisruptsAddress},
				{Name: "subnets b", Before: "subnet-2", After: "subnet-3", Disrupts: plan.DisruptsAddress},
				{Name: "subnets c", After: "subnet-4", Disrupts: plan.DisruptsAddress}}, sent: []string{"subnets"}},
		{name: "one of the entries disrupts", have: network{Attributes: map[string]string{"mode": "on", "zone": "x"}},
			want: network{Attributes: map[string]string{"mode": "off", "zone": "y"}},
			fields: []plan.Field{{Name: "mode", Before: "on", After: "off", Disrupts: plan.DisruptsTraffic},
				{Name: "zone", Before: "x", After: "y"}}},
		{name: "unread", want: network{Attributes: map[string]string{"zone": ""}}, fields: []plan.Field{{Name: "zone"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			change, differ := networkKind.Update(&tc.have, &tc.want)
			var sent []string
			networkKind.Set(&sent, &tc.want, change.Fields)
			if diff := cmp.Diff(tc.fields, change.Fields); diff != "" || differ != (tc.fields != nil) {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.sent, sent); diff != "" {
				t.Error(diff)
			}
		})
	}
	created := networkKind.Create(&network{Subnets: subnets})
	if diff := cmp.Diff([]plan.Field{{Name: "subnets", After: "subnet-1, subnet-2"}}, created.Fields); diff != "" {
		t.Error(diff)
	}
	want := []plan.Effect{{Change: moves.Change, Disrupts: moves.Disrupts, Fields: []string{"subnets"}}, breaks}
	if diff := cmp.Diff(want, networkKind.Effects()); diff != "" {
		t.Error(diff)
	}
}
