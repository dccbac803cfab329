package lease

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// annotationTransitions has the spec.leaseTransitions of the last leader that was one of this manager's replicas. Other
// managers keep the annotation, and do not change it.
const annotationTransitions = "unified-ccm.io/transitions"

// markAttempts bounds the updates that conflict with a renewal.
const markAttempts = 5

// Mark marks the lease as that of this manager. Continues is true if the leader before was one of its replicas, too, so
// that no other manager has worked since; it is false if that is unknown. Only the leader may call it, once.
func Mark(ctx context.Context, client coordinationclient.LeasesGetter, namespace, name string) (continues bool,
	err error) {
	for range markAttempts {
		lease, getErr := client.Leases(namespace).Get(ctx, name, metav1.GetOptions{})
		if getErr != nil {
			return false, getErr
		}
		transitions := int(ptr.Deref(lease.Spec.LeaseTransitions, 0))
		last, parseErr := strconv.Atoi(lease.Annotations[annotationTransitions])
		continues = parseErr == nil && last >= transitions-1
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, annotationTransitions, strconv.Itoa(transitions))
		if _, err = client.Leases(namespace).Update(ctx, lease, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return continues, err
		}
	}
	return continues, err
}
