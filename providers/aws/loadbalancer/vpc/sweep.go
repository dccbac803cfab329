package vpc

import (
	"context"
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Traces are how rules of one load balancer are known on groups that nobody has asked for.
type Traces struct {
	// LoadBalancer is its name, which is part of the descriptions of its rules by address.
	LoadBalancer string
	// Groups are the IDs of its security groups, all of whose traffic nodes let in.
	Groups []string
}

func (t Traces) in(group Group) bool {
	return slices.ContainsFunc(group.Rules, func(r Rule) bool {
		return r.Description == names.ClientRule(t.LoadBalancer) || r.Description == names.HealthRule(t.LoadBalancer) ||
			r.Protocol == ProtocolAll && slices.Contains(t.Groups, r.SourceGroup) && r.SourceGroup != group.ID
	})
}

// Sweep reads all groups of the VPC, for those in which a load balancer has left rules: see Find. EC2
// has no filter for descriptions, so it reads them all, 1,000 a page, once for all who ask within
// half a minute.
func (s *GroupStore) Sweep(ctx context.Context) error {
	if s.isSwept() {
		return nil
	}
	return s.reread(ctx, s.isSwept, s.listAll)
}

// Find makes those groups of the last sweep known in which there are traces, and the load balancer's
// own. Those without the cluster's tag are found in no other way once the nodes that were in them are gone.
func (s *GroupStore) Find(t Traces) {
	s.mu.Lock()
	defer s.mu.Unlock()
	after := maps.Clone(s.groups)
	for id, group := range s.swept {
		if _, known := after[id]; known || s.writtenAt[id] > s.sweptWrites || !t.in(group) && !slices.Contains(t.Groups, id) {
			continue
		}
		after[id] = group
		s.asked[id] = true // it is needed until its rules are gone
	}
	s.groups = after
}

// isSwept says whether the last sweep is young enough, and nothing has been in doubt since.
func (s *GroupStore) isSwept() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.doubt && !s.sweptAt.IsZero() && s.options.Clock.Since(s.sweptAt) < groupsAge
}

// listAll reads all groups of the VPC, keeps them for sweeps, and returns those that list would return.
func (s *GroupStore) listAll(ctx context.Context, ids []string) (map[string]Group, error) {
	s.mu.Lock()
	started, before := s.options.Clock.Now(), s.writes
	s.mu.Unlock()
	all := map[string]Group{}
	if err := s.describe(ctx, all, inVPC(s.options.VPC)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.swept, s.sweptAt, s.sweptWrites = all, started, before
	s.mu.Unlock()
	read := maps.Clone(all)
	maps.DeleteFunc(read, func(id string, group Group) bool {
		return !s.options.Cluster.has(group.Tags) && !slices.Contains(ids, id)
	})
	return read, nil
}
