package sim

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// stateVersion is the format version of the state file. A file of another version is rejected.
const stateVersion = 1

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

// header is the start of the file, so that a change is detected without reading the rest.
type header struct {
	Version int `json:"version"`
	// World is chosen when a world is created; with it, Generation counts the writes.
	World      string `json:"world"`
	Generation uint64 `json:"generation"`
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

// ranges are prefixes for allocation, lowest address first.
type ranges []netip.Prefix

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

func renderListener(l api.Listener) api.Listener {
	l.SourceRanges = slices.Clone(l.SourceRanges)
	return l
}

func renderPool(p api.Pool) api.Pool {
	p.Members = orEmpty(p.Members)
	return p
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

// blackhole reports whether the target is deleted. IDs are never reused, so it stays true.
func (t *tx) blackhole(r *api.Route) bool {
	return r.InstanceID != "" && t.Instances[r.InstanceID] == nil
}

// stateAt needs no timer: a load balancer becomes active by the clock alone, in this process or in the next.
func (lb *loadBalancer) stateAt(now time.Time) string {
	if now.Before(lb.ReadyAt) {
		return api.LBProvisioning
	}
	return api.LBActive
}

// sortedBy returns a sorted copy of a map's values.
func sortedBy[V any](all map[string]V, key func(V) string) []V {
	return sorting.SortedFunc(maps.Values(all), func(a, b V) int { return cmp.Compare(key(a), key(b)) })
}

func sortedKeys[V any](all map[string]V) []string { return slices.Sorted(maps.Keys(all)) }

func poolIndex(lb *loadBalancer, name string) int {
	return slices.IndexFunc(lb.Pools, func(p api.Pool) bool { return p.Name == name })
}
