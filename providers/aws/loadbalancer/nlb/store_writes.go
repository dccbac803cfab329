package nlb

import (
	"cmp"
	"maps"
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

// wroteBalancer changes what is known of a load balancer after a write of ours.
func (s *Store) wroteBalancer(arn string, change func(*balancerRecord)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	r := s.balancers[arn]
	r.writtenAt = s.writes
	change(&r)
	s.balancers[arn] = r
}

// changeListener changes what is known of one listener.
func (s *Store) changeListener(balancer, arn string, change func(*Listener)) {
	s.wroteBalancer(balancer, func(r *balancerRecord) {
		r.listeners = slices.Clone(r.listeners)
		for i := range r.listeners {
			if r.listeners[i].ARN == arn {
				change(&r.listeners[i])
			}
		}
	})
}

// wroteListener changes what is known of a listener, or adds it.
func (s *Store) wroteListener(balancer string, listener Listener) {
	s.wroteBalancer(balancer, func(r *balancerRecord) {
		list := slices.DeleteFunc(slices.Clone(r.listeners), func(l Listener) bool { return l.ARN == listener.ARN })
		list = append(list, listener)
		slices.SortFunc(list, func(a, b Listener) int { return cmp.Compare(a.Port, b.Port) })
		r.listeners = list
	})
	s.relink(balancer)
}

func (s *Store) listenerGone(balancer, listener string) {
	s.wroteBalancer(balancer, func(r *balancerRecord) {
		r.listeners = slices.DeleteFunc(slices.Clone(r.listeners), func(l Listener) bool { return l.ARN == listener })
	})
	s.relink(balancer)
}

// relink works out anew which target groups a load balancer forwards to.
func (s *Store) relink(balancer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := map[string]bool{}
	for _, l := range s.balancers[balancer].listeners {
		for _, f := range l.Forwards {
			used[f.Group] = true
		}
	}
	for arn, g := range s.groups {
		if linked := slices.Contains(g.Balancers, balancer); linked == used[arn] {
			continue
		}
		g.Balancers = slices.DeleteFunc(slices.Clone(g.Balancers), func(b string) bool { return b == balancer })
		if used[arn] {
			g.Balancers = append(g.Balancers, balancer)
		}
		s.writes++
		g.writtenAt = s.writes
		s.groups[arn] = g
	}
}

// wroteGroup changes what is known of a target group after a write of ours.
func (s *Store) wroteGroup(arn string, change func(*groupRecord)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	r := s.groups[arn]
	r.writtenAt = s.writes
	change(&r)
	s.groups[arn] = r
}

// wroteTags changes the tags that are known of an object.
func (s *Store) wroteTags(arn string, set map[string]string, remove []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, known := s.tags[arn]
	if !known {
		return
	}
	after := maps.Clone(r.tags)
	if after == nil {
		after = map[string]string{}
	}
	maps.Copy(after, set)
	for _, key := range remove {
		delete(after, key)
	}
	r.tags = after
	s.tags[arn] = r
}

// madeTags notes the tags with which an object was created.
func (s *Store) madeTags(arn string, made map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tags[arn] = tagRecord{tags: maps.Clone(made), readAt: s.options.Clock.Now()}
}

// balancerGone removes a load balancer that was deleted. Its listeners go with it, its target groups stay.
func (s *Store) balancerGone(key lbcommon.Key, arn string) {
	s.mu.Lock()
	delete(s.expected, serviceName(key))
	delete(s.balancers, arn)
	delete(s.tags, arn)
	s.gone[arn] = s.options.Clock.Now()
	s.mu.Unlock()
	s.relink(arn)
}

func (s *Store) groupGone(arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	delete(s.groups, arn)
	delete(s.tags, arn)
	s.gone[arn] = s.options.Clock.Now()
}

// group returns what is known of a target group now, our own writes included.
func (s *Store) group(arn string) (TargetGroup, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.groups[arn]
	return r.TargetGroup, ok
}

// listenersWith returns the listeners of a load balancer that name a target group, as they are known now.
func (s *Store) listenersWith(balancer *Balancer, group string) []Listener {
	if balancer == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.balancers[balancer.ARN].listeners), func(l Listener) bool {
		return !slices.ContainsFunc(l.Forwards, func(f Forward) bool { return f.Group == group })
	})
}
