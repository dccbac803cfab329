package dataplane

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"k8s.io/utils/clock"
)

// concurrentChecks is the number of concurrent checks of one frontend.
const concurrentChecks = 16

// checker keeps the health of a balancer's targets up to date until it is stopped.
type checker struct {
	check  Check
	cancel context.CancelFunc
	done   chan struct{}
}

// startChecker checks all targets at once, and then at each interval.
func startChecker(c clock.WithTicker, check Check, b *balancer) *checker {
	ctx, cancel := context.WithCancel(context.Background())
	k := &checker{check: check, cancel: cancel, done: make(chan struct{})}
	if check.Protocol == "" || check.Interval <= 0 {
		b.resetHealth()
		close(k.done)
		return k
	}
	ticker := c.NewTicker(check.Interval)
	go func() {
		defer close(k.done)
		defer ticker.Stop()
		for {
			k.checkTargets(ctx, b)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
			}
		}
	}()
	return k
}

func (k *checker) stop() {
	k.cancel()
	<-k.done
}

func (k *checker) checkTargets(ctx context.Context, b *balancer) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, concurrentChecks)
	for _, t := range b.currentTargets() {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			healthy := k.check.passes(ctx, t)
			if ctx.Err() == nil { // an interrupted check has no result
				b.report(t, healthy, k.check)
			}
		})
	}
	wg.Wait()
}

// passes makes one check.
func (c Check) passes(ctx context.Context, t netip.AddrPort) bool {
	if c.Port != 0 {
		t = netip.AddrPortFrom(t.Addr(), c.Port)
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	if c.Protocol == HTTP {
		return c.passesHTTP(ctx, t)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", t.String())
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func (c Check) passesHTTP(ctx context.Context, t netip.AddrPort) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.String()+c.Path, nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true} // ignores proxies of the environment
	response, err := transport.RoundTrip(r)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusBadRequest
}

// backend has the common parts of both kinds of frontend: settings, balancer and checks.
type backend struct {
	clock    clock.WithTicker
	balancer *balancer

	mu       sync.Mutex
	settings Frontend
	checker  *checker
}

func newBackend(f Frontend, c clock.WithTicker) *backend {
	b := &backend{clock: c, balancer: newBalancer(c), settings: f}
	b.balancer.set(f)
	b.checker = startChecker(c, f.Check, b.balancer)
	return b
}

func (b *backend) update(f Frontend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settings = f
	b.balancer.set(f)
	// New targets restart the checks too, so that they do not wait for the next interval.
	b.checker.stop()
	b.checker = startChecker(b.clock, f.Check, b.balancer)
}

func (b *backend) current() Frontend {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settings
}

func (b *backend) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.checker.stop()
}
