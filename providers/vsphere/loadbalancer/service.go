package loadbalancer

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// serviceKind is the load balancer service, which all Services of the cluster share. It is never updated: users choose
// its size.
var serviceKind = rows.Kind[*api.LBService, *struct{}]{
	Name: kindService,
	Key:  func(s *api.LBService) string { return s.DisplayName },
	Rows: []rows.Row[*api.LBService, *struct{}]{
		{Name: "size", Value: rows.Text(func(s *api.LBService) *string { return &s.Size })},
		{Name: "connectivity_path", Value: rows.Text(func(s *api.LBService) *string { return &s.ConnectivityPath })},
	},
}

// serviceCreate is the change that creates the load balancer service of the cluster. Another Service may create it at
// the same time.
func (d *differ) serviceCreate() plan.Change {
	want := newService(d.config, d.owner)
	change := serviceKind.Create(&want)
	change.Step = serviceCreation{}
	return change
}

// servicePath returns the path of the load balancer service, or its name before it is created.
func (d *differ) servicePath() string {
	if d.have.Service == nil {
		return names.ClusterDisplay(d.owner.key.ClusterName)
	}
	return d.have.Service.Path
}

// ownsService reports whether the load balancer service was created for this cluster. Only then it is deleted after
// its last virtual server.
func (d *differ) ownsService(s api.LBService) bool {
	key, uid := d.owner.key, s.Tag(names.TagClusterUID)
	return d.config.ServiceID == "" && s.Tag(names.TagOwner) == d.owner.app &&
		s.Tag(names.TagCluster) == key.ClusterName &&
		(uid == "" || key.ClusterUID == "" || uid == key.ClusterUID)
}

// serviceDelete is the change that deletes the load balancer service. It stays if another Service uses it now, or is
// about to.
func (d *differ) serviceDelete(have api.LBService, after []plan.Ref) plan.Change {
	change := serviceKind.Delete(&have)
	change.ID, change.After, change.Step = have.Path, after, serviceDeletion{have.Path}
	return change
}

// serviceCreation creates the load balancer service.
type serviceCreation struct{}

// Do implements plan.Step.
func (serviceCreation) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	_, release, err := w.holdService(ctx)
	if err == nil {
		release()
	}
	return err
}

// serviceDeletion deletes the load balancer service.
type serviceDeletion struct{ path string }

// Do implements plan.Step.
func (s serviceDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return w.deleteService(ctx, s.path)
}
