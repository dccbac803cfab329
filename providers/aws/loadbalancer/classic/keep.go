package classic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// Keep returns the desired objects with the existing values of some differences.
func Keep(want Desired, have Observed, differences []plan.Difference) Desired {
	b := have.Balancer
	if b == nil {
		return want
	}
	want.Listeners, want.Subnets = slices.Clone(want.Listeners), slices.Clone(want.Subnets)
	for _, d := range differences {
		if kept, ok := want.Kept.With(d); ok {
			want.Kept = kept
			if want.Managed != nil {
				managed := *want.Managed
				managed.Kept = kept
				want.Managed = &managed
			}
			continue
		}
		port, _ := strconv.ParseInt(d.Object, 10, 32)
		switch d.Kind {
		case kindListenerPolicy:
			want.KeptPolicies = append(slices.Clone(want.KeptPolicies), int32(port))
		case kindBackendPolicies:
			want.KeptBackends = append(slices.Clone(want.KeptBackends), int32(port))
		case kindListeners:
			keepListener(&want, *b, d.Field)
		case kindSubnets:
			keepSubnet(&want, strings.TrimPrefix(d.Field, fieldSubnets+" "))
		}
	}
	return want
}

// keepListener keeps the listener on the port at the beginning of an item of the listeners.
func keepListener(want *Desired, b Balancer, item string) {
	number, _, _ := strings.Cut(strings.TrimPrefix(item, fieldListeners+" "), ",")
	i := slices.IndexFunc(b.Listeners, func(l Listener) bool { return strconv.Itoa(int(l.Port)) == number })
	if i < 0 {
		return
	}
	kept := b.Listeners[i]
	want.Listeners = slices.DeleteFunc(want.Listeners, func(l Listener) bool { return l.Port == kept.Port })
	want.Listeners = append(want.Listeners, kept)
	sorting.Func(want.Listeners, compareListeners)
}

// keepSubnet keeps a subnet. No other one of its zone is attached: a load balancer has one in each.
func keepSubnet(want *Desired, id string) {
	want.Subnets = slices.DeleteFunc(want.Subnets, func(other string) bool { return want.Zones[other] == want.Zones[id] })
	want.Subnets = slices.Sorted(slices.Values(append(want.Subnets, id)))
}
