// Package loadbalancer implements load balancers of the fake cloud. It implements the interface of
// pkg/common/loadbalancer: Desired computes the objects that should exist, Observe reads the existing ones,
// and Diff returns the changes between them. Each kind of object has its own file.
package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// kindLoadBalancer is the kind of load balancers in plans.
const kindLoadBalancer = "load balancer"

// loadBalancerHandle identifies the load balancer in a plan before it exists.
const loadBalancerHandle plan.Handle = "load balancer"

// pollInterval is the interval of polls of a load balancer that is provisioning. Provisioning takes seconds:
// a shorter interval would not be noticeably faster, and 16 concurrent workers should stay far below any rate
// limit.
const pollInterval = time.Second

// API is the part of the cloud that load balancers need.
type API interface {
	api.LoadBalancerAPI
	ListZones(ctx context.Context) ([]api.Zone, error)
}

// Cloud is the fake cloud behind pkg/common/loadbalancer. It is safe for concurrent use.
type Cloud struct {
	api        API
	instanceID func(providerID string) (string, error)
	clock      clock.Clock
	zones      *snapshot.Value[[]string]

	mu sync.Mutex
	// byCluster holds the snapshots by cluster name.
	byCluster map[string]*store
}

var _ lbcommon.Cloud[SharedState, Desired, Observed] = (*Cloud)(nil)

// New returns a Cloud over api. The function instanceID returns the instance in a provider ID and
// an error for those of other clouds; it makes no calls. A nil clock is the real one.
func New(client API, instanceID func(providerID string) (string, error), c clock.Clock) *Cloud {
	c = clocks.OrReal(c)
	return &Cloud{
		api:        client,
		instanceID: instanceID,
		clock:      c,
		zones:      newZones(client, c),
		byCluster:  map[string]*store{},
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
	return desire(key, in, c.targets(nodes), shared)
}

// Observe implements loadbalancer.Cloud.
func (c *Cloud) Observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	store, name := c.stores(request.Key.ClusterName), loadBalancerName(request.Key)
	if request.Freshness == lbcommon.Authoritative {
		return store.read(ctx, name)
	}
	return store.cached(ctx, name)
}

// loadBalancerCreate is the change that creates the load balancer, without children, and waits until it
// accepts them.
func (d *differ) loadBalancerCreate(addresses []addressRef, after []plan.Ref, reason string) plan.Change {
	spec := d.want.LoadBalancer
	var state string // the result of the creation; empty if an earlier run of the plan created it
	return plan.Change{
		Ref:    d.loadBalancerRef(plan.Create),
		Fields: loadBalancerFields(spec, addresses),
		Reason: reason,
		After:  after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			addressIDs, err := resolve(addresses, ids)
			if err != nil {
				return err
			}
			spec.AddressIDs = addressIDs
			spec.Tags = withTag(spec.Tags, TagApplied, d.want.record().Encode())
			lb, err := d.createLoadBalancer(ctx, spec)
			if err != nil {
				return err
			}
			ids.Set(loadBalancerHandle, lb.ID)
			state = lb.State
			return nil
		},
		Ready: func(ctx context.Context, _ *plan.Handles) error { return d.cloud.waitActive(ctx, d.key, state) },
	}
}

// createLoadBalancer creates a load balancer. If its name exists, an earlier creation lost its reply, or
// another cluster uses the name: its tags distinguish the two.
func (d *differ) createLoadBalancer(ctx context.Context, spec api.LoadBalancerSpec) (api.LoadBalancer, error) {
	lb, err := d.cloud.api.CreateLoadBalancer(ctx, spec)
	if cloudapi.Is(err, cloudapi.AlreadyExists) {
		have, readErr := d.store.read(ctx, spec.Name)
		switch {
		case readErr != nil:
			return lb, errors.Join(err, readErr)
		case have.LoadBalancer == nil:
			return lb, err
		case foreign(d.key, have.LoadBalancer.Cluster, have.LoadBalancer.Tags) != "":
			return lb, refuseForeign(d.key, *have.LoadBalancer)
		}
		return *have.LoadBalancer, nil
	}
	return lb, d.write(err, func(o *Observed) { o.LoadBalancer = &lb })
}

