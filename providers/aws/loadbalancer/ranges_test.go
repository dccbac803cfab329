package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestIgnoredSourceRangesGetEvent verifies that source ranges without effect get one Warning Event: at the creation of
// the load balancer, after an edit and after a restart, and not at every sync.
func TestIgnoredSourceRangesGetEvent(t *testing.T) {
	const own = annotation.KeySecurityGroups
	classic := without(annotation.KeyType)
	ranges := func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }
	portable := annotate(intent.KeySourceRanges, "192.0.2.0/24")
	groups := annotate(own, "{group-own}")
	listed := func(s *v1.Service) { classic(s); groups(s) }
	for name, tt := range map[string]struct {
		settings func(*Settings)
		kind     func(*v1.Service)
		ranges   func(*v1.Service)
		texts    []string
	}{
		"classic": {managed, listed, ranges, []string{"spec.loadBalancerSourceRanges has no effect", own}},
		"classic, annotation": {managed, listed, portable,
			[]string{intent.KeySourceRanges + " has no effect", own}},
		"classic, configuration": {func(s *Settings) { s.ClassicGroup = "{group-own}" }, classic, ranges,
			[]string{"ElbSecurityGroup"}},
		"network": {managed, groups, ranges, []string{"spec.loadBalancerSourceRanges has no effect", own}},
		"network, annotation": {managed, groups, annotate(v1.AnnotationLoadBalancerSourceRangesKey, "192.0.2.0/24"),
			[]string{v1.AnnotationLoadBalancerSourceRangesKey + " has no effect", own}},
		"network, rules of its own": {managed, func(*v1.Service) {}, ranges, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{}, tt.settings)
			r.name()
			r.settings.ClassicGroup = r.named.Expand(r.settings.ClassicGroup)
			r.restart()
			svc, open := service(tt.kind, tt.ranges), service(tt.kind)
			for _, s := range []*v1.Service{svc, open} {
				for key, value := range s.Annotations {
					s.Annotations[key] = r.named.Expand(value)
				}
			}
			r.ensure(svc)
			r.wantIgnoredRanges("creation", tt.texts)
			r.ensure(svc)
			r.wantIgnoredRanges("another sync", nil)
			r.ensure(open)
			r.events()
			r.ensure(svc)
			r.wantIgnoredRanges("edit", tt.texts)
			r.restart()
			r.ensure(svc)
			r.wantIgnoredRanges("restart", tt.texts)
			r.steady(svc)
		})
	}
}

// wantIgnoredRanges fails unless there is one Event about ignored source ranges with these texts, or none without any.
func (r *rig) wantIgnoredRanges(after string, texts []string) {
	r.t.Helper()
	found := slices.DeleteFunc(r.events(), func(e string) bool {
		return !strings.HasPrefix(e, "Warning LoadBalancerSourceRangesIgnored ")
	})
	if len(texts) == 0 && len(found) > 0 || len(texts) > 0 && len(found) != 1 {
		r.t.Fatalf("Events after %s: %q, want one with %q", after, found, texts)
	}
	for _, text := range texts {
		if !strings.Contains(found[0], text) {
			r.t.Errorf("the Event after %s lacks %q: %s", after, text, found[0])
		}
	}
}
