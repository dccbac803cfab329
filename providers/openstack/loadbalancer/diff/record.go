package diff

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
)

// StoreRecord stores a record in the tags of a load balancer.
func StoreRecord(key observe.Key, have observe.Observed, record lbcommon.AppliedRecord) plan.Change {
	step := recordStorage{newDiffer(key, have), *have.LoadBalancer, record}
	return plan.Change{
		Ref: step.ref(lbcommon.KindRecord, step.lb.Name, plan.Update, step.lb.ID),
		Fields: []plan.Field{{
			Name: kinds.FieldTags, Before: tags.Show(step.lb.Tags), After: tags.Show(step.retag(step.lb.Tags)),
		}},
		Step: step,
	}
}

// recordStorage sets the tags of an applied record on a load balancer.
type recordStorage struct {
	*differ
	lb     api.LoadBalancer
	record lbcommon.AppliedRecord
}

// Do implements plan.Step.
func (s recordStorage) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.UpdateLoadBalancer(ctx, s.lb, loadbalancers.UpdateOpts{}, s.retag)
}

// retag returns tags with the record and the marks of the owner.
func (s recordStorage) retag(have []string) []string {
	return tags.Add(tags.WithoutRecord(have), s.ownerTags(s.record))
}
