package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// state is everything that exists in the cloud, as in the state file. It contains no derived data, except
// Address.LoadBalancer, which check verifies.
type state struct {
	header
	// LastID numbers objects of all kinds. It never decreases, so that an ID is never reused.
	LastID        uint64                   `json:"lastID"`
	Instances     map[string]*instance     `json:"instances"`
	Addresses     map[string]*api.Address  `json:"addresses"`
	LoadBalancers map[string]*loadBalancer `json:"loadBalancers"`
	// Routes are keyed by routeKey.
	Routes map[string]*api.Route `json:"routes"`
}

type instance struct {
	api.Instance
	// PodCIDRs are the ranges that the console assigned to the node; the cloud does not use them.
	PodCIDRs []string `json:"podCIDRs,omitempty"`
}

// loadBalancer omits State, which depends on ReadyAt and the clock, and Warning.
type loadBalancer struct {
	api.LoadBalancer
	ReadyAt time.Time `json:"readyAt"`
}

func newState() *state {
	return &state{
		header:        header{Version: stateVersion},
		Instances:     map[string]*instance{},
		Addresses:     map[string]*api.Address{},
		LoadBalancers: map[string]*loadBalancer{},
		Routes:        map[string]*api.Route{},
	}
}

// tx is one operation's access to the state, under the store's lock. An operation either returns an error and
// has changed nothing, or calls markChanged if it changed something.
type tx struct {
	*state
	rules   *rules
	now     time.Time
	changed bool
}

func (t *tx) markChanged() { t.changed = true }

// newID numbers an object. IDs have a fixed width so that their text order is the order of creation, which
// paging relies on.
func (t *tx) newID(prefix string) string {
	t.LastID++
	return fmt.Sprintf("%s-%08d", prefix, t.LastID)
}

// rules are the options that constrain operations.
type rules struct {
	region        string
	zones         []string
	quotas        map[string]int
	provisionTime time.Duration
	pageSize      int
	public        ranges // addresses that can be allocated
	internal      ranges // addresses of internal load balancers
	machines      ranges // internal addresses of instances
	external      ranges // external addresses of instances; may be empty
}

func (t *tx) renderInstance(i *instance) api.Instance {
	out := i.Instance
	out.InternalAddresses = slices.Clone(i.InternalAddresses)
	out.ExternalAddresses = slices.Clone(i.ExternalAddresses)
	out.Labels = maps.Clone(i.Labels)
	return out
}

func (t *tx) renderAddress(a *api.Address) api.Address {
	out := *a
	out.Tags = maps.Clone(a.Tags)
	return out
}

func (t *tx) renderLoadBalancer(lb *loadBalancer) api.LoadBalancer {
	out := lb.LoadBalancer
	out.State = lb.stateAt(t.now)
	out.Tags = maps.Clone(lb.Tags)
	out.AddressIDs = slices.Clone(lb.AddressIDs)
	out.Addresses = orEmpty(lb.Addresses)
	out.Subnets = slices.Clone(lb.Subnets)
	out.Pools = orEmpty(lb.Pools)
	for i, p := range out.Pools {
		out.Pools[i] = renderPool(p)
	}
	out.Listeners = orEmpty(lb.Listeners)
	for i, l := range out.Listeners {
		out.Listeners[i] = renderListener(l)
	}
	return out
}

// orEmpty copies a list that is always present in JSON.
func orEmpty[T any](list []T) []T {
	return append(make([]T, 0, len(list)), list...)
}

func (t *tx) renderRoute(r *api.Route) api.Route {
	out := *r
	out.Blackhole = t.blackhole(r)
	return out
}

// stateAt needs no timer: a load balancer becomes active by the clock alone, in this process or in the next.
func (lb *loadBalancer) stateAt(now time.Time) string {
	if now.Before(lb.ReadyAt) {
		return api.LBProvisioning
	}
	return api.LBActive
}
