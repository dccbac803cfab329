package kube

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// NewConfigMaps returns a function that reads a ConfigMap, and creates it with the initial data if it does not
// exist. Read-only, it returns an error instead. Of several creators one succeeds, and all get its data.
func NewConfigMaps(client kubernetes.Interface, readOnly bool) func(context.Context, types.NamespacedName,
	map[string]string) (map[string]string, error) {
	return func(ctx context.Context, name types.NamespacedName, initial map[string]string) (map[string]string, error) {
		configMaps := client.CoreV1().ConfigMaps(name.Namespace)
		found, err := configMaps.Get(ctx, name.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && !readOnly {
			found, err = configMaps.Create(ctx, &v1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Data: initial,
			}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				found, err = configMaps.Get(ctx, name.Name, metav1.GetOptions{})
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading or creating the ConfigMap %s: %w", name, err)
		}
		return found.Data, nil
	}
}
