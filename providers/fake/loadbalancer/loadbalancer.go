// Package loadbalancer implements load balancers of the fake cloud: the interface of pkg/common/loadbalancer. Its files
// have the order of a sync, and each refers only to earlier ones:
//
//   - names.go and owner.go: the names and tags in the cloud, and which objects are ours;
//   - desired.go: the objects that should exist;
//   - observe.go: the existing objects, and the snapshot of them;
//   - apply.go, record.go and differ.go: what the changes of all kinds of objects use;
//   - address.go, listener.go, pool.go and balancer.go: a kind of object each, with its fields, its changes and the
//     calls that make them;
//   - diff.go, members.go and keep.go: the plans of all changes, of those of members alone, and what stays while a
//     change is held;
//   - disruption.go: what changes disrupt, for the guide;
//   - loadbalancer.go, status.go and inventory.go: the methods of Cloud.
package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// Cloud is the fake cloud behind pkg/common/loadbalancer. It is safe for concurrent use.
type Cloud struct {
	api        API
	instanceID func(providerID string) (string, error)
	clock      clock.Clock
	zones      *snapshot.Value[[]string]
	stores     *stores
}

var (
	_ lbcommon.Cloud[SharedState, Desired, Observed] = (*Cloud)(nil)
	_ lbcommon.RecordKeeper[Desired, Observed]       = (*Cloud)(nil)
	_ lbcommon.Keeper[Desired, Observed]             = (*Cloud)(nil)
	_ lbcommon.Binder[Observed]                      = (*Cloud)(nil)
)

// New returns a Cloud over api. The function instanceID returns the instance in a provider ID and
// an error for those of other clouds; it makes no calls. A nil clock is the real one.
func New(client API, instanceID func(providerID string) (string, error), c clock.Clock) *Cloud {
	c = clocks.OrReal(c)
	return &Cloud{
		api:        client,
		instanceID: instanceID,
		clock:      c,
		zones:      newZones(client, c),
		stores:     newStores(client, c),
	}
}

// Name implements loadbalancer.Cloud.
func (c *Cloud) Name(key lbcommon.Key) string { return loadBalancerName(key) }

// Reference implements loadbalancer.Cloud. Services of this cloud select nothing.
func (c *Cloud) Reference(*v1.Service) lbcommon.Reference { return lbcommon.Reference{} }

// SharedState implements loadbalancer.Cloud.
func (c *Cloud) SharedState(ctx context.Context, _ []*v1.Node) (SharedState, error) {
	zones, err := c.zones.Get(ctx)
	return SharedState{Zones: zones}, err
}

// Validate implements loadbalancer.Cloud. The only annotation of this cloud contains zones, which Desired
// compares with those of the region.
func (c *Cloud) Validate(intent.Service) error { return nil }

// Desired implements loadbalancer.Cloud.
func (c *Cloud) Desired(key lbcommon.Key, in intent.Service, nodes []*v1.Node, shared SharedState) (Desired, error) {
	return desire(key, in, targetsOf(nodes, c.instanceID), shared)
}

// Observe implements loadbalancer.Cloud.
func (c *Cloud) Observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	store, name := c.stores.get(request.Key.ClusterName), loadBalancerName(request.Key)
	if request.Freshness == lbcommon.Authoritative {
		return store.read(ctx, name)
	}
	return store.cached(ctx, name)
}

// Diff implements loadbalancer.Cloud.
func (c *Cloud) Diff(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	return planService(key, want, have)
}

// DiffMembers implements loadbalancer.Cloud.
func (c *Cloud) DiffMembers(
	key lbcommon.Key, in intent.Service, nodes []*v1.Node, shared SharedState, have Observed,
) (plan.Plan, error) {
	return planMembers(key, in, targetsOf(nodes, c.instanceID), shared, have), nil
}

// Keep implements loadbalancer.Keeper.
func (c *Cloud) Keep(want Desired, have Observed, differences []plan.Difference) Desired {
	return keep(want, have, differences)
}

// Bind implements loadbalancer.Binder.
func (c *Cloud) Bind(key lbcommon.Key, have Observed, p plan.Plan) plan.Plan {
	w := c.writer(key)
	if have.LoadBalancer != nil {
		w = w.whenActive(*have.LoadBalancer)
	}
	return plan.Bind(p, w)
}

// DesiredRecord implements loadbalancer.RecordKeeper.
func (c *Cloud) DesiredRecord(want Desired) lbcommon.AppliedRecord { return want.record() }

// StoredRecord implements loadbalancer.RecordKeeper.
func (c *Cloud) StoredRecord(key lbcommon.Key, have Observed) (record lbcommon.AppliedRecord, writable bool) {
	lb := have.LoadBalancer
	if lb == nil || foreignOwner(key, lb.Cluster, lb.Tags) != "" {
		return lbcommon.AppliedRecord{}, false
	}
	return applied.Parse(lb.Tags[TagApplied]), true
}

// StoreRecords implements loadbalancer.RecordKeeper. Each load balancer takes a call.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[Observed]) []plan.Change {
	var changes []plan.Change
	for _, u := range updates {
		stored := plan.Plan{Changes: []plan.Change{storeRecord(*u.Have.LoadBalancer, u.Record.Encode())}}
		changes = append(changes, c.Bind(u.Key, u.Have, stored).Changes...)
	}
	return changes
}

// writer returns the writer of a Service.
func (c *Cloud) writer(key lbcommon.Key) writer {
	return writer{api: c.api, clock: c.clock, store: c.stores.get(key.ClusterName), key: key}
}
