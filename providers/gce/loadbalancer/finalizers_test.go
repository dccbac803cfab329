package loadbalancer

import (
	"slices"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/handover"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
)

func TestFinalizersFollowObjects(t *testing.T) {
	t.Parallel()
	external := &api.ForwardingRule{Scheme: api.SchemeExternal}
	internal := &api.ForwardingRule{Scheme: api.SchemeInternal}
	for name, test := range map[string]struct {
		want *model.Desired
		have Observed
		keys []string
	}{
		"nothing":                          {},
		"external, before its creation":    {want: &model.Desired{}, keys: []string{handover.FinalizerExternal}},
		"internal, before its creation":    {want: &model.Desired{Internal: true}, keys: []string{handover.FinalizerInternal}},
		"external, while it is deleted":    {have: Observed{Rule: external}, keys: []string{handover.FinalizerExternal}},
		"a pool is left":                   {have: Observed{Pool: &api.TargetPool{}}, keys: []string{handover.FinalizerExternal}},
		"internal, while it is deleted":    {have: Observed{Rule: internal}, keys: []string{handover.FinalizerInternal}},
		"a backend service is left":        {have: Observed{Backend: &api.BackendService{}}, keys: []string{handover.FinalizerInternal}},
		"from external to internal":        {want: &model.Desired{Internal: true}, have: Observed{Rule: external}, keys: []string{handover.FinalizerExternal, handover.FinalizerInternal}},
		"from internal to external":        {want: &model.Desired{}, have: Observed{Rule: internal}, keys: []string{handover.FinalizerExternal, handover.FinalizerInternal}},
		"a rule that ingress-gce has made": {want: &model.Desired{}, have: Observed{Elsewhere: external}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &Cloud{}
			if keys := c.Finalizers(test.want, test.have); !slices.Equal(keys, test.keys) {
				t.Errorf("got %q, want %q", keys, test.keys)
			}
			for _, key := range test.keys {
				if !c.OwnsFinalizer(key) {
					t.Errorf("%s is not ours", key)
				}
			}
		})
	}
}

func TestFinalizersOfIngressAreNotOurs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{handover.FinalizerExternalV2, handover.FinalizerExternalV3, handover.FinalizerInternalV2,
		"service.kubernetes.io/load-balancer-cleanup"} {
		if (&Cloud{}).OwnsFinalizer(name) {
			t.Errorf("%s is not of this manager", name)
		}
	}
}
