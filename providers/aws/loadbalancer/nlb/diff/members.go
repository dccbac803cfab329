package diff

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// Members returns only the changes of targets: every target group to which a listener forwards gets the nodes of the
// request, and keeps its settings. Problems of the request's options are ignored.
func Members(o Options, r model.Request, have model.Observed) []plan.Change {
	d := newDiffer(o, have)
	b := have.Balancer
	if b == nil || have.ForeignOwner(o.Cluster.ID, d.Key) != "" {
		return nil
	}
	serving := servingGroups(have.Listeners)
	for _, g := range have.TargetGroups {
		if !serving[g.ARN] || d.foreignGroup(g) {
			continue
		}
		want := model.DesiredGroup{Name: g.Name, Port: g.Port, TargetType: g.TargetType, AddressType: g.AddressType}
		want.Targets = r.Targets(want)
		if change, ok := d.targetsUpdate(reference{kind: kindTargetGroup, name: g.Name, arn: g.ARN}, g, want, nil); ok {
			d.add(change)
		}
	}
	return d.changes
}

// servingGroups returns the target groups that get new connections. A group with weight 0 drains, or waits for its
// listener.
func servingGroups(listeners []model.Listener) map[string]bool {
	arns := map[string]bool{}
	for _, l := range listeners {
		for _, f := range l.Forwards {
			if len(l.Forwards) == 1 || f.Weight > 0 {
				arns[f.Group] = true
			}
		}
	}
	return arns
}
