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

// UnansweredTimeout is the time in which a creation without a reply may still take effect. Before Octavia replies,
// Neutron creates the port of the address, and a busy API queues requests long after their callers have timed out. No
// bound is documented; proxies and API servers usually end requests within a minute or two.
const UnansweredTimeout = 2 * time.Minute

// unansweredCreations are Services with a creation without a reply. Octavia has no idempotency token: a second request
// creates a second load balancer of the same name, and the two cannot be distinguished afterwards. It is safe
// for concurrent use.
type unansweredCreations struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[types.NamespacedName]time.Time
}

// record records a creation that ended with err, if it may still take effect.
func (u *unansweredCreations) record(key observe.Key, err error) {
	if !mayTakeEffect(err) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.until[key.Service()] = u.clock.Now().Add(UnansweredTimeout)
}

// forget removes the creation of a load balancer that has appeared.
func (u *unansweredCreations) forget(key observe.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.until, key.Service())
}

// check returns an error of class Unavailable with the time of the retry, if a creation may still take
// effect.
func (u *unansweredCreations) check(key observe.Key) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	remaining := u.until[key.Service()].Sub(u.clock.Now())
	if remaining <= 0 {
		delete(u.until, key.Service())
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "CreateLoadBalancer", RetryAfter: remaining,
		Err: fmt.Errorf("not sent again yet: the previous request got no reply, and may still take effect; if no load "+
			"balancer has appeared by then, it is sent in %s", remaining.Round(time.Second))}
}

// mayTakeEffect reports whether a request was sent and its outcome is unknown.
func mayTakeEffect(err error) bool {
	switch oserr.Status(err) {
	case 0:
		var dial *net.OpError
		sent := !errors.As(err, &dial) || dial.Op != "dial"
		return sent && cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Canceled)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true // proxies send these
	default:
		return false
	}
}
