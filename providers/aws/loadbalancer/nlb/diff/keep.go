package diff

import (
	"strconv"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// keptFields are the fields of listeners, and of their target groups, that stay as they are, in the order in which they
// are kept: a listener that is not deleted comes last.
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
		{kindGroupAttributes, annotation.AttributeProxyProtocol, keepProxy},
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

func keepProxy(want model.Desired, have model.Observed, l model.Listener) model.Desired {
	group, ok := servingGroup(have, l)
	value := group.Attributes[annotation.AttributeProxyProtocol]
	if !ok || value == "" {
		return want
	}
	return want.KeepAttribute(l.Port, annotation.AttributeProxyProtocol, value)
}

func keepListener(want model.Desired, have model.Observed, l model.Listener) model.Desired {
	group, _ := servingGroup(have, l)
	return want.KeepListener(l, group)
}
