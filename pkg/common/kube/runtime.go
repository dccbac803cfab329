// Package kube gives providers access to the manager's cluster: Events, annotations, conditions and finalizers of
// Services, ConfigMaps, and its UID.
package kube

import (
	"context"
	"encoding/json"
	"fmt"
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

// component is the source of Events and the client's user agent.
const component = "unified-ccm"

// uidRetryInterval is the interval between two attempts to read the cluster's UID.
const uidRetryInterval = 2 * time.Second

// NewRuntime returns the runtime of a provider. It sends Events until stop is closed. It waits until the cluster's
// UID is read, because without it the objects of clusters with the same name cannot be distinguished: it calls
// waiting with the reason of each failed attempt, and with nil at the end. An error means that stop was closed
// before. Without clients, as in tests, Events are dropped and the cluster's UID is unknown.
func NewRuntime(clients cloudprovider.ControllerClientBuilder, stop <-chan struct{}, dryRun bool,
	waiting func(error)) (provider.Runtime, error) {
	ctx := wait.ContextForChannel(stop)
	if clients == nil {
		return provider.Runtime{Recorder: &record.FakeRecorder{}, DryRun: dryRun}, nil
	}
	client, uid, err := awaitClusterUID(ctx, clients, waiting)
	if err != nil {
		return provider.Runtime{}, err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	go func() {
		<-stop
		broadcaster.Shutdown()
	}()
	runtime := provider.Runtime{
		Recorder:      broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: component}),
		ClusterUID:    uid,
		DryRun:        dryRun,
		EndpointNodes: endpointNodes(client),
		ConfigMap:     NewConfigMaps(client, dryRun),
	}
	if !dryRun {
		runtime.Annotate = annotator(client)
		runtime.SetFinalizers = finalizerSetter(client)
		runtime.SetCondition = conditionSetter(client)
	}
	return runtime, nil
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

// conditionSetter returns a function that sets a condition of a Service. The patch merges conditions by their types.
func conditionSetter(client kubernetes.Interface) func(context.Context, *v1.Service, metav1.Condition) error {
	return func(ctx context.Context, service *v1.Service, condition metav1.Condition) error {
		if !provider.SetsConditions(ctx) {
			return nil
		}
		var item any = condition
		if condition.Status == "" {
			item = map[string]any{"$patch": "delete", "type": condition.Type}
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": service.UID}, "status": map[string]any{"conditions": []any{item}},
		})
		if err != nil {
			return err
		}
		_, err = client.CoreV1().Services(service.Namespace).
			Patch(ctx, service.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}
}

// awaitClusterUID returns a client and the cluster's UID once it is read, or an error once ctx has ended.
func awaitClusterUID(ctx context.Context, clients cloudprovider.ControllerClientBuilder,
	waiting func(error)) (kubernetes.Interface, string, error) {
	for {
		client, err := clients.Client(component)
		if err == nil {
			var uid string
			if uid, err = ClusterUID(ctx, client); err == nil {
				waiting(nil)
				return client, uid, nil
			}
		}
		waiting(err)
		klog.FromContext(ctx).Error(err, "No controller starts before the cluster's UID is read")
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(uidRetryInterval):
		}
	}
}

// ClusterUID reads the UID of the kube-system namespace, which exists as long as the cluster.
func ClusterUID(ctx context.Context, client kubernetes.Interface) (string, error) {
	namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return "", fmt.Errorf("the manager's account must be allowed to get namespace %s, whose UID identifies the "+
			"cluster: %w", metav1.NamespaceSystem, err)
	}
	if err != nil {
		return "", fmt.Errorf("reading the UID of namespace %s, which identifies the cluster: %w", metav1.NamespaceSystem,
			err)
	}
	return string(namespace.UID), nil
}
