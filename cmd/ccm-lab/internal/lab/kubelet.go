package lab

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// RegisterNode creates the node as its kubelet does with an external cloud provider: with the uninitialized
// taint, first NotReady, then Ready. It sends no heartbeats: a lab has no controller that checks them.
func RegisterNode(ctx context.Context, client kubernetes.Interface, node *v1.Node) error {
	node = node.DeepCopy()
	if !slices.ContainsFunc(node.Spec.Taints, func(taint v1.Taint) bool {
		return taint.Key == cloudproviderapi.TaintExternalCloudProvider
	}) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{
			Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule,
		})
	}
	node.Status.Conditions = []v1.NodeCondition{{
		Type: v1.NodeReady, Status: v1.ConditionFalse, Reason: "KubeletNotReady", LastTransitionTime: metav1.Now(),
	}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("registering node %s: %w", node.Name, err)
	}
	return SetReady(ctx, client, node.Name, true)
}

// SetReady writes the node's Ready condition: True as its kubelet does, or Unknown as the node lifecycle
// controller does when the kubelet does not report.
func SetReady(ctx context.Context, client kubernetes.Interface, name string, ready bool) error {
	condition := v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}
	if !ready {
		condition.Status, condition.Reason = v1.ConditionUnknown, "NodeStatusUnknown"
	}
	condition.LastTransitionTime = metav1.Now()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // The node was deleted in the meantime.
		}
		if err != nil {
			return err
		}
		node.Status.Conditions = slices.DeleteFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
			return c.Type == condition.Type
		})
		node.Status.Conditions = append(node.Status.Conditions, condition)
		_, err = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}
