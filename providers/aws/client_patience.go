package aws

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

const (
	// firstPause is how long a service is left alone after it has throttled: EC2 refills most of
	// its buckets with 20 calls in that time.
	firstPause = time.Second
	// longestPause bounds the pauses, which double while a service goes on throttling, by what the
	// AWS SDKs wait at most between two attempts.
	longestPause = 20 * time.Second
)

// patient makes the rate limit follow AWS, whose buckets are shared with everybody in the account.
// AWS does not say how long to wait when it throttles; patient says it in its place, in the header
// Retry-After, which holds back all requests of that kind to that service, and not only the one refused.
type patient struct {
	base  http.RoundTripper
	clock clock.PassiveClock

	mu     sync.Mutex
	pauses map[cloudapi.Request]pause
}

// pause is the last one that a service was given.
type pause struct {
	length time.Duration
	until  time.Time
}

// RoundTrip implements http.RoundTripper.
func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	req := describe(r)
	kind := cloudapi.Request{Service: req.Service, Mutating: req.Mutating}
	switch class := classify(resp, nil); {
	case class == cloudapi.Throttled && resp.Header.Get("Retry-After") == "":
		resp.Header.Set("Retry-After", strconv.Itoa(int(p.throttled(kind).Seconds())))
	case class == "":
		p.answered(kind)
	}
	return resp, nil
}

// throttled returns how long to wait. Requests that were under way together count once.
func (p *patient) throttled(kind cloudapi.Request) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, last := p.clock.Now(), p.pauses[kind]
	if now.Before(last.until) {
		return last.length
	}
	length := min(max(2*last.length, firstPause), longestPause)
	if p.pauses == nil {
		p.pauses = map[cloudapi.Request]pause{}
	}
	p.pauses[kind] = pause{length: length, until: now.Add(length)}
	return length
}

// answered begins anew with short pauses once the service answers again.
func (p *patient) answered(kind cloudapi.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := p.pauses[kind]; ok && !p.clock.Now().Before(last.until) {
		delete(p.pauses, kind)
	}
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (p *patient) CloseIdleConnections() { closeIdle(p.base) }
