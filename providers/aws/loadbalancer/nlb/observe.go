package nlb

import (
	"context"
	"slices"
	"strings"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Observe returns the existing objects of a Service's load balancer.
//
// It does not read what the applied record proves to equal the desired state, unless the observation is
// authoritative.
func (s *Store) Observe(ctx context.Context, key lbcommon.Key, want *model.Desired,
	fresh lbcommon.Freshness) (model.Observed,
	error) {
	if fresh == lbcommon.Authoritative || s.state.IsUncertain(serviceName(key)) {
		if err := s.readOne(ctx, key, true); err != nil {
			return model.Observed{}, err
		}
		return s.view(ctx, key)
	}
	if err := s.refresh(ctx); err != nil {
		return model.Observed{}, err
	}
	if err := s.readDetails(ctx, key, want); err != nil {
		return model.Observed{}, err
	}
	return s.view(ctx, key)
}

// Inventory is Observe without settings: enough to delete the objects.
func (s *Store) Inventory(ctx context.Context, key lbcommon.Key, fresh lbcommon.Freshness) (model.Observed, error) {
	read := s.refresh
	if fresh == lbcommon.Authoritative || s.state.IsUncertain(serviceName(key)) {
		read = func(ctx context.Context) error { return s.readOne(ctx, key, false) }
	}
	if err := read(ctx); err != nil {
		return model.Observed{}, err
	}
	return s.view(ctx, key)
}

// find returns the ARN of the Service's load balancer, or "" if there is none.
func (s *Store) find(key lbcommon.Key) string {
	if arns := s.balancers.LookupIDs(indexName + model.DefaultName(key)); len(arns) > 0 {
		return arns[0]
	}
	// A name that the Service chose is found by tags. The ARNs are sorted, so that the result never varies.
	for _, arn := range s.tags.LookupIDs(indexService + names.ServiceTagValue(tags.Service(key))) {
		if b, exists := s.balancers.Get(arn); exists && b.VPC == s.options.VPC && s.isFor(arn, key) {
			return arn
		}
	}
	return ""
}

// isFor reports whether the tags of an object name the Service.
func (s *Store) isFor(arn string, key lbcommon.Key) bool {
	have, _ := s.tags.Get(arn)
	return tags.IsFor(have, s.options.Cluster.ID, key)
}

// groupsOf returns the ARNs of the target groups of a Service: those that the load balancer uses, and orphans
// with its tags. They are sorted.
func (s *Store) groupsOf(key lbcommon.Key, balancer string) []string {
	var arns []string
	if balancer != "" {
		arns = s.groups.LookupIDs(indexBalancer + balancer)
	}
	for _, arn := range s.groups.LookupIDs(indexOrphan) {
		if s.isFor(arn, key) {
			arns = append(arns, arn)
		}
	}
	slices.Sort(arns)
	return arns
}

// view assembles the cached state of a Service's load balancer.
func (s *Store) view(ctx context.Context, key lbcommon.Key) (model.Observed, error) {
	groups, err := s.options.Groups.Get(ctx, vpc.GroupQuery{})
	if err != nil {
		return model.Observed{}, err
	}
	have := model.Observed{Groups: groups}
	arn := s.find(key)
	if b, exists := s.balancers.Get(arn); exists {
		b.Tags, _ = s.tags.Get(arn)
		have.Balancer = &b
		have.Attributes, _ = s.attributes.Get(arn)
		listeners, _ := s.listeners.Get(arn)
		have.Listeners = slices.Clone(listeners)
		for i := range have.Listeners {
			have.Listeners[i].Tags, _ = s.tags.Get(have.Listeners[i].ARN)
		}
		for _, id := range b.SecurityGroups {
			if len(s.balancers.LookupIDs(indexGroup+id)) > 1 {
				have.SharedGroups = append(have.SharedGroups, id)
			}
		}
	}
	for _, arn := range s.groupsOf(key, arn) {
		if g, exists := s.group(arn); exists {
			g.Attributes, _ = s.groupAttributes.Get(arn)
			g.Tags, _ = s.tags.Get(arn)
			have.TargetGroups = append(have.TargetGroups, g)
		}
	}
	sorting.Func(have.TargetGroups, func(a, b model.TargetGroup) int { return strings.Compare(a.Name, b.Name) })
	return have, nil
}
