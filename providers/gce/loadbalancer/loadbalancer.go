// Package loadbalancer implements load balancers of Compute Engine: the interface of pkg/common/loadbalancer. An
// external one is a forwarding rule to a target pool with a legacy HTTP health check; an internal one is a forwarding
// rule to a regional backend service with an instance group in each zone. Its files have the order of a sync, and
// each refers only to earlier ones:
//
//   - package handover: whose load balancers this manager makes; model: the objects that should exist; firewalls and
//     kinds: the fields of some kinds of objects; batches: calls for many instances;
//   - packages absent, running and uses, collection.go, store.go, observe.go: the existing objects, and their snapshot;
//   - kinds.go, writer.go, left.go and differ.go: what the changes of all kinds of objects use;
//   - rule.go, address.go, firewall.go, check.go, pool.go, group.go and backend.go: a kind of object each;
//   - diff.go and members.go: the plans;
//   - disruption.go: what changes disrupt, for the guide;
//   - loadbalancer.go, status.go and inventory.go: the methods of Cloud.
package loadbalancer

import (
	"cmp"
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/instances"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/handover"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/subnet"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// Options configure New. All fields but Clock are required.
type Options struct {
	API    api.API
	Config config.Global
	// ClusterID returns the ID of the cluster in the names of shared objects.
	ClusterID func(context.Context) (string, error)
	// InstanceID returns the instance in a provider ID, and an error for those of other clouds. It makes no calls.
	InstanceID func(providerID string) (string, error)
	// NodeTags returns the network tags that select instances.
	NodeTags func(ctx context.Context, ids []string) (instances.Tags, error)
	// Annotate writes the name of the pool or backend service into an annotation of the Service.
	Annotate bool
	Clock    clock.PassiveClock
}

// Cloud is Compute Engine behind pkg/common/loadbalancer. It is safe for concurrent use.
type Cloud struct {
	options Options
	store   *store
	subnets *snapshot.Value[subnet.Subnet]
}

var (
	_ lbcommon.Cloud[model.SharedState, model.Desired, Observed] = (*Cloud)(nil)
	_ lbcommon.Keeper[model.Desired, Observed]                   = (*Cloud)(nil)
	_ lbcommon.Binder[Observed]                                  = (*Cloud)(nil)
	_ lbcommon.RecordKeeper[model.Desired, Observed]             = (*Cloud)(nil)
	_ lbcommon.ClassFilter                                       = (*Cloud)(nil)
	_ lbcommon.FinalizerKeeper[model.Desired, Observed]          = (*Cloud)(nil)
)

// New returns a Cloud. It makes no call.
func New(o Options) *Cloud {
	if o.Clock == nil {
		o.Clock = clocks.OrReal(nil)
	}
	return &Cloud{options: o, store: newStore(o.API, o.ClusterID, o.Config.Has(config.FeatureSkipGroups), o.Clock),
		subnets: subnet.New(o.API, o.Config, o.Clock)}
}

// Name implements loadbalancer.Cloud.
func (c *Cloud) Name(key lbcommon.Key) string { return names.Balancer(string(key.UID)) }

// Reference implements loadbalancer.Cloud. Services of this cloud select nothing.
func (c *Cloud) Reference(service *v1.Service) lbcommon.Reference {
	var r lbcommon.Reference
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		r.Addresses = append(r.Addresses, ingress.IP)
	}
	return r
}

// Handles implements loadbalancer.ClassFilter: ingress-gce makes the load balancers of some Services.
func (c *Cloud) Handles(service *v1.Service) bool {
	return handover.Handles(service, c.options.Config.Has(config.FeatureSubsets))
}

// Scheme returns the scheme of the forwarding rule that this manager has made for a Service; "" without one.
func (c *Cloud) Scheme(ctx context.Context, service *v1.Service) (string, error) {
	if err := c.store.rules.refresh(ctx, true); err != nil {
		return "", err
	}
	rule := c.store.rules.find(names.Balancer(string(service.UID)))
	if rule == nil || !isOurs(*rule) {
		return "", nil
	}
	return cmp.Or(rule.Scheme, api.SchemeExternal), nil
}

