package instances

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// list reads all instances. Concurrent callers share its error, which is returned again for a while.
func (i *Instances) list(ctx context.Context) ([]Instance, error) {
	if err := i.policy.lastError(); err != nil {
		return nil, err
	}
	r := i.store.Begin()
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := i.source.List(limited)
	if ctx.Err() != nil {
		return list, err // the error is this caller's own
	}
	i.policy.recordList(r, err)
	if err != nil {
		klog.FromContext(ctx).Info("Failed to list instances", "provider", i.options.Provider, "err", err)
	}
	return list, err
}

// refresh makes sure that the instances were listed at oldest or later, and that not too many were read
// singly since. It does nothing if the last list failed recently.
func (i *Instances) refresh(ctx context.Context, oldest time.Time) error {
	if i.policy.failedRecently() {
		return nil
	}
	err := i.known.RefreshSince(ctx, oldest)
	if outdated, listDue := i.policy.needsList(); err == nil && listDue {
		err = i.known.RefreshAfter(ctx, outdated)
	}
	return listError(ctx, err)
}

// awaitList waits for a list that starts after since, at least listInterval after the previous one.
func (i *Instances) awaitList(ctx context.Context, since snapshot.Reading) error {
	last, _ := i.known.Listed()
	if last.After(since) {
		return nil
	}
	if err := clocks.Sleep(ctx, i.options.Clock, last.At().Add(listInterval).Sub(i.options.Clock.Now())); err != nil {
		return err
	}
	return listError(ctx, i.known.RefreshAfter(ctx, since))
}

// listError returns nil for errors of lists after which single reads may still work: a cloud with a failed
// zone rejects unscoped lists. After throttling, single reads would only add calls.
func listError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || cloudapi.Is(err, cloudapi.Throttled, cloudapi.Canceled) {
		return err
	}
	return nil
}
