// Package loadbalancer implements load balancers with NSX-T: the interface of pkg/common/loadbalancer.
//
// A Service has an address of a pool, and for each port a virtual server, a pool of members and a monitor. The virtual
// servers of a cluster are on one load balancer service of a Tier-1 gateway.
//
// The files have the order of a sync, and each refers only to earlier ones:
//
//   - owner.go: the tags and IDs in NSX-T, and which objects are ours;
//   - desired.go: the objects that should exist;
//   - deletions.go: the IDs that new objects cannot have yet;
//   - store.go and observe.go: the snapshot, and the existing objects of a Service;
//   - apply.go, record.go, disruption.go, differ.go and object.go: what the changes of all kinds of objects use;
//   - address.go, service.go, monitor.go, server.go, group.go and pool.go: a kind of object each, with its fields, its
//     changes and the calls that make them;
//   - diff.go and keep.go: the plans, and what stays while a change is held;
//   - loadbalancer.go and inventory.go: the methods of Cloud.
package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
)

// Cloud is NSX-T behind pkg/common/loadbalancer. It is safe for concurrent use.
type Cloud struct {
	reader *reader
	clock  clock.Clock
}

var (
	_ lbcommon.Cloud[SharedState, Desired, Observed] = (*Cloud)(nil)
	_ lbcommon.RecordKeeper[Desired, Observed]       = (*Cloud)(nil)
	_ lbcommon.Keeper[Desired, Observed]             = (*Cloud)(nil)
	_ lbcommon.Binder[Observed]                      = (*Cloud)(nil)
	_ lbcommon.AllReader                             = (*Cloud)(nil)
)

// New returns a Cloud. It makes no call. A nil clock is the real one.
func New(client api.NSXT, cfg config.LoadBalancing, c clock.Clock) *Cloud {
	c = clocks.OrReal(c)
	return &Cloud{reader: newReader(client, cfg, c), clock: c}
}

// ReadsAll implements loadbalancer.AllReader: NSX-T lists the objects of all Services at once.
func (c *Cloud) ReadsAll() bool { return true }

// Name implements loadbalancer.Cloud. It is the display name of the objects.
func (c *Cloud) Name(key lbcommon.Key) string { return balancerName(key) }

// Reference implements loadbalancer.Cloud. The address in the status of the Service proves which of the objects without
// a mark are its own.
func (c *Cloud) Reference(service *v1.Service) lbcommon.Reference {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			return lbcommon.Reference{ID: ingress.IP}
		}
	}
	return lbcommon.Reference{}
}

// SharedState implements loadbalancer.Cloud.
func (c *Cloud) SharedState(ctx context.Context, _ []*v1.Node) (SharedState, error) {
	return c.reader.sharedState(ctx)
}

// Validate implements loadbalancer.Cloud.
func (c *Cloud) Validate(in intent.Service) error {
	problems := in.NewProblems()
	classOf(c.reader.config, in, annotation.Read(in, &problems), &problems)
	return problems.Err(in.Subject())
}

// Desired implements loadbalancer.Cloud.
func (c *Cloud) Desired(key lbcommon.Key, in intent.Service, nodes []*v1.Node, shared SharedState) (Desired, error) {
	return newDesired(c.reader.config, key, in, nodes, shared)
}

// Observe implements loadbalancer.Cloud.
func (c *Cloud) Observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	return c.reader.observe(ctx, request)
}

// Diff implements loadbalancer.Cloud.
func (c *Cloud) Diff(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	return planService(c.differ(key, have), want), nil
}

// DiffMembers implements loadbalancer.Cloud.
func (c *Cloud) DiffMembers(
	key lbcommon.Key, _ intent.Service, nodes []*v1.Node, _ SharedState, have Observed,
) (plan.Plan, error) {
	return planMembers(c.differ(key, have), nodes), nil
}

// Status implements loadbalancer.Cloud.
func (c *Cloud) Status(_ intent.Service, have Observed) lbcommon.Status {
	if len(have.Servers) == 0 {
		return lbcommon.Status{}
	}
	return lbcommon.Status{LoadBalancer: &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{
		IP: have.Servers[0].IPAddress, IPMode: ptr.To(v1.LoadBalancerIPModeVIP),
	}}}}
}

// Keep implements loadbalancer.Keeper.
func (c *Cloud) Keep(want Desired, have Observed, differences []plan.Difference) Desired {
	return keep(want, have, differences)
}

// DesiredRecord implements loadbalancer.RecordKeeper.
func (c *Cloud) DesiredRecord(want Desired) lbcommon.AppliedRecord { return want.record() }

// StoredRecord implements loadbalancer.RecordKeeper.
func (c *Cloud) StoredRecord(_ lbcommon.Key, have Observed) (record lbcommon.AppliedRecord, writable bool) {
	return storedRecord(have), len(have.Servers) > 0
}

// StoreRecords implements loadbalancer.RecordKeeper. Each load balancer takes a call.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[Observed]) []plan.Change {
	var changes []plan.Change
	for _, u := range updates {
		stored := plan.Plan{Changes: []plan.Change{storeRecord(u.Key, u.Have, u.Record.Encode())}}
		changes = append(changes, c.Bind(u.Key, u.Have, stored).Changes...)
	}
	return changes
}

// Bind implements loadbalancer.Binder.
func (c *Cloud) Bind(key lbcommon.Key, _ Observed, p plan.Plan) plan.Plan {
	return plan.Bind(p, c.writer(key))
}

// differ returns the differ of a Service.
func (c *Cloud) differ(key lbcommon.Key, have Observed) differ {
	return differ{config: c.reader.config, owner: c.reader.ownerOf(key, ""), have: have}
}

// writer returns the writer of a Service.
func (c *Cloud) writer(key lbcommon.Key) writer {
	return writer{reader: c.reader, clock: c.clock, owner: c.reader.ownerOf(key, "")}
}
