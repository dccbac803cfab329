package kube

import (
	"context"
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// finalizerSetter returns a function that adds and removes finalizers of a Service. The strategic merge patch names
// only these, so that those of others stay, whatever the list has become. It patches the status subresource, as the
// annotator does. Because of the UID in the patch, the API server rejects it for another Service of the same name.
func finalizerSetter(client kubernetes.Interface) func(context.Context, *v1.Service, []string, []string) error {
	return func(ctx context.Context, service *v1.Service, add, remove []string) error {
		metadata := map[string]any{"uid": service.UID}
		if len(add) > 0 {
			metadata["finalizers"] = add
		}
		if len(remove) > 0 {
			metadata["$deleteFromPrimitiveList/finalizers"] = remove
		}
		patch, err := json.Marshal(map[string]any{"metadata": metadata})
		if err != nil {
			return err
		}
		_, err = client.CoreV1().Services(service.Namespace).
			Patch(ctx, service.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if len(add) == 0 && apierrors.IsNotFound(err) {
			return nil // It was deleted, because it had no other finalizer.
		}
		return err
	}
}
