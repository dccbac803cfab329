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

// Diff implements loadbalancer.Cloud. The order of what it plans is: addresses are taken, the
// load balancer is created and active, then come pools, then the listeners that send to them.
// What has to go goes the other way round.
func (c *Cloud) Diff(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	d := &differ{cloud: c, key: key, have: have}
	d.plan.Subject = "Service " + key.Namespace + "/" + key.Name
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
	key   lbcommon.Key
	want  Desired
	have  Observed
	plan  plan.Plan
	// active is what changes of an existing load balancer wait for.
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

// ensure plans what leads to the wanted objects.
func (d *differ) ensure() {
	lb := d.have.LoadBalancer
	reason := ""
	if lb != nil {
		reason = d.replaceReason(*lb)
	}
	var replaced []plan.Ref
	if reason != "" {
		removal := d.loadBalancerDelete(*lb, reason)
		d.add(removal)
		replaced = []plan.Ref{removal.Ref}
		lb = nil
	}
	addresses, surplus, created := d.ensureAddresses()
	if lb == nil {
		creation := d.loadBalancerCreate(addresses, append(created, replaced...), reason)
		d.add(creation)
		d.ensurePorts(api.LoadBalancer{}, []plan.Ref{creation.Ref})
		d.releaseAddresses(surplus, replaced)
		return
	}
	d.active = newActiveGate(d, *lb)
	var detached []plan.Ref
	if change, ok := d.loadBalancerUpdate(*lb, addresses, created); ok {
		d.add(change)
		detached = []plan.Ref{change.Ref}
	}
	d.ensurePorts(*lb, nil)
	d.releaseAddresses(surplus, detached)
	if lb.Warning != "" {
		d.plan.Warnings = append(d.plan.Warnings, lb.Warning)
	}
}

// ensurePorts plans pools and listeners. Creations wait for base.
func (d *differ) ensurePorts(lb api.LoadBalancer, base []plan.Ref) {
	listeners := d.diffListeners(lb)
	pools := d.diffPools(lb, base, listeners)
	for _, change := range pools {
		d.add(change)
	}
	for _, change := range listeners {
		change.After = append(change.After, base...)
		for _, pool := range pools {
			// A listener needs its pool; a pool that goes waits for its listeners instead.
			if pool.Action == plan.Create && change.Action != plan.Delete && pool.Name == change.pool {
				change.After = append(change.After, pool.Ref)
			}
		}
		d.add(change.Change)
	}
}

// remove plans the deletion of everything of ours. What another cluster has marked is as good as
// not there: it must keep neither the Service from going nor be touched.
func (d *differ) remove() {
	var after []plan.Ref
	if lb := d.have.LoadBalancer; lb != nil {
		if owner := foreign(d.key, lb.Cluster, lb.Tags); owner != "" {
			d.plan.Warnings = append(d.plan.Warnings, fmt.Sprintf("load balancer %s belongs to %s and is left alone", lb.Name, owner))
			d.have.LoadBalancer = nil // An address of ours that it uses is lent to it, and not released either.
		} else {
			removal := d.loadBalancerDelete(*lb, "")
			d.add(removal)
			after = []plan.Ref{removal.Ref}
		}
	}
	var ours []api.Address
	for _, address := range d.have.Addresses {
		if owner := foreign(d.key, address.Cluster, address.Tags); owner != "" {
			d.plan.Warnings = append(d.plan.Warnings, fmt.Sprintf("address %s belongs to %s and is left alone", address.Name, owner))
			continue
		}
		ours = append(ours, address)
	}
	d.releaseAddresses(ours, after)
}

// replaceReason says why an existing load balancer cannot become the wanted one, or "".
func (d *differ) replaceReason(lb api.LoadBalancer) string {
	want := d.want.LoadBalancer
	if lb.Scheme != want.Scheme {
		return fmt.Sprintf("the scheme changes from %s to %s, which no load balancer can do in place: clients have to follow to a new address", lb.Scheme, want.Scheme)
	}
	have := familiesOf(lb.Addresses)
	if lb.Scheme == string(intent.Internal) && len(have) > 0 && plan.ShowSet(have) != plan.ShowSet(want.Families) {
		return fmt.Sprintf("the address families change from %s to %s, which an internal load balancer cannot do in place: clients have to follow to a new address",
			plan.ShowSet(have), plan.ShowSet(want.Families))
	}
	return ""
}

func (d *differ) add(change plan.Change) { d.plan.Changes = append(d.plan.Changes, change) }

// write books a mutation in the shared snapshot: what it changed, or, when it failed, that nobody
// knows how far it got. It returns err.
func (d *differ) write(err error, change func(*Observed)) error {
	name := loadBalancerName(d.key)
	if err != nil {
		d.cloud.store.doubt(d.key.ClusterName, name)
		return err
	}
	d.cloud.store.wrote(d.key.ClusterName, name, change)
	return nil
}

// writeChild books a mutation of a pool or listener.
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

// exists turns "already exists" into success if what exists is what was to be created: the reply
// to an earlier attempt was lost. Anything else that bears the name is left to the next
// reconcile, which sees it and plans its change.
func (d *differ) exists(ctx context.Context, err error, same func(api.LoadBalancer) bool) error {
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return err
	}
	have, readErr := d.cloud.store.read(ctx, d.key.ClusterName, loadBalancerName(d.key))
	if readErr != nil {
		return fmt.Errorf("%w; looking at it failed: %w", err, readErr)
	}
	if have.LoadBalancer != nil && same(*have.LoadBalancer) {
		return nil
	}
	return err
}

// activeGate lets changes of an existing load balancer wait until it takes them. It was found
// provisioning if a manager was interrupted between its creation and that of its listeners.
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

// wait polls for the first caller; the others, which run side by side, wait for its result. A nil
// gate is open: the load balancer's creation has waited.
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
