package assign

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// balancer is the load balancers of one cloud, for the framework's service controller: it works on the Services of that
// cloud only, whatever that controller has in its queue.
type balancer struct {
	loadbalancer.Interface
	services *Services
	cloud    string
}

// Balancer returns the load balancers of a cloud for the framework's service controller; false if it has none.
func (s *Services) Balancer(name string) (cloudprovider.LoadBalancer, bool) {
	cloud, ok := s.cloud(name)
	if !ok || cloud.Balancer == nil {
		return nil, false
	}
	return &balancer{cloud.Balancer, s, name}, true
}

// notOwnError is the error about a Service of another cloud. The framework tries again, and finds no such Service.
func (b *balancer) notOwnError(service *v1.Service) error {
	return &cloudapi.Error{
		Class: cloudapi.Conflict, Operation: "load balancer",
		Err: fmt.Errorf("Service %s/%s is not one of %s", service.Namespace, service.Name, b.cloud),
	}
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. On false, the framework removes the finalizer: so it is true
// as long as another cloud may have objects of the Service, and an error if the Service is not one of this cloud.
func (b *balancer) GetLoadBalancer(ctx context.Context, cluster string,
	service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	if b.services.Role(b.cloud, service) != Owning {
		return nil, false, b.notOwnError(service)
	}
	status, exists, err := b.Interface.GetLoadBalancer(ctx, cluster, service)
	if r, _ := b.services.known(service); r.From != "" {
		exists = true
	}
	return status, exists, err
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer. The old load balancer of a move follows its Service too,
// but does not report its address. A call that has waited for the end of the move makes nothing again.
func (b *balancer) EnsureLoadBalancer(ctx context.Context, cluster string, service *v1.Service,
	nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	unlock, err := b.services.lock(ctx, b.cloud, service)
	if err != nil {
		return nil, err
	}
	defer unlock()
	role := b.services.Role(b.cloud, service)
	if role == None || role == Leaving && !service.DeletionTimestamp.IsZero() {
		return nil, cloudprovider.ImplementedElsewhere
	}
	if role == Leaving { // One that a move was taken back from may have nothing yet, and gets nothing.
		_, exists, err := b.Interface.GetLoadBalancer(ctx, cluster, removed(service, b.services.clock.Now()))
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, cloudprovider.ImplementedElsewhere
		}
		ctx, service = asLeaving(ctx, service)
	}
	status, err := b.Interface.EnsureLoadBalancer(ctx, cluster, service, nodes)
	if err != nil {
		return nil, err
	}
	// A move may have started, or been taken back, during the call. The address of a cloud that does not own the Service
	// any more must not replace that of the owner.
	if b.services.Role(b.cloud, service) != Owning {
		return nil, cloudprovider.ImplementedElsewhere
	}
	if r, _ := b.services.known(service); r.From != "" && r.Ready == nil {
		b.services.established(service)
	}
	return status, nil
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancer) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service,
	nodes []*v1.Node) error {
	switch b.services.Role(b.cloud, service) {
	case None:
		return cloudprovider.ImplementedElsewhere
	case Leaving:
		ctx, service = asLeaving(ctx, service)
	}
	return b.Interface.UpdateLoadBalancer(ctx, cluster, service, nodes)
}

// asLeaving returns a context and a Service as the old cloud of a move has to see them. The history and the conditions
// in the status are those of the owner: an edit that the one has seen would be no cause for the other. The old cloud
// keeps its history in memory.
func asLeaving(ctx context.Context, service *v1.Service) (context.Context, *v1.Service) {
	service = service.DeepCopy()
	meta.RemoveStatusCondition(&service.Status.Conditions, loadbalancer.ConditionHistory)
	return provider.WithoutConditions(ctx), service
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer. The owner of a Service that is being moved deletes
// the old load balancer too. Nothing is deleted for a Service of another cloud; if it has just become one, this cloud
// still has objects of it, and the framework must not remove the finalizer.
func (b *balancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	switch b.services.Role(b.cloud, service) {
	case Leaving:
		return b.notOwnError(service)
	case None:
		return nil
	}
	if r, _ := b.services.known(service); r.From != "" {
		if err := b.services.deleteFrom(ctx, service, r); err != nil {
			return err
		}
	}
	return b.Interface.EnsureLoadBalancerDeleted(ctx, cluster, service)
}
