package diff

import (
	"strconv"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// keptFields are the fields of listeners that stay as they are, in the order in which they are kept: a listener that is
// not deleted comes last.
func keptFields() []struct {
	kind, field string
	keep        func(want model.Desired, have model.Observed, l model.Listener) model.Desired
} {
	return []struct {
		kind, field string
		keep        func(want model.Desired, have model.Observed, l model.Listener) model.Desired
	}{
		{kindListener, fieldProtocol, keepProtocol},
		{kindListener, fieldTargetGroup, keepTargetGroup},
		{kindListener, fieldPolicy, func(want model.Desired, _ model.Observed, l model.Listener) model.Desired {
			return want.KeepPolicy(l.Port)
		}},
		{kindListener, "", keepListener},
	}
}

// Keep returns the desired state with the existing values of differences, and with what follows from them. Plan keeps
// those of zones, security groups and rules.
func Keep(want model.Desired, have model.Observed, differences []plan.Difference) model.Desired {
	b := have.Balancer
	if b == nil || len(differences) == 0 {
		return want
	}
	want.Kept = differences
	if want.Keeps(kindBalancer, b.Name, fieldAddressType) {
		want = want.KeepIPv4()
	}
	want.ByCIDR.Kept, want.Managed.Kept = differences, differences
	for _, kept := range keptFields() {
		for _, d := range differences {
			port, err := strconv.ParseInt(d.Object, 10, 32)
			if err != nil || d.Kind != kept.kind || d.Field != kept.field {
				continue
			}
			if l, ok := listenerOn(have, int32(port)); ok {
				want = kept.keep(want, have, l)
			}
		}
	}
	for _, l := range have.Listeners {
		want = keepGroupSettings(want, have, l, differences)
	}
	return want
}

func keepProtocol(want model.Desired, have model.Observed, l model.Listener) model.Desired {
	group, ok := servingGroup(have, l)
	want = want.KeepProtocol(l, group)
	if !ok {
		want = want.KeepTargetGroup(l.Port, group)
	}
	return want
}

func keepTargetGroup(want model.Desired, have model.Observed, l model.Listener) model.Desired {
	group, _ := servingGroup(have, l)
	return want.KeepTargetGroup(l.Port, group)
}

// keepGroupSettings keeps the health check and the attributes of the target group of a listener, after all that selects
// the group.
func keepGroupSettings(want model.Desired, have model.Observed, l model.Listener,
	differences []plan.Difference) model.Desired {
	group, ok := servingGroup(have, l)
	i := want.Listener(l.Port)
	if !ok || i < 0 {
		return want
	}
	for _, d := range differences {
		if d.Kind == kindGroupAttributes && d.Object == listenerKey(l.Port) && group.Attributes != nil {
			want = want.KeepAttribute(l.Port, d.Field, group.Attributes)
		}
	}
	existing, wanted := targetGroup{DesiredGroup: group.Desired()}, targetGroup{DesiredGroup: want.Listeners[i].Group}
	wanted.Name = existing.Name // of an adopted one it is another one
	kept := rows.Keep(&groupKind, []targetGroup{wanted}, []targetGroup{existing}, differences)
	if health := kept[0].Health; health != wanted.Health {
		want = want.KeepHealth(l.Port, health)
	}
	return want
}

func keepListener(want model.Desired, have model.Observed, l model.Listener) model.Desired {
	group, _ := servingGroup(have, l)
	return want.KeepListener(l, group)
}
