package assign

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
)

const (
	// endpointsDelay is when the endpoints of a Service are checked after it has changed: by then, pods that are created
	// with it are commonly ready.
	endpointsDelay = 30 * time.Second
	// endpointsInterval is the time between two checks. Pods may move without a change of their Service.
	endpointsInterval = 10 * time.Minute
)

// needsLocalEndpoints reports whether nodes answer the Service only if they have an endpoint of it.
func needsLocalEndpoints(service *v1.Service) bool {
	return service.Spec.Type == v1.ServiceTypeLoadBalancer && service.DeletionTimestamp.IsZero() &&
		service.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
}

// queueEndpoints queues a check of the endpoints of a Service. Of several for one Service, the first counts.
func (s *Services) queueEndpoints(service *v1.Service) {
	if len(s.options.Clouds) > 1 && needsLocalEndpoints(service) {
		s.endpoints.queue.AddAfter(cache.MetaObjectToName(service).String(), endpointsDelay)
	}
}

// checkEndpoints sends an Event about a Service whose load balancer has no node with an endpoint, because all endpoints
// are on nodes of other clouds. A Service without endpoints gets none.
func (s *Services) checkEndpoints(ctx context.Context, key string) (time.Duration, error) {
	service, ok := s.get(key)
	if !ok || !needsLocalEndpoints(service) {
		if ok {
			s.recorder.forget(service, events.LoadBalancerEndpointsElsewhere)
		}
		return 0, nil
	}
	r, known := s.known(service)
	read := s.access().EndpointNodes
	if !known || read == nil {
		return endpointsInterval, nil
	}
	nodes, err := read(ctx, service)
	if err != nil {
		// Not worth the faster attempts of a failure: nothing else waits for it.
		klog.FromContext(ctx).Error(err, "Failed to list the endpoints of a Service", "service", klog.KObj(service))
		return endpointsInterval, nil
	}
	var elsewhere []string
	for _, node := range nodes {
		owner := s.options.CloudOfNode(node)
		if owner == r.Owner {
			s.recorder.forget(service, events.LoadBalancerEndpointsElsewhere)
			return endpointsInterval, nil
		}
		if owner == "" {
			owner = "no cloud of this manager"
		}
		elsewhere = append(elsewhere, owner)
	}
	if len(elsewhere) > 0 {
		slices.Sort(elsewhere)
		s.recorder.sendOnce(service, events.LoadBalancerEndpointsElsewhere, fmt.Sprintf("externalTrafficPolicy is Local, "+
			"the load balancer is in %s, and all endpoints are on nodes of %s: no node of %s answers. Schedule pods on nodes "+
			"of %s, or set externalTrafficPolicy to Cluster.", r.Owner, strings.Join(slices.Compact(elsewhere), " and "),
			r.Owner, r.Owner))
	}
	return endpointsInterval, nil
}
