package observe

import (
	"cmp"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// MarkUncertain makes the next Observe of a Service's load balancer read it, and its lists: a write failed
// and may have been applied nevertheless, so that an object may exist that no list shows yet.
func (s *Store) MarkUncertain(key lbcommon.Key) {
	s.state.MarkUncertain(serviceName(key))
	s.balancers.Invalidate()
	s.groups.Invalidate()
}

// AddBalancer records a load balancer that was created. It has no listeners yet.
func (s *Store) AddBalancer(b model.Balancer, attributes, tags map[string]string) {
	s.balancers.Create(b.ARN, b)
	s.listeners.Create(b.ARN, []model.Listener{})
	s.attributes.Create(b.ARN, attributes)
	s.tags.Create(b.ARN, tags)
}

// UpdateBalancer changes a load balancer after a write.
func (s *Store) UpdateBalancer(arn string, change func(*model.Balancer)) {
	s.balancers.Update(arn, change)
}

// UpdateAttributes sets attributes of a load balancer after a write.
func (s *Store) UpdateAttributes(arn string, set map[string]string) {
	s.attributes.Update(arn, func(have *map[string]string) { *have = merge(*have, set) })
}

// AddGroup records a target group that was created. It has no targets yet.
func (s *Store) AddGroup(g model.TargetGroup, tags map[string]string) {
	s.groups.Create(g.ARN, g)
	s.targets.Create(g.ARN, model.Health{})
	s.groupAttributes.Create(g.ARN, map[string]string{})
	s.tags.Create(g.ARN, tags)
}

// UpdateHealthCheck sets the health check of a target group after a write.
func (s *Store) UpdateHealthCheck(arn string, h model.HealthCheck) {
	s.groups.Update(arn, func(g *model.TargetGroup) { g.Health = h })
}

// UpdateGroupAttributes sets attributes of a target group after a write.
func (s *Store) UpdateGroupAttributes(arn string, set map[string]string) {
	s.groupAttributes.Update(arn, func(have *map[string]string) { *have = merge(*have, set) })
}

// DeleteGroup removes a target group.
func (s *Store) DeleteGroup(arn string) { s.groups.Delete(arn) }

// AddListener records a listener that was created.
func (s *Store) AddListener(balancer string, listener model.Listener, tags map[string]string) {
	s.tags.Create(listener.ARN, tags)
	s.PutListener(balancer, listener)
}

// UpdateListener changes one listener after a write.
func (s *Store) UpdateListener(balancer, arn string, change func(*model.Listener)) {
	s.listeners.Update(balancer, func(list *[]model.Listener) {
		*list = slices.Clone(*list)
		for i := range *list {
			if (*list)[i].ARN == arn {
				change(&(*list)[i])
			}
		}
	})
}

// UpdateListenerAttributes sets attributes of a listener after a write.
func (s *Store) UpdateListenerAttributes(balancer, arn string, set map[string]string) {
	s.UpdateListener(balancer, arn, func(l *model.Listener) { l.Attributes = merge(l.Attributes, set) })
}

// PutListener replaces or adds a listener after a write.
func (s *Store) PutListener(balancer string, listener model.Listener) {
	s.listeners.Update(balancer, func(list *[]model.Listener) {
		others := slices.DeleteFunc(slices.Clone(*list), func(l model.Listener) bool { return l.ARN == listener.ARN })
		*list = append(others, listener)
		sorting.Func(*list, func(a, b model.Listener) int { return cmp.Compare(a.Port, b.Port) })
	})
	s.relink(balancer)
}

// DeleteListener removes a listener.
func (s *Store) DeleteListener(balancer, listener string) {
	s.listeners.Update(balancer, func(list *[]model.Listener) {
		*list = slices.DeleteFunc(slices.Clone(*list), func(l model.Listener) bool { return l.ARN == listener })
	})
	s.tags.Delete(listener)
	s.relink(balancer)
}

// DeleteBalancer removes a load balancer with its listeners. Its target groups stay.
func (s *Store) DeleteBalancer(arn string) {
	s.balancers.Delete(arn)
	s.relink(arn)
}

// relink updates the target groups that a load balancer uses, after its listeners changed. Listeners change in
// parallel: with the lock, the last call sees all of them, and none acts on what another has already linked.
func (s *Store) relink(balancer string) {
	s.linking.Lock()
	defer s.linking.Unlock()
	used := map[string]bool{}
	listeners, _ := s.listeners.Get(balancer)
	for _, l := range listeners {
		for _, f := range l.Forwards {
			used[f.Group] = true
		}
	}
	linked := s.groups.LookupIDs(indexBalancer + balancer)
	for _, arn := range linked {
		if !used[arn] {
			s.groups.Update(arn, func(g *model.TargetGroup) { *g = g.Unlinked(balancer) })
		}
	}
	for arn := range used {
		if !slices.Contains(linked, arn) {
			s.groups.Update(arn, func(g *model.TargetGroup) { g.Balancers = append(slices.Clone(g.Balancers), balancer) })
		}
	}
}

// UpdateTargets records the state of targets after a write.
func (s *Store) UpdateTargets(group string, targets []model.Target, state types.TargetHealthStateEnum) {
	s.targets.Update(group, func(health *model.Health) {
		*health = maps.Clone(*health)
		for _, t := range targets {
			(*health)[t] = state
		}
	})
}

// UpdateTags changes the tags of an object after a write.
func (s *Store) UpdateTags(arn string, set map[string]string, remove []string) {
	s.tags.Update(arn, func(tags *map[string]string) {
		*tags = merge(*tags, set)
		maps.DeleteFunc(*tags, func(key, _ string) bool { return slices.Contains(remove, key) })
	})
}

// merge returns a copy of a map with changes.
func merge(have, set map[string]string) map[string]string {
	after := maps.Clone(have)
	if after == nil {
		after = map[string]string{}
	}
	maps.Copy(after, set)
	return after
}
