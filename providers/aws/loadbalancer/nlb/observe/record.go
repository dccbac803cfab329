package observe

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// The applied record of a load balancer is stored in two of its tags. AppliedTag has the record without its
// members, TargetsTag has the members: load balancers with the same nodes have equal values there, so that
// one call writes many. A manager that starts and finds the record of the desired state reads neither
// listeners and attributes nor targets. The audit, which ignores records, finds changes that other clients
// made in the meantime.
//
// The record is written with changes that are made anyway, and never by itself: a load balancer that was
// taken over has none until the first change.

// prove fills in the details that the applied record of a load balancer proves to equal the desired state, if
// none are cached yet.
func (s *Store) prove(arn string, want *model.Desired) {
	have, _ := s.tags.Get(arn)
	record := model.RecordOf(have)
	if _, read := s.listeners.Get(arn); want == nil || read || record.State == "" || record.State != want.Record.State {
		return
	}
	groups := map[string]string{}
	for _, g := range s.groups.Lookup(indexBalancer + arn) {
		groups[g.Name] = g.ARN
	}
	r := s.state.Begin()
	listeners := []model.Listener{}
	for _, w := range want.Listeners {
		group, linked := groups[w.Group.Name]
		if !linked {
			return // the load balancer is incomplete
		}
		listeners = append(listeners, w.Applied(group))
	}
	for _, w := range want.Listeners {
		s.groupAttributes.Merge(r, groups[w.Group.Name], maps.Clone(w.Group.Attributes))
		if !record.Proves(want.Record) {
			continue
		}
		health := model.Health{}
		for _, t := range w.Group.Targets {
			health[t.Target] = types.TargetHealthStateEnumInitial
		}
		s.targets.Merge(r, groups[w.Group.Name], health)
	}
	s.listeners.Merge(r, arn, listeners)
	s.attributes.Merge(r, arn, maps.Clone(want.Attributes))
}
