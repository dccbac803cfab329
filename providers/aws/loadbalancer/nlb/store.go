package nlb

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const (
	// listAge is the max age of the shared lists. It only has to span a burst: a restart that reconciles every
	// Service within seconds reads them once. It is also the time for which a reconcile may miss that a load
	// balancer was deleted by hand.
	listAge = 30 * time.Second
	// confirmAge is the max age of the shared lists for a creation or a deletion to use them as its own read:
	// they were read for the same Service, or for a concurrent one.
	confirmAge = 5 * time.Second
	// detailAge is the max age of details of each load balancer: listeners, attributes and targets. The audit
	// reads them every 30 minutes, so that they become older only without it.
	detailAge = 40 * time.Minute
	// settleTime bounds how long lists may miss objects that we created, or show objects that we deleted. AWS
	// documents no bound.
	settleTime = 2 * time.Minute
)

// Store is the snapshot that all Services share: lists of load balancers and target groups, and details that
// need a call for each of them. Before an object is created or deleted, it is read again.
type Store struct {
	options Options
	// state orders the reads and writes of the tables. Services are its owners.
	state *snapshot.Store
	// balancers and groups are listed. All tables are by ARN.
	balancers *snapshot.Table[model.Balancer]
	groups    *snapshot.Table[model.TargetGroup]
	// listeners and attributes are those of each load balancer, groupAttributes and targets those of
	// each target group. Tags are those of any object.
	listeners       *snapshot.Table[[]model.Listener]
	attributes      *snapshot.Table[map[string]string]
	groupAttributes *snapshot.Table[map[string]string]
	targets         *snapshot.Table[model.Health]
	tags            *snapshot.Table[map[string]string]
}

// Index keys of the tables.
const (
	indexName     = "name/"
	indexGroup    = "security group/"
	indexBalancer = "load balancer/"
	// indexOrphan finds the target groups of the VPC that no load balancer uses.
	indexOrphan  = "orphan"
	indexService = "Service/"
)

func newStore(o Options) *Store {
	s := &Store{options: o, state: snapshot.NewStore(o.Clock)}
	s.balancers = snapshot.NewTable(s.state, snapshot.Kind[model.Balancer]{
		ID: func(b model.Balancer) string { return b.ARN }, List: s.listBalancers, MaxAge: listAge, Settle: settleTime,
		Index: func(b model.Balancer) []string {
			keys := []string{indexName + b.Name}
			for _, group := range b.SecurityGroups {
				keys = append(keys, indexGroup+group)
			}
			return keys
		},
	})
	s.groups = snapshot.NewTable(s.state, snapshot.Kind[model.TargetGroup]{
		ID: func(g model.TargetGroup) string { return g.ARN }, List: s.listGroups, MaxAge: listAge, Settle: settleTime,
		Index: func(g model.TargetGroup) []string {
			if len(g.Balancers) == 0 && g.VPC == o.VPC {
				return []string{indexOrphan}
			}
			keys := make([]string, len(g.Balancers))
			for i, balancer := range g.Balancers {
				keys[i] = indexBalancer + balancer
			}
			return keys
		},
	})
	s.listeners = newDetails[[]model.Listener](s.state, nil)
	s.attributes = newDetails[map[string]string](s.state, nil)
	s.groupAttributes = newDetails[map[string]string](s.state, nil)
	s.targets = newDetails[model.Health](s.state, nil)
	s.tags = newDetails(s.state, func(tags map[string]string) []string {
		return []string{indexService + tags[names.ServiceTag]}
	})
	s.balancers.Owns(s.listeners, s.attributes, s.tags)
	s.groups.Owns(s.groupAttributes, s.targets, s.tags)
	return s
}

// newDetails returns a table of the details of objects. It evicts rows that were not used for a day.
func newDetails[T any](state *snapshot.Store, index func(T) []string) *snapshot.Table[T] {
	return snapshot.NewTable(state, snapshot.Kind[T]{
		MaxAge: detailAge, Settle: settleTime, EvictAfter: 24 * time.Hour, Index: index,
	})
}

// serviceName identifies a Service as an owner in the store.
func serviceName(key lbcommon.Key) string { return key.Namespace + "/" + key.Name }

// markUncertain makes the next Observe of a Service's load balancer read it, and its lists: a write failed
// and may have been applied nevertheless, so that an object may exist that no list shows yet.
func (s *Store) markUncertain(key lbcommon.Key) {
	s.state.MarkUncertain(serviceName(key))
	s.balancers.Invalidate()
	s.groups.Invalidate()
}

// updateListener changes one listener after a write.
func (s *Store) updateListener(balancer, arn string, change func(*model.Listener)) {
	s.listeners.Update(balancer, func(list *[]model.Listener) {
		*list = slices.Clone(*list)
		for i := range *list {
			if (*list)[i].ARN == arn {
				change(&(*list)[i])
			}
		}
	})
}

// putListener replaces or adds a listener after a write.
func (s *Store) putListener(balancer string, listener model.Listener) {
	s.listeners.Update(balancer, func(list *[]model.Listener) {
		others := slices.DeleteFunc(slices.Clone(*list), func(l model.Listener) bool { return l.ARN == listener.ARN })
		*list = append(others, listener)
		sorting.Func(*list, func(a, b model.Listener) int { return cmp.Compare(a.Port, b.Port) })
	})
	s.relink(balancer)
}

func (s *Store) deleteListener(balancer, listener string) {
	s.listeners.Update(balancer, func(list *[]model.Listener) {
		*list = slices.DeleteFunc(slices.Clone(*list), func(l model.Listener) bool { return l.ARN == listener })
	})
	s.tags.Delete(listener)
	s.relink(balancer)
}

// deleteBalancer removes a load balancer with its listeners. Its target groups stay.
func (s *Store) deleteBalancer(arn string) {
	s.balancers.Delete(arn)
	s.relink(arn)
}

// relink updates the target groups that a load balancer uses, after its listeners changed.
func (s *Store) relink(balancer string) {
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

// updateTargets records the state of targets after a write.
func (s *Store) updateTargets(group string, targets []model.Target, state types.TargetHealthStateEnum) {
	s.targets.Update(group, func(health *model.Health) {
		*health = maps.Clone(*health)
		for _, t := range targets {
			(*health)[t] = state
		}
	})
}

// updateTags changes the tags of an object after a write.
func (s *Store) updateTags(arn string, set map[string]string, remove []string) {
	s.tags.Update(arn, func(tags *map[string]string) {
		*tags = merged(*tags, set)
		maps.DeleteFunc(*tags, func(key, _ string) bool { return slices.Contains(remove, key) })
	})
}

// group returns the cached target group, our own writes included.
func (s *Store) group(arn string) (model.TargetGroup, bool) {
	g, exists := s.groups.Get(arn)
	g.Targets, _ = s.targets.Get(arn)
	return g, exists
}

// listenersWith returns the listeners of a load balancer that forward to a target group.
func (s *Store) listenersWith(balancer *model.Balancer, group string) []model.Listener {
	if balancer == nil {
		return nil
	}
	listeners, _ := s.listeners.Get(balancer.ARN)
	return slices.DeleteFunc(slices.Clone(listeners), func(l model.Listener) bool {
		return !slices.ContainsFunc(l.Forwards, func(f model.Forward) bool { return f.Group == group })
	})
}
