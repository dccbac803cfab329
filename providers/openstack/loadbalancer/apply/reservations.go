package apply

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// ReservationTimeout is the time for which a Service keeps its addresses without a further attempt to use them. The
// framework retries at least every five minutes.
const ReservationTimeout = 10 * time.Minute

// reservations are the floating IPs and ports that Services have used until the deletion of a load balancer that is
// replaced: until its successor has them, they are free in Neutron, and another Service could name them. It is safe for
// concurrent use.
type reservations struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// byID has the IDs of floating IPs and ports.
	byID map[string]reservation
}

type reservation struct {
	service types.NamespacedName
	until   time.Time
}

// add reserves objects for a Service.
func (r *reservations) add(service types.NamespacedName, ids ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.byID[id] = reservation{service, r.clock.Now().Add(ReservationTimeout)}
	}
}

// addFree reserves objects for a Service that are not reserved for another one.
func (r *reservations) addFree(service types.NamespacedName, ids ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for _, id := range ids {
		reserved, ok := r.byID[id]
		if id != "" && (!ok || reserved.service == service || !now.Before(reserved.until)) {
			r.byID[id] = reservation{service, now.Add(ReservationTimeout)}
		}
	}
}

// renew prolongs the reservations of a Service, which makes its next attempt after some time, and drops those of others
// that have ended.
func (r *reservations) renew(service types.NamespacedName, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for id, reserved := range r.byID {
		switch {
		case !now.Before(reserved.until):
			delete(r.byID, id)
		case reserved.service == service:
			r.byID[id] = reservation{service, now.Add(wait + ReservationTimeout)}
		}
	}
}

// remove ends the reservation of an object.
func (r *reservations) remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, id)
}

// check returns an error if an object is reserved for another Service.
func (r *reservations) check(service types.NamespacedName, kind, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	reserved, ok := r.byID[id]
	if !ok || reserved.service == service || !r.clock.Now().Before(reserved.until) {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Conflict, Operation: kind + " " + id,
		Err: fmt.Errorf("it is the Service %s's, whose load balancer is being replaced: choose another", reserved.service)}
}
