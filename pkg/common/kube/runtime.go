// Package kube gives providers access to the manager's cluster: Events, annotations and its UID.
package kube

import (
	"context"
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const (
	// component is the source of Events and the client's user agent.
	component = "unified-ccm"
	// uidTimeout covers the restart of an API server. No controller runs in the meantime.
	uidTimeout       = 30 * time.Second
	uidRetryInterval = time.Second
)

// NewRuntime returns the runtime of a provider. It sends Events until stop is closed. Without clients, as in
// tests, Events are dropped and the cluster's UID is unknown.
func NewRuntime(clients cloudprovider.ControllerClientBuilder, stop <-chan struct{}, dryRun bool) provider.Runtime {
	ctx := wait.ContextForChannel(stop)
	logger := klog.FromContext(ctx)
	withoutEvents := provider.Runtime{Recorder: &record.FakeRecorder{}, DryRun: dryRun}
	if clients == nil {
		return withoutEvents
	}
	client, err := clients.Client(component)
	if err != nil {
		logger.Error(err, "Failed to create a client for the Kubernetes API: Events are dropped and the cluster's UID is "+
			"unknown")
		return withoutEvents
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	go func() {
		<-stop
		broadcaster.Shutdown()
	}()
	uid, err := clusterUID(ctx, client)
	if err != nil {
		logger.Error(err, "Failed to read the UID of namespace kube-system: cloud objects of clusters with the same name "+
			"cannot be distinguished. Allow the manager to get this namespace and restart it")
	}
	runtime := provider.Runtime{
		Recorder:   broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: component}),
		ClusterUID: uid,
		DryRun:     dryRun,
	}
	if !dryRun {
		runtime.Annotate = annotator(client)
	}
	return runtime
}

// annotator returns a function that sets annotations of a Service. It patches the status subresource, as the service
// controller does, so that the manager needs no permission to update Services themselves. Because of the UID in the
// patch, the API server rejects it for another Service of the same name.
func annotator(client kubernetes.Interface) func(context.Context, *v1.Service, map[string]string) error {
	return func(ctx context.Context, service *v1.Service, annotations map[string]string) error {
		metadata := map[string]any{"uid": service.UID, "annotations": annotations}
		patch, err := json.Marshal(map[string]any{"metadata": metadata})
		if err != nil {
			return err
		}
		_, err = client.CoreV1().Services(service.Namespace).
			Patch(ctx, service.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}
}

// clusterUID reads the UID of the kube-system namespace, which exists as long as the cluster. It does not retry
// when the namespace is forbidden or missing.
func clusterUID(ctx context.Context, client kubernetes.Interface) (string, error) {
	var uid string
	var lastErr error
	err := wait.PollUntilContextTimeout(ctx, uidRetryInterval, uidTimeout, true, func(ctx context.Context) (bool, error) {
		namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		switch {
		case err == nil:
			uid = string(namespace.UID)
			return true, nil
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsNotFound(err):
			return false, err
		default:
			lastErr = err
			return false, nil
		}
	})
	if err != nil && lastErr != nil {
		return "", lastErr
	}
	return uid, err
}
