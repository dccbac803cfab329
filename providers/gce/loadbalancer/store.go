package loadbalancer

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/absent"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/running"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/uses"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

const (
	// addressAge is the max age of the list of addresses: only users reserve addresses that matter, and a Service that
	// chooses one reads the list again.
	addressAge = 10 * time.Minute
	// denialAge is how long a firewall is left to the administrators of the network's project after they denied a
	// change.
	denialAge = 10 * time.Minute
)

// store is the snapshot of all objects of load balancers in the region, which all Services share.
type store struct {
	base

	clusterID func(context.Context) (string, error)
	clock     clock.PassiveClock

	rules      *collection[api.ForwardingRule, *api.ForwardingRule]
	addresses  *collection[api.Address, *api.Address]
	pools      *collection[api.TargetPool, *api.TargetPool]
	poolChecks *collection[api.HTTPHealthCheck, *api.HTTPHealthCheck]
	backends   *collection[api.BackendService, *api.BackendService]
	checks     *collection[api.HealthCheck, *api.HealthCheck]
	firewalls  *collection[api.Firewall, *api.Firewall]
	// groups are the instance groups of the cluster, by zone. With othersGroups, they are of another controller: all whose
	// names begin as those of ours.
	groups       *snapshot.Table[model.Group]
	othersGroups bool

	// absent are the instances of Nodes that do not exist.
	absent *absent.Instances

	// sharing is locked while an object of all Services is changed, by its link.
	sharing locks.KeyedMutex
	uses    *uses.Uses

	mu sync.Mutex
	// denied are the firewalls whose change the project of the network denied, with what was wanted.
	denied map[string]denial
}

// denial is a change of a firewall that was denied.
type denial struct {
	// change identifies the change, command is the one that makes it.
	change, command string
	at              time.Time
}

func newStore(client api.API, clusterID func(context.Context) (string, error), othersGroups bool,
	c clock.PassiveClock) *store {
	s := &store{
		base:      base{client, snapshot.NewStore(c), running.New(c)},
		clusterID: clusterID, clock: c, othersGroups: othersGroups,
		absent: absent.New(client, c), uses: uses.New(c), denied: map[string]denial{},
	}
	s.rules = newCollection[api.ForwardingRule](s.base, snapshotAge, calls{api.ForwardingRulesList,
		api.ForwardingRulesGet, api.ForwardingRulesInsert, api.ForwardingRulesPatch, api.ForwardingRulesDelete})
	s.addresses = newCollection[api.Address](s.base, addressAge, calls{list: api.AddressesList,
		insert: api.AddressesInsert, remove: api.AddressesDelete})
	s.pools = newCollection[api.TargetPool](s.base, snapshotAge, calls{list: api.TargetPoolsList,
		insert: api.TargetPoolsInsert, remove: api.TargetPoolsDelete})
	s.poolChecks = newCollection[api.HTTPHealthCheck](s.base, snapshotAge, calls{api.HTTPHealthChecksList,
		api.HTTPHealthChecksGet, api.HTTPHealthChecksInsert, api.HTTPHealthChecksUpdate, api.HTTPHealthChecksDelete})
	s.backends = newCollection[api.BackendService](s.base, snapshotAge, calls{api.BackendServicesList,
		api.BackendServicesGet, api.BackendServicesInsert, api.BackendServicesUpdate, api.BackendServicesDelete})
	s.checks = newCollection[api.HealthCheck](s.base, snapshotAge, calls{api.HealthChecksList,
		api.HealthChecksGet, api.HealthChecksInsert, api.HealthChecksUpdate, api.HealthChecksDelete})
	s.firewalls = newCollection[api.Firewall](s.base, snapshotAge, calls{list: api.FirewallsList,
		insert: api.FirewallsInsert, update: api.FirewallsPatch, remove: api.FirewallsDelete})
	s.groups = snapshot.NewTable(s.state, snapshot.Kind[model.Group]{
		ID: func(g model.Group) string { return g.Zone + g.Suffix }, MaxAge: snapshotAge, List: s.listGroups,
	})
	return s
}

// listGroups returns the instance groups of the cluster in all zones of the region, with their members.
func (s *store) listGroups(ctx context.Context) ([]model.Group, error) {
	e, err := s.api.Environment(ctx)
	if err != nil {
		return nil, err
	}
	clusterID, err := s.clusterID(ctx)
	if err != nil {
		return nil, err
	}
	name := names.InstanceGroup(clusterID)
	found, silent, err := s.findGroups(ctx, name)
	if err != nil {
		return nil, err
	}
	var out []model.Group
	for _, g := range found {
		zone := api.Last(g.Zone)
		suffix, ok := strings.CutPrefix(g.Name, name)
		if !ok || suffix != "" && !s.othersGroups || names.RegionOf(zone) != e.Region {
			continue
		}
		members, err := s.listMembers(ctx, zone, name)
		switch {
		case cloudapi.Is(err, cloudapi.NotFound):
			continue // It was deleted since.
		case cloudapi.Is(err, cloudapi.Unavailable) && ctx.Err() == nil:
			silent = append(silent, zone)
			continue
		case err != nil:
			return nil, err
		}
		out = append(out, model.Group{Zone: zone, Suffix: suffix, Members: members})
	}
	for _, zone := range silent {
		if names.RegionOf(zone) == e.Region {
			last, _ := s.groups.Get(zone)
			out = append(out, model.Group{Zone: zone, Members: last.Members, Unread: true})
		}
	}
	return out, nil
}

// findGroups returns the groups with a name, or with one that begins so, and the zones that did not answer.
func (s *store) findGroups(ctx context.Context, name string) (found []api.InstanceGroup, silent []string, err error) {
	filter := "name eq " + name
	if s.othersGroups {
		filter += ".*"
	}
	documents, err := s.api.List(ctx, api.InstanceGroupsList, api.Target{}, url.Values{"filter": {filter}})
	if silent, err = api.Unreachable(err); err != nil {
		return nil, nil, err
	}
	if found, err = api.ParseAll[api.InstanceGroup](documents); err != nil {
		return nil, nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: api.InstanceGroupsList.String(), Err: err}
	}
	return found, silent, nil
}

// listMembers returns the instances of a group; those of another controller are not read.
func (s *store) listMembers(ctx context.Context, zone, name string) ([]string, error) {
	if s.othersGroups {
		return nil, nil
	}
	documents, err := s.api.List(ctx, api.InstanceGroupsListInstances, api.Target{Zone: zone, Name: name}, nil)
	if err != nil {
		return nil, err
	}
	members := make([]string, 0, len(documents))
	for _, document := range documents {
		var member api.InstanceReference
		if err := json.Unmarshal(document, &member); err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: api.InstanceGroupsListInstances.String(), Err: err}
		}
		members = append(members, api.InstanceID(member.Instance))
	}
	slices.Sort(members)
	return members, nil
}

func (s *store) refreshGroups(ctx context.Context, reread bool) error {
	if reread {
		return s.groups.Reread(ctx)
	}
	return s.groups.Refresh(ctx)
}

// keptPool is the entry in Observed.Kept of a pool that is not replaced.
func keptPool(name string) string { return "replaced/" + name }

// recordDenial notes a denied change of a firewall.
func (s *store) recordDenial(name string, d denial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.at = s.clock.Now()
	s.denied[name] = d
}

// deniedNow returns the latest denied changes of firewalls, by name.
func (s *store) deniedNow() map[string]denial {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]denial{}
	for name, d := range s.denied {
		if s.clock.Since(d.at) >= denialAge {
			delete(s.denied, name)
			continue
		}
		out[name] = d
	}
	return out
}
