package lease

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// annotationTransitions has the spec.leaseTransitions of two leaders that were replicas of this manager, as FIRST-LAST:
// no other manager has led between them. Other managers keep the annotation, and do not change it.
const annotationTransitions = "unified-ccm.io/transitions"

// markAttempts bounds the updates that conflict with a renewal.
const markAttempts = 5

// Mark marks the lease as that of this manager. Since identifies the first leader after which only replicas of this
// manager have led: it changes after another manager. Only the leader may call it, once.
func Mark(ctx context.Context, client coordinationclient.LeasesGetter, namespace, name string) (since string,
	err error) {
	for range markAttempts {
		lease, getErr := client.Leases(namespace).Get(ctx, name, metav1.GetOptions{})
		if getErr != nil {
			return "", getErr
		}
		transitions := int(ptr.Deref(lease.Spec.LeaseTransitions, 0))
		first, last, parsed := parseTransitions(lease.Annotations[annotationTransitions])
		if !parsed || last < transitions-1 {
			first = transitions
		}
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, annotationTransitions, fmt.Sprintf("%d-%d", first, transitions))
		if _, err = client.Leases(namespace).Update(ctx, lease, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			// A lease that is created again counts from 0.
			return fmt.Sprintf("%s/%d", lease.UID, first), err
		}
	}
	return "", err
}

func parseTransitions(text string) (first, last int, ok bool) {
	before, after, _ := strings.Cut(text, "-")
	first, firstErr := strconv.Atoi(before)
	last, lastErr := strconv.Atoi(after)
	return first, last, firstErr == nil && lastErr == nil
}
