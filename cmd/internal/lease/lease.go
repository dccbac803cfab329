// Package lease observes the leader election lease of a manager, for logs and /readyz. The framework acquires and
// renews it, and does not report other holders.
package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// period is the interval between two reads. The framework itself writes the lease every two seconds.
const period = 15 * time.Second

// Observer reads a lease periodically.
type Observer struct {
	client coordinationclient.LeaseInterface
	clock  clock.PassiveClock
	sleep  func(ctx context.Context) error
	name   string

	mu   sync.Mutex
	line string
}

// NewObserver returns the observer of a lease. Nothing is read until Watch is called.
func NewObserver(client coordinationclient.LeasesGetter, namespace, name string, c clock.Clock) *Observer {
	return &Observer{client: client.Leases(namespace), clock: c, name: name,
		sleep: func(ctx context.Context) error { return clocks.Sleep(ctx, c, period) }}
}

// Watch reads the lease until ctx ends, and logs each holder that it finds.
func (o *Observer) Watch(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("lease", o.name)
	last := ""
	for {
		holder, line := o.read(ctx)
		o.mu.Lock()
		o.line = line
		o.mu.Unlock()
		if holder != "" && holder != last {
			logger.Info("Only the holder of the lease is active. If the holder is another cloud controller manager, remove "+
				"that one, or this one", "holder", holder)
			last = holder
		}
		if o.sleep(ctx) != nil {
			return
		}
	}
}

// Line describes the lease for /readyz?verbose. A replica that waits is ready, so the line never reports a failure.
func (o *Observer) Line() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.line
}

// read returns the holder of the lease, empty if there is none or it cannot be read, and its description.
func (o *Observer) read(ctx context.Context) (holder, line string) {
	// Without a limit, an API server that does not respond would leave the last holder in Line.
	ctx, cancel := context.WithTimeout(ctx, period)
	defer cancel()
	lease, err := o.client.Get(ctx, o.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Sprintf("[+]lease %s does not exist yet\n", o.name)
	case err != nil:
		// Errors of the API server may name internal addresses, and callers of /readyz need no credentials.
		return "", fmt.Sprintf("[+]lease %s cannot be read: %s\n", o.name, apierrors.ReasonForError(err))
	case expired(lease, o.clock.Now()):
		return "", fmt.Sprintf("[+]lease %s has no holder\n", o.name)
	default:
		holder = *lease.Spec.HolderIdentity
		return holder, fmt.Sprintf("[+]lease %s is held by %s\n", o.name, holder)
	}
}

func expired(lease *coordinationv1.Lease, now time.Time) bool {
	s := lease.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" || s.RenewTime == nil || s.LeaseDurationSeconds == nil {
		return true
	}
	return s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds) * time.Second).Before(now)
}
