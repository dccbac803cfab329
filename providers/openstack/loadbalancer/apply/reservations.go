package apply

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// ReservationTimeout is the time for which a Service keeps its addresses without a further attempt to use them. The
// framework retries at least every five minutes.
const ReservationTimeout = 10 * time.Minute

// reservations are the floating IPs and ports that Services have used until the deletion of a load balancer that is
// replaced, and that load balancer, with its place: until its successor has them, they are free in Neutron, and another
// Service could name them. It is safe for concurrent use.
type reservations struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// byID has the IDs of floating IPs, ports and load balancers.
	byID map[string]reservation
}

type reservation struct {
	service types.NamespacedName
	until   time.Time
	// replaced is the load balancer of the Service with a UID; nil for another object.
	replaced *api.LoadBalancer
	uid      types.UID
}

// add reserves objects for a Service.
func (r *reservations) add(service types.NamespacedName, ids ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.byID[id] = reservation{service: service, until: r.clock.Now().Add(ReservationTimeout)}
	}
}

// addReplaced reserves the place of a load balancer that is replaced, and forgets that of an earlier one.
func (r *reservations) addReplaced(key observe.Key, lb api.LoadBalancer) {
	r.removeReplaced(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byID[lb.ID] = reservation{service: key.Service(), until: r.clock.Now().Add(ReservationTimeout), replaced: &lb,
		uid: key.UID}
}

// removeReplaced ends the reservation of the place of a Service's load balancer.
func (r *reservations) removeReplaced(key observe.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.byID, func(_ string, reserved reservation) bool {
		return reserved.replaced != nil && reserved.service == key.Service()
	})
}

// refusePlace ends the reservation of the place of a Service's load balancer if a creation there ended with an error
// that may be about its address: the next one gets any. Octavia also answers errors of the server (500) about that.
func (r *reservations) refusePlace(key observe.Key, err error) {
	if oserr.Status(err) == http.StatusInternalServerError ||
		cloudapi.Is(err, cloudapi.Invalid, cloudapi.Denied, cloudapi.Conflict, cloudapi.AlreadyExists) {
		r.removeReplaced(key)
	}
}

// replaced returns the load balancer of a Service that is replaced, until the next one is built; nil if there is none.
func (r *reservations) replaced(key observe.Key) *api.LoadBalancer {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, reserved := range r.byID {
		if reserved.replaced != nil && reserved.service == key.Service() && reserved.uid == key.UID &&
			r.clock.Now().Before(reserved.until) {
			return reserved.replaced
		}
	}
	return nil
}

// checkPlace returns an error if the address of a creation is reserved for another Service.
func (r *reservations) checkPlace(service types.NamespacedName, spec loadbalancers.CreateOpts) error {
	r.mu.Lock()
	ids := []string{spec.VipPortID}
	for id, reserved := range r.byID {
		lb := reserved.replaced
		if lb != nil && model.SameIP(lb.VipAddress, spec.VipAddress) &&
			(spec.VipSubnetID == lb.VipSubnetID || spec.VipNetworkID == lb.VipNetworkID) {
			ids = append(ids, id)
		}
	}
	r.mu.Unlock()
	for _, id := range ids {
		if err := r.check(service, "the place of the load balancer", id); err != nil {
			return err
		}
	}
	return nil
}

// addFree reserves objects for a Service that are not reserved for another one.
func (r *reservations) addFree(service types.NamespacedName, ids ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for _, id := range ids {
		reserved, ok := r.byID[id]
		if id != "" && (!ok || reserved.service == service || !now.Before(reserved.until)) {
			r.byID[id] = reservation{service: service, until: now.Add(ReservationTimeout)}
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
			reserved.until = now.Add(wait + ReservationTimeout)
			r.byID[id] = reserved
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
