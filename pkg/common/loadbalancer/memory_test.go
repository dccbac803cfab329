package loadbalancer

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/instruments"
)

// A manager runs for months, and one tenant can create and delete Services all the time.
func TestDeletedServicesTakeNoMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		edit     func(*v1.Service)
		services int
		made     bool
	}{
		"a load balancer was made":      {func(*v1.Service) {}, 1000, true},
		"refused":                       {annotated(intent.KeyIdleTimeout, "soon"), 10_000, false},
		"refused, then of another type": {annotated(intent.KeyIdleTimeout, "soon"), 10_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for i := range tc.services {
				svc := web(tc.edit, func(svc *v1.Service) {
					svc.Name, svc.UID = fmt.Sprint("web-", i), types.UID(fmt.Sprint("uid-", i))
				})
				if _, err := f.EnsureLoadBalancer(t.Context(), "prod", svc, nil); (err == nil) != tc.made {
					t.Fatal(err)
				}
				if name == "refused, then of another type" {
					svc.Spec.Type = v1.ServiceTypeClusterIP
				} else {
					svc.DeletionTimestamp = new(metav1.Now())
				}
				f.deleteAsFramework(t, svc)
				f.eventsNow()
			}
			for name, n := range map[string]int{
				"states": len(f.states.byUID), "due": len(f.due.updates), "held": instruments.Process().Services("toy"),
			} {
				if n > 0 {
					t.Errorf("%s has %d entries", name, n)
				}
			}
		})
	}
}

// deleteAsFramework deletes the load balancer of a Service as the framework's service controller does.
func (f *fixture) deleteAsFramework(t *testing.T, svc *v1.Service) {
	t.Helper()
	_, exists, err := f.GetLoadBalancer(t.Context(), "prod", svc)
	if err == nil && exists {
		err = f.EnsureLoadBalancerDeleted(t.Context(), "prod", svc)
	}
	if err != nil {
		t.Fatal(err)
	}
}
