package nlb

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// Inventory returns load balancers, listeners, target groups and their registered targets, with attributes and tags.
func (t *Tx) Inventory() []world.Object {
	var out []world.Object
	for arn, b := range t.balancers {
		out = append(out, world.NewObject("load balancer", b.name, arn, t.viewBalancer(b),
			details(b.attributes, t.Tags[arn])))
	}
	for arn, l := range t.listeners {
		name := fmt.Sprintf("%s %d", l.protocol, l.port)
		out = append(out, world.NewObject("listener", name, arn, t.viewListener(l), details(l.attributes, t.Tags[arn])))
	}
	for arn, g := range t.targetGroups {
		var targets []string
		for _, x := range t.registeredTargets(g) {
			targets = append(targets, x.id)
		}
		out = append(out, world.NewObject("target group", g.name, arn, t.viewTargetGroup(g),
			details(g.attributes, t.Tags[arn]), map[string][]string{"Targets": targets}))
	}
	return out
}

func details(attributes, tags map[string]string) any {
	return map[string]map[string]string{"Attributes": attributes, "Tags": tags}
}
