package observe

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// empty is a project without objects.
type empty struct{ API }

func (empty) ListLoadBalancers(context.Context) ([]api.LoadBalancer, error) { return nil, nil }

func (empty) ListFloatingIPs(context.Context, string) ([]api.FloatingIP, error) { return nil, nil }

// A manager runs for months, while Services come and go.
func TestDeletedServicesAreForgotten(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Now())
	s := NewStore(empty{}, clock)
	for i := range 100 {
		var key Key
		key.Name, key.UID = fmt.Sprint("web-", i), types.UID(fmt.Sprint(i))
		if err := s.read(t.Context(), key, Depth{}); err != nil {
			t.Fatal(err)
		}
		s.MarkWritten(key)
		clock.SetTime(clock.Now().Add(ListAge))
	}
	if len(s.reads) > 1 || len(s.writtenAt) > 1 {
		t.Errorf("the store remembers %d reads and %d changes", len(s.reads), len(s.writtenAt))
	}
}

// deniedProject is a project in which no load balancer may be read.
type deniedProject struct{ empty }

func (deniedProject) GetLoadBalancer(context.Context, string) (api.LoadBalancer, error) {
	return api.LoadBalancer{}, &cloudapi.Error{Class: cloudapi.Denied, Operation: "GetLoadBalancer"}
}

// Users write IDs of load balancers into annotations.
func TestNamedLoadBalancersAreLimited(t *testing.T) {
	s := NewStore(deniedProject{}, testingclock.NewFakePassiveClock(time.Now()))
	for i := range 10_000 {
		if err := s.readNamed(t.Context(), fmt.Sprint("id-", i)); err != nil {
			t.Fatal(err)
		}
		s.Delete(fmt.Sprint("deleted-", i))
		s.RefuseFailover(fmt.Sprint("failed-", i))
	}
	for name, ids := range map[string]idSet{"denied": s.denied, "deleted": s.deleted, "unrecoverable": s.unrecoverable} {
		if n := ids.cache.Len(); n > maxIDs {
			t.Errorf("%d IDs of %s load balancers", n, name)
		}
	}
	if !s.isResolved("id-9999") {
		t.Error("the last ID is not known")
	}
}
