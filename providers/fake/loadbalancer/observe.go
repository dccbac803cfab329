package loadbalancer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

const (
	// snapshotAge is the max age for the shared list to count as fresh. It only has to span a burst: a restart,
	// which reconciles every Service within seconds, reads the cloud once. It is also the time for which a
	// reconcile may miss a change that was made by hand.
	snapshotAge = 30 * time.Second
	// zonesAge is the max age of the list of zones, which hardly ever changes.
	zonesAge = 10 * time.Minute
)

// API is the part of the cloud that load balancers need.
type API interface {
	api.LoadBalancerAPI
	ListZones(ctx context.Context) ([]api.Zone, error)
}

// Observed are the objects of one Service's load balancer. Readers share it and must not modify what
// it points to.
type Observed struct {
	// LoadBalancer is nil if there is none.
	LoadBalancer *api.LoadBalancer
	// Addresses have the load balancer's name, whether it uses them, another one does, or none.
	Addresses []api.Address
}

// removeLoadBalancer removes the load balancer and detaches its addresses, as the cloud does when it is deleted.
func (o *Observed) removeLoadBalancer() {
	if o.LoadBalancer == nil {
		return
	}
	o.Addresses = slices.Clone(o.Addresses)
	for i := range o.Addresses {
		if o.Addresses[i].LoadBalancer == o.LoadBalancer.ID {
			o.Addresses[i].LoadBalancer = ""
		}
	}
	o.LoadBalancer = nil
}

// row is an Observed with the name of the load balancer, which is its ID in the snapshot.
type row struct {
	name string
	Observed
}

// store is the snapshot of one cluster's load balancers that all Services share.
type store struct {
	api     API
	cluster string
	state   *snapshot.Store
	table   *snapshot.Table[row]
	// writeMu serializes writes to rows that do not exist yet: changes of one plan run in parallel.
	writeMu sync.Mutex
}

func newStore(client API, c clock.PassiveClock, cluster string) *store {
	s := &store{api: client, cluster: cluster, state: snapshot.NewStore(c)}
	s.table = snapshot.NewTable(s.state, snapshot.Kind[row]{
		ID: func(r row) string { return r.name }, MaxAge: snapshotAge,
		List: func(ctx context.Context) ([]row, error) { return s.list(ctx, cluster, "") },
	})
	return s
}

// stores are the stores of all cluster names, of which a manager has one.
type stores struct {
	api   API
	clock clock.PassiveClock

	mu        sync.Mutex
	byCluster map[string]*store
}

func newStores(client API, c clock.PassiveClock) *stores {
	return &stores{api: client, clock: c, byCluster: map[string]*store{}}
}

// get returns the store of a cluster name.
func (s *stores) get(cluster string) *store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byCluster[cluster] == nil {
		s.byCluster[cluster] = newStore(s.api, s.clock, cluster)
	}
	return s.byCluster[cluster]
}

// cached returns the objects from a list that is at most snapshotAge old.
func (s *store) cached(ctx context.Context, name string) (Observed, error) {
	if err := s.table.Refresh(ctx); err != nil {
		return Observed{}, err
	}
	if s.state.IsUncertain(name) {
		return s.read(ctx, name)
	}
	have, _ := s.table.Get(name)
	return have.Observed, nil
}

// read reads the objects of one name in all clusters: Diff must see, and refuse, a load balancer of our name
// that belongs to another cluster.
func (s *store) read(ctx context.Context, name string) (Observed, error) {
	r := s.state.Begin()
	found, err := s.list(ctx, "", name)
	if err != nil {
		return Observed{}, err
	}
	i := slices.IndexFunc(found, func(r row) bool { return r.name == name })
	if i < 0 {
		s.table.MergeMissing(r, name)
	} else {
		s.table.Merge(r, name, found[i])
	}
	s.state.Confirm(name, r)
	have, _ := s.table.Get(name)
	return have.Observed, nil
}

// lastState returns the state of a load balancer when it was last seen; empty if it is unknown. It makes no call.
func (s *store) lastState(name string) string {
	have, _ := s.table.Get(name)
	if have.LoadBalancer == nil {
		return ""
	}
	return have.LoadBalancer.State
}

// recordWrite records a write of ours.
func (s *store) recordWrite(name string, change func(*Observed)) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if _, exists := s.table.Get(name); exists {
		s.table.Update(name, func(n *row) { change(&n.Observed) })
		return
	}
	created := row{name: name}
	change(&created.Observed)
	s.table.Put(name, created)
}

// list reads the load balancers and addresses of a cluster, or of one name.
func (s *store) list(ctx context.Context, cluster, name string) ([]row, error) {
	lbs, err := s.api.ListLoadBalancers(ctx, cluster, name)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if name != "" {
		prefix = name + "-"
	}
	addresses, err := s.api.ListAddresses(ctx, cluster, prefix)
	if err != nil {
		return nil, err
	}
	return groupByName(lbs, addresses), nil
}

// groupByName groups objects by the name of the load balancer.
func groupByName(lbs []api.LoadBalancer, addresses []api.Address) []row {
	all := make(map[string]row, len(lbs))
	for i := range lbs {
		all[lbs[i].Name] = row{lbs[i].Name, Observed{LoadBalancer: &lbs[i]}}
	}
	for _, address := range addresses {
		name, ok := addressOwner(address.Name)
		if !ok {
			continue
		}
		have := all[name]
		have.name, have.Addresses = name, append(have.Addresses, address)
		all[name] = have
	}
	return slices.Collect(maps.Values(all))
}

// newZones returns the names of the region's zones, sorted.
func newZones(client API, c clock.PassiveClock) *snapshot.Value[[]string] {
	return snapshot.NewValue(snapshot.ValueOptions[[]string]{Clock: c, MaxAge: zonesAge,
		Read: func(ctx context.Context) ([]string, error) {
			zones, err := client.ListZones(ctx)
			if err != nil {
				return nil, err
			}
			names := make([]string, 0, len(zones))
			for _, zone := range zones {
				names = append(names, zone.Name)
			}
			slices.Sort(names)
			return slices.Compact(names), nil
		}})
}
