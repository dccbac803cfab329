package loadbalancer

import (
	"context"
	"slices"
	"strings"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/absent"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// Observed are the objects of one Service's load balancer, and those that all Services share. Readers share it and must
// not modify what it points to. An object that does not exist, or is not ours, is nil.
type Observed struct {
	ClusterID   string
	Environment api.Environment

	// ExternalRead and InternalRead report whether the objects of external and internal load balancers were read for this
	// observation. Those of a kind that was not read may be outdated: nothing of it is deleted.
	ExternalRead, InternalRead bool

	Rule *api.ForwardingRule
	// Rules are all forwarding rules of the region, by name.
	Rules map[string]api.ForwardingRule
	// Elsewhere is a forwarding rule of our name that another controller has made.
	Elsewhere *api.ForwardingRule

	Pool                     *api.TargetPool
	PoolCheck, NodePoolCheck *api.HTTPHealthCheck
	Backend                  *api.BackendService
	// SharedBackends are those that several Services can share.
	SharedBackends   []api.BackendService
	Check, NodeCheck *api.HealthCheck
	Groups           []model.Group
	// Firewalls are those of our names, by name.
	Firewalls map[string]api.Firewall
	// Address has the name of the load balancer; Addresses are all of the region.
	Address   *api.Address
	Addresses []api.Address

	// Used are the objects that other load balancers refer to, or are about to, by path.
	Used map[string]bool
	// Kept are objects that others used when they were to be deleted; Denied are changes that the project of the
	// network denied.
	Kept   map[string]bool
	Denied map[string]denial
	// Absent are instances of Nodes that do not exist.
	Absent map[string]absent.State
	// MayFail is set if a sync may fail because an instance is expected back: not before the Service has the address of
	// the forwarding rule in its status, which an error of the whole sync would delay.
	MayFail bool
}

// isExternal reports whether the existing load balancer is external.
func (o Observed) isExternal() bool { return o.Rule != nil && o.Rule.Scheme != api.SchemeInternal }

// isOurs reports whether a forwarding rule of our name was made by this manager. Those of ingress-gce are external, and
// have a backend service.
func isOurs(r api.ForwardingRule) bool {
	if r.Scheme == api.SchemeInternal {
		return r.BackendService != ""
	}
	return r.BackendService == ""
}

// isBalancer reports whether a name is one that this manager gives to load balancers.
func isBalancer(name string) bool {
	digits, ok := strings.CutPrefix(name, "a")
	return ok && len(name) == len(names.Balancer("")) && strings.Trim(digits, "0123456789abcdef") == ""
}

// belongsTo reports whether a description is that of a Service. Objects without a description have a name that is ours.
func belongsTo(description string, key lbcommon.Key) bool {
	service := names.ServiceOf(description)
	return service == "" || service == model.ServiceName(key)
}

// observe reads the objects of a Service. What the Service does not need is read only if it may have been left behind
// by an earlier load balancer: all kinds are read before a deletion, when the scheme changes, and after an
// interruption.
func (s *store) observe(ctx context.Context, request lbcommon.Request[model.Desired]) (Observed, error) {
	reread := request.Freshness == lbcommon.Authoritative
	name := names.Balancer(string(request.Key.UID))
	e, err := s.api.Environment(ctx)
	if err != nil {
		return Observed{}, err
	}
	clusterID, err := s.clusterID(ctx)
	if err != nil {
		return Observed{}, err
	}
	if err := all(ctx, reread, s.rules.refresh, s.firewalls.refresh); err != nil {
		return Observed{}, err
	}
	external, internal := s.kindsToRead(request, name)
	rule := s.rules.find(name)
	reads := []refresh{s.readAddresses(request, rule)}
	if external {
		reads = append(reads, s.pools.refresh, s.poolChecks.refresh)
	}
	if internal {
		reads = append(reads, s.backends.refresh, s.checks.refresh, s.refreshGroups)
	}
	if request.Want != nil {
		reads = append(reads, func(ctx context.Context, _ bool) error {
			return s.absent.Verify(ctx, request.Want.Instances())
		})
	}
	if err := all(ctx, reread, reads...); err != nil {
		return Observed{}, err
	}
	o := s.observed(request.Key, clusterID, e)
	o.ExternalRead, o.InternalRead = external, internal
	// Changes of members alone have no other outcome than an error, and are the only ones that follow from a snapshot.
	o.MayFail = o.Rule != nil && (!reread || slices.Contains(request.Reference.Addresses, o.Rule.IPAddress))
	return o, nil
}

// kindsToRead returns the kinds of load balancers whose objects are read.
func (s *store) kindsToRead(request lbcommon.Request[model.Desired], name string) (external, internal bool) {
	want, rule := request.Want, s.rules.find(name)
	if want == nil || request.Depth == lbcommon.Existence {
		return true, true
	}
	if rule == nil {
		// The firewall of a Service is the last object of a load balancer that is deleted.
		if _, left := s.firewalls.table.Get(names.Firewall(name)); left {
			return true, true
		}
		return !want.Internal, want.Internal
	}
	if list := request.Reference.Addresses; len(list) > 0 && !slices.Contains(list, rule.IPAddress) {
		return true, true // The forwarding rule is new, and the sync that made it has not ended.
	}
	isInternal := rule.Scheme == api.SchemeInternal
	return !want.Internal || !isInternal, want.Internal || isInternal
}

// refresh reads a list unless it is fresh; with reread set, in any case.
type refresh func(ctx context.Context, reread bool) error

// readAddresses returns the read of the addresses. A new load balancer needs no address that exists, unless its Service
// chooses one, or an interruption has left one.
func (s *store) readAddresses(request lbcommon.Request[model.Desired], rule *api.ForwardingRule) refresh {
	left := s.addresses.find(names.Balancer(string(request.Key.UID))) != nil
	needed := request.Want == nil || request.Want.Static != "" || rule != nil || left
	return func(ctx context.Context, reread bool) error { return s.addresses.refresh(ctx, reread && needed) }
}

// all makes reads side by side.
func all(ctx context.Context, reread bool, reads ...refresh) error {
	group, ctx := panics.WithContext(ctx)
	for _, read := range reads {
		group.Go(func() error { return read(ctx, reread) })
	}
	return group.Wait()
}

// observed returns what the snapshot has of a Service.
func (s *store) observed(key lbcommon.Key, clusterID string, e api.Environment) Observed {
	name := names.Balancer(string(key.UID))
	o := Observed{
		ClusterID: clusterID, Environment: e,
		Pool: s.pools.find(name), PoolCheck: s.poolChecks.find(name), Check: s.checks.find(name),
		NodePoolCheck: s.poolChecks.find(names.NodeHealthCheck(clusterID)),
		NodeCheck:     s.checks.find(names.NodeHealthCheck(clusterID)),
		Address:       s.addresses.find(name), Firewalls: map[string]api.Firewall{},
		Used: s.uses.Held(), Kept: s.uses.Kept(), Denied: s.deniedNow(), Absent: s.absent.Now(), Rules: s.rules.table.All(),
	}
	if rule := s.rules.find(name); rule != nil && isOurs(*rule) {
		o.Rule = rule
	} else {
		o.Elsewhere = rule
	}
	if backend := s.backends.find(name); backend != nil && backend.Scheme == api.SchemeInternal {
		o.Backend = backend
	}
	for _, firewall := range firewallNames(name, clusterID) {
		if found := s.firewalls.find(firewall); found != nil && belongsTo(found.Description, key) {
			o.Firewalls[firewall] = *found
		}
	}
	for _, address := range s.addresses.table.All() {
		o.Addresses = append(o.Addresses, address)
	}
	sorting.Func(o.Addresses, func(a, b api.Address) int { return strings.Compare(a.Name, b.Name) })
	for _, group := range s.groups.All() {
		o.Groups = append(o.Groups, group)
	}
	sorting.Func(o.Groups, func(a, b model.Group) int { return strings.Compare(a.Zone+a.Suffix, b.Zone+b.Suffix) })
	s.findUses(&o, name)
	return o
}

// firewallNames returns the names of all firewalls of a Service, and of those for the probes of nodes.
func firewallNames(balancer, clusterID string) []string {
	node := names.NodeHealthCheck(clusterID)
	return []string{
		names.Firewall(balancer), names.DenyFirewall(balancer), names.OldFirewall(balancer),
		names.PoolHealthFirewall(balancer), names.BackendHealthFirewall(balancer),
		names.NodePoolHealthFirewall(clusterID), names.BackendHealthFirewall(node),
	}
}

// findUses notes what other load balancers refer to.
func (s *store) findUses(o *Observed, name string) {
	s.findExternalUses(o, name)
	prefix := "k8s-" + o.ClusterID + "-internal-"
	for _, backend := range s.backends.table.All() {
		isShared := strings.HasPrefix(backend.Name, prefix)
		if isShared {
			o.SharedBackends = append(o.SharedBackends, backend)
		}
		link := s.api.Link(o.Environment, api.BackendServicesGet, api.Target{Name: backend.Name})
		isLeftover := isShared && o.Rule == nil && !o.Used[api.Path(link)]
		if backend.Name == name || o.leaves(backend) || isLeftover {
			continue
		}
		for _, link := range slices.Concat(backend.HealthChecks, groupLinks(backend)) {
			o.Used[api.Path(link)] = true
		}
	}
	sorting.Func(o.SharedBackends, func(a, b api.BackendService) int { return strings.Compare(a.Name, b.Name) })
}

// findExternalUses notes what the pools and forwarding rules of others refer to.
func (s *store) findExternalUses(o *Observed, name string) {
	for _, pool := range s.pools.table.All() {
		for _, link := range append(slices.Clone(pool.HealthChecks), pool.BackupPool) {
			if pool.Name != name && link != "" {
				o.Used[api.Path(link)] = true
			}
		}
	}
	for _, rule := range s.rules.table.All() {
		for _, link := range []string{rule.BackendService, rule.Target} {
			if rule.Name != name && link != "" {
				o.Used[api.Path(link)] = true
			}
		}
	}
}

// leaves reports whether a shared backend service has no other user than this Service.
func (o Observed) leaves(backend api.BackendService) bool {
	return o.Rule != nil && api.Last(o.Rule.BackendService) == backend.Name && !o.Used[api.Path(o.Rule.BackendService)]
}

func groupLinks(backend api.BackendService) []string {
	links := make([]string, len(backend.Backends))
	for i, b := range backend.Backends {
		links[i] = b.Group
	}
	return links
}
