package apply

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// octavia answers with an error for some load balancers, and shows all others as ACTIVE.
type octavia struct {
	API
	errors map[string]error
	listed []string
	list   error
}

func (o *octavia) ListLoadBalancers(ctx context.Context) ([]api.LoadBalancer, error) {
	var list []api.LoadBalancer
	for _, id := range o.listed {
		lb, _ := o.GetLoadBalancer(ctx, id)
		list = append(list, lb)
	}
	return list, o.list
}

func (o *octavia) GetLoadBalancer(_ context.Context, id string) (api.LoadBalancer, error) {
	err := o.errors[id]
	if cloudapi.Is(err, cloudapi.Unavailable) {
		delete(o.errors, id) // the next read succeeds
	}
	lb := api.LoadBalancer{}
	lb.ID, lb.ProvisioningStatus = id, api.Active
	return lb, err
}

func TestDeniedReadEndsOnlyItsOwnWait(t *testing.T) {
	failing := func(class cloudapi.Class) error {
		return &cloudapi.Error{Class: class, Operation: "ShowLoadBalancer", Err: errors.New("refused")}
	}
	denied, unavailable := failing(cloudapi.Denied), failing(cloudapi.Unavailable)
	for _, tt := range []struct {
		name  string
		cloud octavia
		// failed are the waits that end with an error.
		failed []string
	}{
		{name: "one is denied", cloud: octavia{errors: map[string]error{"a": denied}}, failed: []string{"a"}},
		{name: "one is unavailable", cloud: octavia{errors: map[string]error{"a": unavailable}}},
		{name: "one is denied, others are listed", cloud: octavia{errors: map[string]error{"a": denied},
			listed: []string{"b", "c"}}, failed: []string{"a"}},
		{name: "the list is denied", cloud: octavia{list: denied}, failed: []string{"a", "b", "c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWaiter(&tt.cloud, clock.RealClock{}, observe.NewStore(&tt.cloud, clock.RealClock{}))
				done := map[string]chan error{}
				for _, id := range []string{"a", "b", "c"} {
					done[id] = make(chan error, 1)
					go func() {
						_, _, err := w.await(t.Context(), id, waitForChange)
						done[id] <- err
					}()
				}
				for id, ended := range done {
					if err := <-ended; (err != nil) != slices.Contains(tt.failed, id) {
						t.Errorf("the wait for %s ended with %v", id, err)
					}
				}
			})
		})
	}
}

// defective panics while it shows a load balancer.
type defective struct{ octavia }

func (*defective) GetLoadBalancer(context.Context, string) (api.LoadBalancer, error) { panic("defect") }

func TestPanicOfAPollEndsItsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &defective{}
		w := newWaiter(cloud, clock.RealClock{}, observe.NewStore(cloud, clock.RealClock{}))
		for range 2 { // The second wait starts the polls again, or uses them.
			var panicked *panics.Error
			if _, _, err := w.await(t.Context(), "a", waitForChange); !errors.As(err, &panicked) {
				t.Errorf("got %v", err)
			}
		}
	})
}
