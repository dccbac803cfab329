package apply

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// LateTime is how long a creation without a reply may still take effect. Before Octavia replies, Neutron
// creates the port of the address, and a busy API queues requests long after their callers have given up.
// Nothing documents a bound; proxies and API servers usually end requests within a minute or two.
const LateTime = 2 * time.Minute

// unanswered are Services for which a creation was sent without a reply. Octavia has no idempotency token: a second
// request creates a second load balancer of the same name, and the two cannot be distinguished afterwards.
// It is safe for concurrent use.
type unanswered struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[types.NamespacedName]time.Time
}

// note remembers a creation that ended with err, if it may still take effect.
func (u *unanswered) note(key observe.Key, err error) {
	if !mayTakeEffect(err) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.until[key.Service()] = u.clock.Now().Add(LateTime)
}

// forget is for a load balancer that has appeared.
func (u *unanswered) forget(key observe.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.until, key.Service())
}

// check returns an error of class Unavailable that says when to come back, if a creation may still take effect.
func (u *unanswered) check(key observe.Key) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	left := u.until[key.Service()].Sub(u.clock.Now())
	if left <= 0 {
		delete(u.until, key.Service())
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "CreateLoadBalancer", RetryAfter: left, Err: fmt.Errorf(
		"not sent again yet: the request before was not answered, and may still be carried out; if no load balancer has "+
			"appeared by then, it is sent in %s", left.Round(time.Second))}
}

// mayTakeEffect reports whether a request was sent and no one knows what became of it.
func mayTakeEffect(err error) bool {
	switch oserr.Status(err) {
	case 0:
		var dial *net.OpError
		sent := !errors.As(err, &dial) || dial.Op != "dial"
		return sent && cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Canceled)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true // these are a proxy's words
	default:
		return false
	}
}
