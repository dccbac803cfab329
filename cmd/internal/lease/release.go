package lease

import (
	"context"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// releaseAttempts bounds the updates that conflict with a renewal. The framework renews every two seconds.
const releaseAttempts = 3

// Release ends the lease of the leader, so that another replica takes over at once and not when the lease expires.
// The framework elects with a context that never ends, so it releases nothing itself, and a renewal after Release takes
// the lease again: the process has to end right after it. identityPrefix is the beginning of the leader's identity; a
// lease with another holder is not changed. Only the leader may call it.
func Release(ctx context.Context, client coordinationclient.LeasesGetter, namespace, name, identityPrefix string,
	c clock.PassiveClock) error {
	var err error
	for range releaseAttempts {
		var lease *coordinationv1.Lease
		lease, err = client.Leases(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if !strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), identityPrefix) {
			return nil
		}
		// What client-go's own release writes.
		now := metav1.NewMicroTime(c.Now())
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To(""), ptr.To[int32](1)
		lease.Spec.RenewTime, lease.Spec.AcquireTime = &now, &now
		if _, err = client.Leases(namespace).Update(ctx, lease, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}
