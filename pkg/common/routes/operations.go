package routes

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// New returns Routes over source. It makes no call.
func New(o Options, source Source, targets NodeTargets) *Routes {
	o.MaxBatch = cmp.Or(o.MaxBatch, DefaultMaxBatch)
	r := &Routes{options: o, source: source, targets: targets}
	r.setListed(nil, nil)
	r.batches = batch.New(batch.Options{
		Provider: o.Provider, Operation: "routes", MaxSize: o.MaxBatch, Timeout: o.CallTimeout, Window: o.Window,
		Clock: o.Clock,
	}, r.apply)
	return r
}

// CreateRoute creates the route to the instance of its target node, unless it exists. It replaces a blackhole
// at the same destination. A route to another target is left to the framework, which knows whether its node
// still has the pod CIDR.
func (r *Routes) CreateRoute(ctx context.Context, clusterName, nameHint string, route *cloudprovider.Route) error {
	destination, err := canonicalCIDR(route.DestinationCIDR)
	if err != nil {
		return err
	}
	node := string(route.TargetNode)
	id, err := r.targets.InstanceIDForNode(ctx, node)
	if err != nil {
		return fmt.Errorf("route %s: get the instance of node %s: %w", destination, node, err)
	}
	op := operation{cluster: clusterName, create: true, route: Route{
		Name: nameHint, Destination: destination, InstanceID: id, NodeName: node, Owned: true,
	}}
	if err := r.do(ctx, op); err != nil {
		err = fmt.Errorf("route %s to node %s: %w", destination, node, err)
		if cloudapi.Is(err, cloudapi.AlreadyExists, cloudapi.Conflict) {
			return conflictError{err}
		}
		return err
	}
	return nil
}

// DeleteRoute deletes the route if it exists. The route stays if its destination was assigned to another node in the
// meantime.
func (r *Routes) DeleteRoute(ctx context.Context, clusterName string, route *cloudprovider.Route) error {
	listed, err := r.listedRoute(route)
	if err != nil {
		return err
	}
	if err := r.do(ctx, operation{cluster: clusterName, route: listed}); err != nil {
		return fmt.Errorf("route %s (%s): %w", listed.Destination, listed.Name, err)
	}
	return nil
}

func (r *Routes) do(ctx context.Context, op operation) error {
	result, _, err := r.batches.Do(ctx, op)
	if err != nil {
		return err
	}
	return result
}

// conflictError makes the framework retry within the same sync, as it does for conflicts of the Kubernetes
// API: the conflicting route is being deleted concurrently.
type conflictError struct{ error }

var _ apierrors.APIStatus = conflictError{}

// Status implements apierrors.APIStatus.
func (e conflictError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Message: e.Error()}
}

// Unwrap returns the error of the cloud.
func (e conflictError) Unwrap() error { return e.error }
