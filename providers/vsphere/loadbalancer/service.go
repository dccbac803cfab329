package loadbalancer

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// serviceCreate is the change that creates the load balancer service of the cluster. Another Service may create it at
// the same time.
func (d *differ) serviceCreate() plan.Change {
	want := d.write.newService()
	var f plan.Fields
	f.Diff("size", "", want.Size)
	f.Diff("connectivity_path", "", want.ConnectivityPath)
	return plan.Change{
		Ref: plan.Ref{Kind: kindService, Name: want.DisplayName, Action: plan.Create}, Fields: f,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			_, release, err := d.write.holdService(ctx)
			if err == nil {
				release()
			}
			return err
		},
	}
}

// ownsService reports whether the load balancer service was created for this cluster. Only then it is deleted after
// its last virtual server.
func (d *differ) ownsService(s api.LBService) bool {
	key, uid := d.owner.key, s.Tag(names.TagClusterUID)
	return d.write.config.ServiceID == "" && s.Tag(names.TagOwner) == d.owner.app &&
		s.Tag(names.TagCluster) == key.ClusterName &&
		(uid == "" || key.ClusterUID == "" || uid == key.ClusterUID)
}

// serviceDelete is the change that deletes the load balancer service. It stays if another Service uses it now, or is
// about to.
func (d *differ) serviceDelete(have api.LBService, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindService, Name: have.DisplayName, Action: plan.Delete}, ID: have.Path, After: after,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.deleteService(ctx, have.Path)
		},
	}
}
