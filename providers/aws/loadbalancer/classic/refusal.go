package classic

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// Listeners or subnets that AWS refused are not tried again for some time: each attempt closes ports or leaves a zone
// for a moment, and breaks connections. The cause may end soon, such as a certificate that is not yet issued, so the
// time is short at first. It doubles with each refusal.
const (
	firstRefusalAge = time.Minute
	lastRefusalAge  = 24 * time.Hour
)

// refusals are the listeners and subnets that AWS refused although those that they replace were removed before.
type refusals struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	last map[refusalKey]refusal
}

// refusalKey has the name of the load balancer, and the kind in plans.
type refusalKey struct{ name, kind string }

type refusal struct {
	// want are the texts of what was wanted.
	want []string
	err  error
	// age is the time between the refusal and until.
	age   time.Duration
	until time.Time
}

// add records that AWS refused what was wanted. It returns the error with the time of the next attempt.
func (r *refusals) add(name, kind string, want []string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, age := refusalKey{name, kind}, firstRefusalAge
	if last, ok := r.last[key]; ok && slices.Equal(last.want, want) {
		age = min(2*last.age, lastRefusalAge)
	}
	until := r.clock.Now().Add(age)
	err = fmt.Errorf("%w; the same is not tried again before %s", err, until.UTC().Format(time.RFC3339))
	r.last[key] = refusal{want, err, age, until}
	return err
}

// of returns the error with which AWS refused the same before, nil if it did not or if it is time to try again.
func (r *refusals) of(name, kind string, want []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.last[refusalKey{name, kind}]
	if !ok || !slices.Equal(last.want, want) || !r.clock.Now().Before(last.until) {
		return nil
	}
	return last.err
}

// keep forgets what is recorded about a load balancer unless all of it is still among what is wanted: its Service was
// edited since, and may get the same settings again once AWS accepts them.
func (r *refusals) keep(name, kind string, want []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, refused := range r.last[refusalKey{name, kind}].want {
		if !slices.Contains(want, refused) {
			delete(r.last, refusalKey{name, kind})
		}
	}
}

// forget removes what is recorded about a load balancer.
func (r *refusals) forget(name string, kinds ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, kind := range kinds {
		delete(r.last, refusalKey{name, kind})
	}
}

// textsOf returns the texts of wanted listeners, with their certificates.
func textsOf(listeners []Listener) []string {
	return api.Convert(listeners, func(l Listener) string { return l.String() + " " + l.Certificate })
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
