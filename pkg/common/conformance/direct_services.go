package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

// syncServices is the service controller's work on the Services in its queue.
func (d *direct) syncServices(ctx context.Context, m *manager) error {
	balancer, ok := m.cloud.LoadBalancer()
	if !ok {
		return nil
	}
	return sideBySide(m.dirtyServices(), func(key types.NamespacedName) error {
		svc, err := d.store.service(ctx, key.Namespace, key.Name)
		if err != nil {
			return err
		}
		if svc == nil || (!loadbalancer.Wanted(svc) && !needsCleanup(svc)) {
			m.forget(key)
			return nil
		}
		if needsCleanup(svc) {
			err = d.cleanUp(ctx, m, balancer, svc)
		} else {
			err = d.ensure(ctx, m, balancer, svc)
		}
		if errors.Is(err, cloudprovider.ImplementedElsewhere) {
			err = nil
		}
		if err != nil {
			d.event(ctx, svc, "SyncLoadBalancerFailed", fmt.Sprintf("Error syncing load balancer: %v", err))
		}
		return err
	})
}

// ensure creates or updates the load balancer of one Service and writes its status.
func (d *direct) ensure(ctx context.Context, m *manager, balancer cloudprovider.LoadBalancer, svc *v1.Service) error {
	if !servicehelper.HasLBFinalizer(svc) {
		svc.Finalizers = append(svc.Finalizers, servicehelper.LoadBalancerCleanupFinalizer)
		if err := d.store.updateService(ctx, svc); err != nil {
			return err
		}
	}
	all, err := d.store.nodes(ctx)
	if err != nil {
		return err
	}
	nodes := loadbalancer.TrafficNodes(all)
	m.synced(keyOf(svc), nodes, false)
	status, err := balancer.EnsureLoadBalancer(ctx, ClusterName, svc.DeepCopy(), nodes)
	switch {
	case err != nil:
		m.synced(keyOf(svc), nodes, !errors.Is(err, cloudprovider.ImplementedElsewhere))
		return fmt.Errorf("failed to ensure load balancer: %w", err)
	case m.life.Err() != nil:
		return m.life.Err()
	case status == nil:
		m.synced(keyOf(svc), nodes, true)
		return errors.New("service status returned by EnsureLoadBalancer is nil")
	}
	return d.writeStatus(ctx, svc, status)
}

// cleanUp deletes the load balancer of a Service that goes or wants none any more.
func (d *direct) cleanUp(ctx context.Context, m *manager, balancer cloudprovider.LoadBalancer, svc *v1.Service) error {
	_, exists, err := balancer.GetLoadBalancer(ctx, ClusterName, svc.DeepCopy())
	if err != nil {
		return fmt.Errorf("failed to check if load balancer exists before cleanup: %w", err)
	}
	if exists {
		err = balancer.EnsureLoadBalancerDeleted(ctx, ClusterName, svc.DeepCopy())
		if err != nil && !errors.Is(err, cloudprovider.ImplementedElsewhere) {
			return fmt.Errorf("failed to delete load balancer: %w", err)
		}
	}
	if m.life.Err() != nil {
		return m.life.Err()
	}
	svc.Finalizers = slices.DeleteFunc(svc.Finalizers, func(f string) bool { return f == servicehelper.LoadBalancerCleanupFinalizer })
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{}
	if err := d.store.updateService(ctx, svc); err != nil {
		return err
	}
	d.event(ctx, svc, "DeletedLoadBalancer", "Deleted load balancer")
	m.forget(keyOf(svc))
	return nil
}

func (d *direct) writeStatus(ctx context.Context, svc *v1.Service, status *v1.LoadBalancerStatus) error {
	if servicehelper.LoadBalancerStatusEqual(&svc.Status.LoadBalancer, status) {
		return nil
	}
	svc.Status.LoadBalancer = *status
	return d.store.updateService(ctx, svc)
}

// syncNodes is the service controller's reaction to a changed set of nodes: the membership of
// every known load balancer.
func (d *direct) syncNodes(ctx context.Context, m *manager) error {
	balancer, ok := m.cloud.LoadBalancer()
	if !ok {
		return nil
	}
	all, err := d.store.nodes(ctx)
	if err != nil {
		return err
	}
	nodes := loadbalancer.TrafficNodes(all)
	return sideBySide(m.staleServices(nodes), func(key types.NamespacedName) error {
		svc, err := d.store.service(ctx, key.Namespace, key.Name)
		if err != nil || svc == nil || !loadbalancer.Wanted(svc) {
			return err
		}
		m.synced(key, nodes, false)
		err = balancer.UpdateLoadBalancer(ctx, ClusterName, svc.DeepCopy(), nodes)
		if err == nil || errors.Is(err, cloudprovider.ImplementedElsewhere) {
			return nil
		}
		if _, exists, getErr := balancer.GetLoadBalancer(ctx, ClusterName, svc.DeepCopy()); getErr == nil && !exists {
			return nil
		}
		m.synced(key, nodes, true)
		return fmt.Errorf("failed to update load balancer hosts for service %s: %w", key, err)
	})
}

func (d *direct) event(ctx context.Context, svc *v1.Service, reason, message string) {
	ref := v1.ObjectReference{Kind: "Service", Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID}
	// An Event about a call that was cancelled is still wanted.
	d.store.recordEvent(context.WithoutCancel(ctx), d.eventNumbers.Add(1), ref, reason, message)
}

// dirtyServices returns the queue of the service controller, sorted.
func (m *manager) dirtyServices() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sorted(func(s *knownService) bool { return s.dirty })
}

// staleServices returns the known Services whose last sync saw other nodes.
func (m *manager) staleServices(nodes []*v1.Node) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	want := providerIDs(nodes)
	return m.sorted(func(s *knownService) bool {
		return !s.dirty && !maps.Equal(providerIDs(loadbalancer.TrafficNodes(s.nodes)), want)
	})
}

func (m *manager) sorted(keep func(*knownService) bool) []types.NamespacedName {
	var keys []types.NamespacedName
	for key, s := range m.services {
		if keep(s) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return strings.Compare(a.String(), b.String())
	})
	return keys
}

func (m *manager) synced(key types.NamespacedName, nodes []*v1.Node, retry bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.services[key] = &knownService{dirty: retry, nodes: nodes}
}

func (m *manager) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.services, key)
}

func providerIDs(nodes []*v1.Node) map[string]string {
	out := map[string]string{}
	for _, node := range nodes {
		out[node.Name] = node.Spec.ProviderID
	}
	return out
}
