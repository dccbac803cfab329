package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

func TestEndpointNodes(t *testing.T) {
	endpoint := func(node string, ready *bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{NodeName: ptr.To(node), Conditions: discoveryv1.EndpointConditions{Ready: ready}}
	}
	slice := func(namespace, name, service string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
				Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			Endpoints: endpoints,
		}
	}
	client := fake.NewClientset(
		slice("default", "web-1", "web", endpoint("n1", ptr.To(true)), endpoint("n2", ptr.To(false)), endpoint("n3", nil)),
		slice("default", "web-2", "web", endpoint("n1", ptr.To(true)), discoveryv1.Endpoint{}),
		slice("default", "other", "other", endpoint("n4", ptr.To(true))),
		slice("other", "web-1", "web", endpoint("n5", ptr.To(true))))
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	nodes, err := endpointNodes(client)(t.Context(), service)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"n1", "n3", "n1", ""}, nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}