// SharedState implements loadbalancer.Cloud.
func (c *Cloud) SharedState(ctx context.Context, nodes []*v1.Node) (model.SharedState, error) {
	s := model.SharedState{}
	var err error
	if s.Environment, err = c.options.API.Environment(ctx); err != nil {
		return s, err
	}
	if s.ClusterID, err = c.options.ClusterID(ctx); err != nil {
		return s, err
	}
	around, err := c.subnets.Get(ctx)
	if err != nil {
		return s, err
	}
	s.Subnetwork, s.Legacy = around.Subnetwork, around.Legacy
	tags, err := c.options.NodeTags(ctx, model.InstancesOf(model.NodesOf(nodes, c.options.InstanceID)))
	s.NodeTags, s.Untagged = tags.Tags, tags.Untagged
	s.PartialTags = tags.Partial || len(model.UnidentifiedOf(nodes)) > 0
	return s, err
}

// Validate implements loadbalancer.Cloud.
func (c *Cloud) Validate(in intent.Service) error {
	problems := in.NewProblems()
	annotation.Read(in, &problems)
	return problems.Err(in.Subject())
}

// link returns the URLs of objects in an environment.
func (c *Cloud) link(e api.Environment) func(*api.Call, api.Target) string {
	return func(call *api.Call, at api.Target) string { return c.options.API.Link(e, call, at) }
}

// Desired implements loadbalancer.Cloud.
func (c *Cloud) Desired(key lbcommon.Key, in intent.Service, nodes []*v1.Node,
	shared model.SharedState) (model.Desired, error) {
	want, err := model.New(key, in, model.NodesOf(nodes, c.options.InstanceID), shared, c.link(shared.Environment))
	want.Unidentified = model.UnidentifiedOf(nodes)
	for _, warning := range []string{model.Misnamed(nodes, c.options.InstanceID), model.UnidentifiedWarning(nodes)} {
		if warning != "" {
			want.Warnings = append(want.Warnings, warning)
		}
	}
	return want, err
}

// Observe implements loadbalancer.Cloud.
func (c *Cloud) Observe(ctx context.Context, request lbcommon.Request[model.Desired]) (Observed, error) {
	return c.store.observe(ctx, request)
}

func (c *Cloud) differ(key lbcommon.Key, have Observed) *differ {
	return &differ{key: key, have: have, link: c.link(have.Environment),
		skipsGroups: c.options.Config.Has(config.FeatureSkipGroups), plan: plan.Plan{Subject: key.Subject()}}
}

// Diff implements loadbalancer.Cloud. A forwarding rule that ingress-gce has made is ImplementedElsewhere.
func (c *Cloud) Diff(key lbcommon.Key, want *model.Desired, have Observed) (plan.Plan, error) {
	d := c.differ(key, have)
	if want == nil {
		d.remove()
		return d.plan, nil
	}
	d.want, d.unidentified = *want, want.Unidentified
	err := d.ensure()
	return d.plan, err
}

// DiffMembers implements loadbalancer.Cloud.
func (c *Cloud) DiffMembers(key lbcommon.Key, _ intent.Service, nodes []*v1.Node, shared model.SharedState,
	have Observed) (plan.Plan, error) {
	d := c.differ(key, have)
	d.unidentified = model.UnidentifiedOf(nodes)
	d.planMembers(model.NodesOf(nodes, c.options.InstanceID), shared)
	return d.plan, nil
}

// Keep implements loadbalancer.Keeper.
func (c *Cloud) Keep(want model.Desired, have Observed, differences []plan.Difference) model.Desired {
	return keep(want, have, differences)
}

// Bind implements loadbalancer.Binder.
func (c *Cloud) Bind(key lbcommon.Key, have Observed, p plan.Plan) plan.Plan {
	return plan.Bind(p, writer{store: c.store, key: key, clusterID: have.ClusterID, environment: have.Environment,
		mayFail: have.MayFail})
}

// DesiredRecord implements loadbalancer.RecordKeeper.
func (c *Cloud) DesiredRecord(want model.Desired) lbcommon.AppliedRecord {
	fields := want.Fields
	want.Fields, want.Warnings, want.Groups, want.Unidentified = nil, nil, nil, nil
	want.Pool.Instances, want.Firewall.TargetTags, want.ProbeFirewall.TargetTags = nil, nil, nil
	want.PartialTags, want.Untagged = false, nil
	return applied.New(applied.Digest(want), "", fields)
}

// StoredRecord implements loadbalancer.RecordKeeper. Objects of this cloud have no place for a record: descriptions are
// compared by other managers, and labels take a change of their own. The status of the Service has it.
func (c *Cloud) StoredRecord(lbcommon.Key, Observed) (record lbcommon.AppliedRecord, writable bool) {
	return lbcommon.AppliedRecord{}, false
}

// StoreRecords implements loadbalancer.RecordKeeper. No record can be stored.
func (c *Cloud) StoreRecords([]lbcommon.RecordUpdate[Observed]) []plan.Change { return nil }
