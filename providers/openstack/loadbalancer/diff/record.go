package diff

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/apply"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
)

// StoreRecord stores a record in the tags of a load balancer.
func StoreRecord(write apply.Writer, have observe.Observed, record lbcommon.AppliedRecord) plan.Change {
	d, lb := newDiffer(write, have), *have.LoadBalancer
	retag := func(have []string) []string {
		return tags.Add(tags.WithoutRecord(have), d.ownerTags(record))
	}
	return plan.Change{
		Ref:    d.ref(lbcommon.KindRecord, lb.Name, plan.Update, lb.ID),
		Fields: []plan.Field{{Name: "tags", Before: tags.Show(lb.Tags), After: tags.Show(retag(lb.Tags))}},
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return write.UpdateLoadBalancer(ctx, lb, loadbalancers.UpdateOpts{}, retag)
		},
	}
}
