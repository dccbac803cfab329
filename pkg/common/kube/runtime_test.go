package kube

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestClusterUID(t *testing.T) {
	client := fake.NewClientset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "u-1"}})
	if uid, err := ClusterUID(t.Context(), client); uid != "u-1" || err != nil {
		t.Errorf("got %q, %v", uid, err)
	}
	if uid, err := ClusterUID(t.Context(), fake.NewClientset()); uid != "" || err == nil {
		t.Errorf("without the namespace: %q, %v", uid, err)
	}
}
