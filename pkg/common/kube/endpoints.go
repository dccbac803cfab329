package kube

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// endpointNodes returns a function that returns the name of the node of each endpoint of a Service that gets traffic;
// empty for an endpoint outside of the nodes. It reads the cache of the API server.
func endpointNodes(client kubernetes.Interface) func(context.Context, *v1.Service) ([]string, error) {
	return func(ctx context.Context, service *v1.Service) ([]string, error) {
		selector := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name})
		list, err := client.DiscoveryV1().EndpointSlices(service.Namespace).
			List(ctx, metav1.ListOptions{LabelSelector: selector.String(), ResourceVersion: "0"})
		if err != nil {
			return nil, fmt.Errorf("listing the endpoints of Service %s/%s: %w", service.Namespace, service.Name, err)
		}
		var nodes []string
		for _, slice := range list.Items {
			for _, endpoint := range slice.Endpoints {
				if ready := endpoint.Conditions.Ready; ready != nil && !*ready {
					continue
				}
				name := ""
				if endpoint.NodeName != nil {
					name = *endpoint.NodeName
				}
				nodes = append(nodes, name)
			}
		}
		return nodes, nil
	}
}
