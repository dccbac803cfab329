package loadbalancer

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// serviceID returns the ID of the load balancer service of the cluster.
func (d *differ) serviceID() string {
	cluster := d.owner.key.ClusterUID
	if cluster == "" {
		cluster = d.owner.key.ClusterName
	}
	return names.ObjectID(cluster, partService, d.cloud.config.Tier1Path)
}

// newService returns the load balancer service of the cluster, as it is created.
func (d *differ) newService() api.LBService {
	want := api.LBService{Size: d.cloud.config.Size, Enabled: true, ConnectivityPath: d.cloud.config.Tier1Path}
	want.DisplayName = names.ClusterDisplay(d.owner.key.ClusterName)
	tags := d.tags(nil)
	delete(tags, names.TagService)
	want.Tags = tagged(nil, tags)
	return want
}

// serviceCreate is the change that creates the load balancer service of the cluster. Another Service may create it at
// the same time.
func (d *differ) serviceCreate() plan.Change {
	want := d.newService()
	var f plan.Fields
	f.Diff("size", "", want.Size)
	f.Diff("connectivity_path", "", want.ConnectivityPath)
	return plan.Change{
		Ref: plan.Ref{Kind: kindService, Name: want.DisplayName, Action: plan.Create}, Fields: f,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			_, release, err := d.holdService(ctx)
			if err == nil {
				release()
			}
			return err
		},
	}
}

// holdService returns the path of the load balancer service, which is not deleted before release is called. It creates
// the service if there is none: the deletion of another Service may have deleted it since the plan.
func (d *differ) holdService(ctx context.Context) (path string, release func(), err error) {
	unlock, err := d.store.serviceLock.Lock(ctx)
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	service, err := d.cloud.service()
	if err != nil {
		return "", nil, err
	}
	if service == nil {
		created, err := d.store.services.put(ctx, api.LBServices+"/"+d.serviceID(), d.newService())
		if err != nil {
			return "", nil, err
		}
		service = &created
	}
	d.store.serviceHolds.Add(1)
	return service.Path, func() { d.store.serviceHolds.Add(-1) }, nil
}

// ownsService reports whether the load balancer service was created for this cluster. Only then it is deleted after
// its last virtual server.
func (d *differ) ownsService(s api.LBService) bool {
	key, uid := d.owner.key, s.Tag(names.TagClusterUID)
	return d.cloud.config.ServiceID == "" && s.Tag(names.TagOwner) == d.cloud.app &&
		s.Tag(names.TagCluster) == key.ClusterName &&
		(uid == "" || key.ClusterUID == "" || uid == key.ClusterUID)
}

// serviceDelete is the change that deletes the load balancer service. It stays if another Service uses it now, or is
// about to.
func (d *differ) serviceDelete(have api.LBService, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindService, Name: have.DisplayName, Action: plan.Delete}, ID: have.Path, After: after,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			unlock, err := d.store.serviceLock.Lock(ctx)
			if err != nil {
				return err
			}
			defer unlock()
			if d.store.serviceHolds.Load() > 0 || d.store.usesService(have.Path) {
				return nil
			}
			err = d.store.services.remove(ctx, have.Path)
			if !cloudapi.Is(err, cloudapi.Conflict) {
				return err
			}
			// Another cluster or a user may have created a virtual server since the list.
			if listErr := d.store.servers.refresh(ctx, true); listErr != nil {
				return listErr
			}
			if d.store.usesService(have.Path) {
				return nil
			}
			return err
		},
	}
}
