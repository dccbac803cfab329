package diff

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// diffAttributes returns the desired attributes that differ, and the fields for the plan. Attributes that were not
// read count as different: the authoritative read that follows decides.
func diffAttributes(have, want map[string]string) (map[string]string, plan.Fields) {
	var f plan.Fields
	set := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if have == nil || have[key] != want[key] {
			set[key] = want[key]
			f = append(f, plan.Field{Name: key, Before: have[key], After: want[key]})
		}
	}
	return set, f
}

// attributesAfterCreate sets the attributes that differ from those of a new load balancer.
func (d *differ) attributesAfterCreate(after []plan.Ref) {
	if set, f := diffAttributes(model.NewAttributes(), d.want.Attributes); len(set) > 0 {
		d.add(d.attributesChange(set, f, after))
	}
}

// attributesUpdate returns the change of the load balancer's attributes, if they differ.
func (d *differ) attributesUpdate() (plan.Change, bool) {
	set, f := diffAttributes(d.have.Attributes, d.want.Attributes)
	return d.attributesChange(set, f, nil), len(set) > 0
}

func (d *differ) attributesChange(set map[string]string, f plan.Fields, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindAttributes, Name: d.name(), Action: plan.Update}, Fields: f, After: after,
		Do: withARN(d.balancerARN, func(ctx context.Context, arn string) error {
			return d.Write.SetAttributes(ctx, arn, set)
		}),
	}
}

// groupAttributes returns the change of the attributes that the Service sets, if they differ.
func (d *differ) groupAttributes(g reference, have map[string]string, want model.DesiredGroup,
	after []plan.Ref) (plan.Change, bool) {
	set, f := diffAttributes(have, want.Attributes)
	return plan.Change{
		Ref: plan.Ref{Kind: kindGroupAttributes, Name: want.Name, Action: plan.Update}, Fields: f,
		After: after,
		Do: withARN(g.resolve, func(ctx context.Context, arn string) error {
			return d.Write.SetGroupAttributes(ctx, arn, set)
		}),
	}, len(set) > 0
}

// listenerAttributes returns the change of the idle timeout, if it differs.
func (d *differ) listenerAttributes(l reference, have model.Listener, want model.DesiredListener,
	after []plan.Ref) (plan.Change, bool) {
	if want.IdleTimeout == 0 {
		return plan.Change{}, false
	}
	if have.AttributesErr != nil {
		d.warnf("%s stays as it is: the attributes of listener %s cannot be read: %v", intent.KeyIdleTimeout, l.name,
			have.AttributesErr)
		return plan.Change{}, false
	}
	set, f := diffAttributes(have.Attributes, map[string]string{
		model.AttributeIdleTimeout: strconv.Itoa(int(want.IdleTimeout))})
	return plan.Change{
		Ref: plan.Ref{Kind: kindListener + " " + kindAttributes, Name: l.name, Action: plan.Update}, Fields: f, After: after,
		Do: d.withBalancer(l, func(ctx context.Context, balancer, arn string) error {
			return d.Write.SetListenerAttributes(ctx, balancer, arn, set)
		}),
	}, len(set) > 0
}
