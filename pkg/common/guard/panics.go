package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const (
	// maxPanics within panicInterval park a provider: a defect that every sync meets would fill the log, and a provider
	// that was interrupted in the middle may hold a lock.
	maxPanics     = 3
	panicInterval = 10 * time.Minute
	// parkedFor is how long a parked provider gets no calls. It then gets them again, because a restart is no remedy
	// with several clouds: it would interrupt the others.
	parkedFor = 10 * time.Minute
)

// partProvider is the part of the manager's health that fails while a provider is parked. No other part can work then.
const partProvider = "provider"

var errPanic = errors.New("the provider has a defect: the log has its stack")

// panicRecord has the panics of one provider.
type panicRecord struct {
	provider string
	clock    clock.PassiveClock

	mu     sync.Mutex
	recent []time.Time // within panicInterval, oldest first
	parked time.Time   // zero unless it is parked
}

// record counts and logs a panic.
func (p *panicRecord) record(ctx context.Context, call string, err *panics.Error) {
	process().panics.WithLabelValues(p.provider).Inc()
	klog.FromContext(ctx).Error(err, "Recovered from a panic in a provider", "provider", p.provider, "call", call,
		"stack", err.Stack)
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.recent) > 0 && now.Sub(p.recent[0]) >= panicInterval {
		p.recent = p.recent[1:]
	}
	p.recent = append(p.recent, now)
	if len(p.recent) >= maxPanics {
		p.recent, p.parked = nil, now
		klog.FromContext(ctx).Error(err, "Parking a provider after several panics: it gets no calls meanwhile",
			"provider", p.provider, "panics", maxPanics, "retryAfter", parkedFor)
	}
}

// health returns why the provider is parked; nil if it is not.
func (p *panicRecord) health() *provider.PartHealth {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parked.IsZero() {
		return nil
	}
	if p.clock.Since(p.parked) >= parkedFor {
		p.parked = time.Time{}
		return nil
	}
	return &provider.PartHealth{Part: partProvider, Since: p.parked, Err: &cloudapi.Error{
		Class: cloudapi.Unavailable, Operation: "calling the provider",
		Err: fmt.Errorf("parked for %s after %d panics: %w", parkedFor, maxPanics, errPanic),
	}}
}

// recovered makes a call of the framework unless the provider is parked. A panic, of this goroutine or of one that uses
// package panics, is an error.
func recovered[T any](ctx context.Context, p *panicRecord, name string, call func(context.Context) (T, error)) (value T,
	err error) {
	if parked := p.health(); parked != nil {
		return value, parked.Err
	}
	err = panics.Do(func() (err error) {
		value, err = call(ctx)
		return err
	})
	var panicked *panics.Error
	if errors.As(err, &panicked) {
		p.record(ctx, name, panicked)
	}
	return value, err
}
