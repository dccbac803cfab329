package observe

import (
	"context"
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// findBalancer returns the ARN of the Service's load balancer, or "" if there is none.
func (s *Store) findBalancer(key lbcommon.Key) string {
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

// ReadIsFor reads the tags of an object and reports whether they name the Service. It returns the error of the read.
func (s *Store) ReadIsFor(ctx context.Context, arn string, key lbcommon.Key) (bool, error) {
	err := s.readTagBatch(ctx, []string{arn})
	return err == nil && s.isFor(arn, key), err
}

// Group returns the cached target group with its targets, our own writes included, and whether it exists.
func (s *Store) Group(arn string) (model.TargetGroup, bool) {
	g, exists := s.groups.Get(arn)
	g.Targets, _ = s.targets.Get(arn)
	return g, exists
}

// ListenersWith returns the cached listeners of a load balancer that forward to a target group, both by their ARNs.
func (s *Store) ListenersWith(balancer, group string) []model.Listener {
	listeners, _ := s.listeners.Get(balancer)
	return slices.DeleteFunc(slices.Clone(listeners), func(l model.Listener) bool {
		return !slices.ContainsFunc(l.Forwards, func(f model.Forward) bool { return f.Group == group })
	})
}
