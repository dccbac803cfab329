package classic

import (
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// refusalAge is how long listeners or subnets that AWS refused are not tried again: each attempt closes ports or
// leaves a zone for a moment, and breaks connections.
const refusalAge = 30 * time.Minute

// refusals are the listeners and subnets that AWS refused although those that they replace were removed before.
type refusals struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	last map[refusalKey]refusal
}

// refusalKey has the name of the load balancer, and the kind in plans.
type refusalKey struct{ name, kind string }

type refusal struct {
	// want is the text of what was wanted.
	want string
	err  error
	at   time.Time
}

// add records that AWS refused what was wanted.
func (r *refusals) add(name, kind, want string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[refusalKey{name, kind}] = refusal{want, err, r.clock.Now()}
}

// of returns the error with which AWS refused the same before, nil if it did not or some time has passed.
func (r *refusals) of(name, kind, want string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.last[refusalKey{name, kind}]
	if !ok || last.want != want || r.clock.Since(last.at) >= refusalAge {
		return nil
	}
	return last.err
}

// forget removes what is recorded about a load balancer.
func (r *refusals) forget(name string, kinds ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, kind := range kinds {
		delete(r.last, refusalKey{name, kind})
	}
}

// showWanted formats wanted listeners with their certificates.
func showWanted(listeners []Listener) string {
	show := func(l Listener) string { return l.String() + " " + l.Certificate }
	return strings.Join(api.Convert(listeners, show), ", ")
}

// foreignCertificate returns the first certificate of ACM in another region than that of zones, "" for none: AWS
// refuses it. It is "" too if no zone is known.
func foreignCertificate(listeners []Listener, zones map[string]string) string {
	for _, l := range listeners {
		arn := strings.Split(l.Certificate, ":")
		if len(arn) < 6 || arn[2] != "acm" || arn[3] == "" {
			continue
		}
		for _, zone := range zones {
			if zone != "" && !strings.HasPrefix(zone, arn[3]) {
				return l.Certificate
			}
		}
	}
	return ""
}
