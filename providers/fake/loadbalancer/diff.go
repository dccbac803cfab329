package loadbalancer

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// Diff implements loadbalancer.Cloud. A plan allocates addresses, creates the load balancer and waits until
// it is active, and creates pools, then the listeners that forward to them. Deletions have the reverse order.
func (c *Cloud) Diff(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	d := &differ{cloud: c, store: c.stores(key.ClusterName), key: key, have: have}
	d.plan.Subject = key.Subject()
	if want == nil {
		d.remove()
		return d.plan, nil
	}
	d.want = *want
	if err := d.refuse(); err != nil {
		return plan.Plan{}, err
	}
	d.ensure()
	return d.plan, nil
}

// differ builds one plan.
type differ struct {
	cloud *Cloud
	store *store
	key   lbcommon.Key
	want  Desired
	have  Observed
	plan  plan.Plan
	// active is the change that changes of an existing load balancer depend on.
	active *activeGate
}

// refuse returns an error if an object of our name is marked as another cluster's.
func (d *differ) refuse() error {
	if lb := d.have.LoadBalancer; lb != nil && foreign(d.key, lb.Cluster, lb.Tags) != "" {
		return refuseForeign(d.key, *lb)
	}
	for _, address := range d.have.Addresses {
		if owner := foreign(d.key, address.Cluster, address.Tags); owner != "" {
			return refuseAddress(d.key, address, owner)
		}
	}
	return nil
}

// ensure plans the changes to the desired objects.
func (d *differ) ensure() {
	lb := d.have.LoadBalancer
	reason := ""
	if lb != nil {
		reason = d.replaceReason(*lb)
	}
	var replaced []plan.Ref
	if reason != "" {
		removal := d.loadBalancerDelete(*lb, reason)
		d.plan.Add(removal)
		replaced = []plan.Ref{removal.Ref}
		lb = nil
	}
	addresses, surplus, created := d.ensureAddresses()
	if lb == nil {
		creation := d.loadBalancerCreate(addresses, append(created, replaced...), reason)
		d.plan.Add(creation)
		d.ensurePorts(api.LoadBalancer{}, []plan.Ref{creation.Ref})
		d.releaseAddresses(surplus, replaced)
		return
	}
	d.active = newActiveGate(d, *lb)
	var detached []plan.Ref
	if change, ok := d.loadBalancerUpdate(*lb, addresses, created); ok {
		d.plan.Add(change)
		detached = []plan.Ref{change.Ref}
	}
	d.ensurePorts(*lb, nil)
	d.releaseAddresses(surplus, detached)
	if lb.Warning != "" {
		d.plan.Warnf("%s", lb.Warning)
	}
}

// ensurePorts plans pools and listeners. Creations wait for base.
func (d *differ) ensurePorts(lb api.LoadBalancer, base []plan.Ref) {
	listeners := d.diffListeners(lb)
	pools := d.diffPools(lb, base, listeners)
	for _, change := range pools {
		d.plan.Add(change)
	}
	for _, change := range listeners {
		change.After = append(change.After, base...)
		for _, pool := range pools {
			// A listener needs its pool; the deletion of a pool waits for its listeners instead.
			if pool.Action == plan.Create && change.Action != plan.Delete && pool.Name == change.pool {
				change.After = append(change.After, pool.Ref)
			}
		}
		d.plan.Add(change.Change)
	}
}

// remove plans the deletion of all objects of ours. It ignores objects of another cluster, which must neither
// change nor block the deletion of the Service.
func (d *differ) remove() {
	var after []plan.Ref
	if lb := d.have.LoadBalancer; lb != nil {
		if owner := foreign(d.key, lb.Cluster, lb.Tags); owner != "" {
			d.plan.Warnf("load balancer %s belongs to %s and is not changed", lb.Name, owner)
			d.have.LoadBalancer = nil // An address of ours that it uses is not released either.
		} else {
			removal := d.loadBalancerDelete(*lb, "")
			d.plan.Add(removal)
			after = []plan.Ref{removal.Ref}
		}
	}
	var ours []api.Address
	for _, address := range d.have.Addresses {
		if owner := foreign(d.key, address.Cluster, address.Tags); owner != "" {
			d.plan.Warnf("address %s belongs to %s and is not changed", address.Name, owner)
			continue
		}
		ours = append(ours, address)
	}
	d.releaseAddresses(ours, after)
}

// replaceReason returns why an existing load balancer cannot become the desired one in place, or "".
func (d *differ) replaceReason(lb api.LoadBalancer) string {
	want := d.want.LoadBalancer
	if lb.Scheme != want.Scheme {
		return fmt.Sprintf("the scheme changes from %s to %s, which no load balancer can do in place: clients have to "+
			"follow to a new address", lb.Scheme, want.Scheme)
	}
	have := familiesOf(lb.Addresses)
	if lb.Scheme == string(intent.Internal) && len(have) > 0 && plan.ShowSet(have) != plan.ShowSet(want.Families) {
		return fmt.Sprintf("the address families change from %s to %s, which an internal load balancer cannot do in place: "+
			"clients have to follow to a new address",
			plan.ShowSet(have), plan.ShowSet(want.Families))
	}
	return ""
}

// write records the outcome of a mutation in the shared snapshot: the change or, with an error, that the
// outcome is uncertain. It returns err.
func (d *differ) write(err error, change func(*Observed)) error {
	name := loadBalancerName(d.key)
	if err != nil {
		d.store.state.MarkUncertain(name)
		return err
	}
	d.store.wrote(name, change)
	return nil
}

// writeChild records the outcome of a mutation of a pool or listener.
func (d *differ) writeChild(err error, change func(*api.LoadBalancer)) error {
	return d.write(err, func(o *Observed) {
		if o.LoadBalancer == nil {
			return
		}
		lb := *o.LoadBalancer // Observations are shared, so the change goes into a copy.
		lb.Pools, lb.Listeners = slices.Clone(lb.Pools), slices.Clone(lb.Listeners)
		change(&lb)
		o.LoadBalancer = &lb
	})
}

// exists turns "already exists" into success if the existing object equals the one to create: an earlier
// creation lost its reply. The next reconcile plans the change of any other object with the name.
func (d *differ) exists(ctx context.Context, err error, same func(api.LoadBalancer) bool) error {
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return err
	}
	have, readErr := d.store.read(ctx, loadBalancerName(d.key))
	if readErr != nil {
		return fmt.Errorf("%w; reading it failed: %w", err, readErr)
	}
	if have.LoadBalancer != nil && same(*have.LoadBalancer) {
		return nil
	}
	return err
}

// activeGate delays changes of an existing load balancer until it is active. It is provisioning if a
// manager was interrupted between its creation and that of its listeners.
type activeGate struct {
	mu     sync.Mutex
	passed bool
	poll   func(ctx context.Context) error
}

func newActiveGate(d *differ, lb api.LoadBalancer) *activeGate {
	return &activeGate{passed: lb.State == api.LBActive, poll: func(ctx context.Context) error {
		return d.cloud.waitActive(ctx, d.key, lb.State)
	}}
}

// wait polls for the first caller; concurrent callers wait for its result. A nil gate is open: the
// creation of the load balancer waited.
func (g *activeGate) wait(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passed {
		return nil
	}
	err := g.poll(ctx)
	g.passed = err == nil
	return err
}