// loadBalancerUpdate returns the change of tags, subnets and addresses, if they differ.
func (d *differ) loadBalancerUpdate(have api.LoadBalancer, addresses []addressRef,
	after []plan.Ref) (plan.Change, bool) {
	var f plan.Fields
	patch := api.LoadBalancerPatch{}
	if tags := mergeTags(have.Tags, d.want.LoadBalancer.Tags); f.Diff("tags", plan.ShowMap(have.Tags),
		plan.ShowMap(tags)) {
		patch.Tags = &tags
	}
	if want := d.want.LoadBalancer.Subnets; f.Diff("subnets", plan.ShowSet(have.Subnets), plan.ShowSet(want)) {
		subnets := append([]string{}, want...)
		patch.Subnets = &subnets
	}
	readdress := f.Diff("addressIDs", plan.ShowSet(d.showIDs(have.AddressIDs)), plan.ShowSet(showRefs(addresses)))
	if len(f) == 0 {
		return plan.Change{}, false
	}
	change := plan.Change{
		Ref:    d.loadBalancerRef(plan.Update),
		Fields: f, Follows: []string{intent.KeyTags, intent.KeySubnets},
		Mark:  len(f) == 1 && f.Has("tags"),
		After: after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			if err := d.active.wait(ctx); err != nil {
				return err
			}
			if readdress {
				addressIDs, err := resolve(addresses, ids)
				if err != nil {
					return err
				}
				patch.AddressIDs = &addressIDs
			}
			lb, err := d.cloud.api.UpdateLoadBalancer(ctx, have.ID, patch)
			return d.write(err, func(o *Observed) { o.LoadBalancer = &lb })
		},
	}
	if leavesAddress(have.AddressIDs, addresses) {
		losesAddress.Declare(&change)
	}
	return change, true
}

// leavesAddress reports whether the load balancer loses an address.
func leavesAddress(have []string, want []addressRef) bool {
	return slices.ContainsFunc(have, func(id string) bool {
		return !slices.ContainsFunc(want, func(r addressRef) bool { return r.id == id })
	})
}

// loadBalancerDelete is the change that deletes the load balancer with its listeners and pools.
func (d *differ) loadBalancerDelete(have api.LoadBalancer, reason string) plan.Change {
	return plan.Change{
		Ref:      d.loadBalancerRef(plan.Delete),
		ID:       have.ID,
		Reason:   reason,
		Disrupts: replaces.Disrupts, Follows: replaces.Follows(),
		Do: func(ctx context.Context, _ *plan.Handles) error {
			err := cloudapi.IgnoreNotFound(d.cloud.api.DeleteLoadBalancer(ctx, have.ID))
			return d.write(err, func(o *Observed) { o.forget() })
		},
	}
}

// loadBalancerFields are the fields that a creation sets.
func loadBalancerFields(spec api.LoadBalancerSpec, addresses []addressRef) plan.Fields {
	var f plan.Fields
	f.Diff("scheme", "", spec.Scheme)
	f.Diff("families", "", plan.ShowSet(spec.Families))
	f.Diff("addressIDs", "", plan.ShowSet(showRefs(addresses)))
	f.Diff("subnets", "", plan.ShowSet(spec.Subnets))
	f.Diff("tags", "", plan.ShowMap(spec.Tags))
	return f
}

func (d *differ) loadBalancerRef(action plan.Action) plan.Ref {
	return plan.Ref{Kind: kindLoadBalancer, Name: loadBalancerName(d.key), Action: action}
}

// waitActive returns once the load balancer, last seen in state, accepts changes of its children. Its
// deletion in the meantime is an error, so that the wait ends.
func (c *Cloud) waitActive(ctx context.Context, key lbcommon.Key, state string) error {
	name := loadBalancerName(key)
	for state != api.LBActive {
		if err := clocks.Sleep(ctx, c.clock, pollInterval); err != nil {
			return fmt.Errorf("load balancer %s is still %s: %w", name, cmp.Or(state, "unseen"), err)
		}
		found, err := c.api.ListLoadBalancers(ctx, "", name)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "ListLoadBalancers",
				Err: fmt.Errorf("load balancer %s was deleted while it was provisioning", name)}
		}
		c.stores(key.ClusterName).wrote(name, func(o *Observed) { o.LoadBalancer = &found[0] })
		state = found[0].State
	}
	return nil
}

// refuseForeign returns the error about a load balancer of our name that is marked as another cluster's.
func refuseForeign(key lbcommon.Key, lb api.LoadBalancer) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: key.Subject(),
		Err: fmt.Errorf("the load balancer %s (%s) belongs to %s, not to cluster %q, and is not changed: give each cluster "+
			"its own --cluster-name, or delete that load balancer",
			lb.Name, lb.ID, foreign(key, lb.Cluster, lb.Tags), key.ClusterName)}
}
