package diff

import (
	"context"
	"maps"
	"strconv"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// attributes are those of one object.
type attributes struct {
	name string
	// set is nil if they were not read. Of a wanted object they are those that the Service sets.
	set map[string]string
	// serves reports whether the object is a target group with the traffic of a listener.
	serves bool
}

// The kinds of attributes. Each attribute is a field. Some of them break the connections to a target group in use.
var (
	balancerAttributes = attributesKind(kindAttributes, plan.Effect{})
	listenerAttributes = attributesKind(kindListener+" "+kindAttributes, plan.Effect{})
	groupAttributes    = attributesKind(kindGroupAttributes, switchesProxy())
)

func switchesProxy() plan.Effect {
	effect := rows.Traffic("network: the PROXY protocol is turned on or off")
	effect.Fields = []string{annotation.AttributeProxyProtocol}
	return effect
}

func attributesKind(name string, effect plan.Effect) rows.Kind[*attributes, *attributes] {
	return rows.Kind[*attributes, *attributes]{
		Name: name,
		Key:  func(a *attributes) string { return a.name },
		Rows: rows.InPlace([]rows.Row[*attributes, *attributes]{{
			Value: rows.Entries(func(a *attributes) map[string]string { return a.set },
				func(to, from *attributes) { to.set = maps.Clone(from.set) }),
			Unread: func(have *attributes) bool { return have.set == nil },
			Effect: effect, Disrupts: func(_, want *attributes) bool { return want.serves },
		}}),
	}
}

// attributesUpdate returns the change of those attributes of an object that the Service sets, if they differ.
// Attributes that were not read count as different: the authoritative read that follows decides.
func (d *differ) attributesUpdate(kind rows.Kind[*attributes, *attributes], of reference, have map[string]string,
	want attributes, after []plan.Ref) (plan.Change, bool) {
	have = maps.Clone(have)
	maps.DeleteFunc(have, func(key, _ string) bool { _, ok := want.set[key]; return !ok })
	change, differ := kind.Update(&attributes{set: have}, &want)
	step := attributesStep{of: of, balancer: d.balancer(), set: map[string]string{}}
	for _, f := range change.Fields {
		step.set[f.Name] = f.After
	}
	change.Step, change.After = step, after
	return change, differ
}

// attributesStep sets attributes of a load balancer, a listener or a target group.
type attributesStep struct {
	of, balancer reference
	set          map[string]string
}

// Do implements plan.Step.
func (s attributesStep) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	arns, err := resolveAll(ids, s.of, s.balancer)
	if err != nil {
		return err
	}
	switch s.of.kind {
	case kindListener:
		return w.SetListenerAttributes(ctx, arns[1], arns[0], s.set)
	case kindTargetGroup:
		return w.SetGroupAttributes(ctx, arns[0], s.set)
	default:
		return w.SetAttributes(ctx, arns[0], s.set)
	}
}

// diffAttributes plans the attributes of the load balancer. Those of a new one are known.
func (d *differ) diffAttributes(have map[string]string, after []plan.Ref) {
	want := attributes{name: d.name(), set: d.want.Attributes}
	if change, ok := d.attributesUpdate(balancerAttributes, d.balancer(), have, want, after); ok {
		d.add(change)
	}
}

// groupAttributesUpdate returns the change of the attributes of a target group that the Service sets, if they differ.
func (d *differ) groupAttributesUpdate(g reference, have map[string]string, want model.DesiredListener, serves bool,
	after []plan.Ref) (plan.Change, bool) {
	wanted := attributes{name: want.Group.Name, set: want.Group.Attributes, serves: serves}
	change, ok := d.attributesUpdate(groupAttributes, g, have, wanted, after)
	if serves {
		change.Key = listenerKey(want.Port)
	}
	return change, ok
}

// listenerAttributesUpdate returns the change of the idle timeout, if it differs.
func (d *differ) listenerAttributesUpdate(l reference, have model.Listener, want model.DesiredListener,
	after []plan.Ref) (plan.Change, bool) {
	if want.IdleTimeout == 0 {
		return plan.Change{}, false
	}
	if have.AttributesErr != nil {
		d.warnf("%s stays as it is: the attributes of listener %s cannot be read: %v", intent.KeyIdleTimeout, l.name,
			have.AttributesErr)
		return plan.Change{}, false
	}
	wanted := attributes{name: l.name, set: map[string]string{
		model.AttributeIdleTimeout: strconv.Itoa(int(want.IdleTimeout)),
	}}
	return d.attributesUpdate(listenerAttributes, l, have.Attributes, wanted, after)
}
