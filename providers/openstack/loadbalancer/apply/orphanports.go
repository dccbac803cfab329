package apply

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// Octavia creates the port of an address before it validates the rest of a creation, and leaves an orphaned
// port if it then rejects the creation: one more with each retry. The port has no mark of its creator. It is
// deleted only if all of these conditions hold:
//   - our creation was rejected: after a lost reply or an error of the server the outcome is uncertain;
//   - the port was created while that creation ran, in the network, the subnet and with the address of
//     the creation;
//   - Octavia owns it, and it is named after a load balancer that does not exist;
//   - the conditions still hold after RefusalAge, when no creation can be in flight, and no floating IP is attached to
//     the port;
//   - no more such ports were created than creations of this manager were rejected in that time. If there are more,
//     the ownership is ambiguous, and all stay.

const (
	// devicePrefix and the load balancer's ID are the device of a port that Octavia created.
	devicePrefix = "lb-"
	// RefusalAge is the minimum age of a port of a rejected creation before it is deleted. A load balancer is
	// listed when its creation has returned, and Octavia, its proxies and clients time out after one to a few
	// minutes.
	RefusalAge = 10 * time.Minute
	// clockSkew is the tolerated difference between Neutron's clock, which counts whole seconds, and ours. With
	// a larger one, ports stay.
	clockSkew = 3 * time.Second
)

// orphanPorts finds and deletes the orphaned ports of rejected creations.
type orphanPorts struct {
	api   API
	clock clock.Clock

	mu sync.Mutex
	// refusals are the rejected creations with ports that may be orphaned, and those that overlap them.
	refusals []*refusal
}

// refusal is one creation that Octavia rejected.
type refusal struct {
	startedAt, endedAt time.Time
	// suspects are the ports that were created during it, by ID.
	suspects map[string]api.Port
}

// covers reports whether the creation was running at a time of Neutron's clock.
func (r *refusal) covers(t time.Time) bool {
	return !t.Before(r.startedAt.Add(-clockSkew)) && !t.After(r.endedAt.Add(clockSkew))
}

// overlaps reports whether the ports of two creations cannot be distinguished.
func (r *refusal) overlaps(other *refusal) bool {
	return !r.startedAt.Add(-clockSkew).After(other.endedAt.Add(clockSkew)) &&
		!other.startedAt.Add(-clockSkew).After(r.endedAt.Add(clockSkew))
}

// recordRefusal records a creation that started at a time and that Octavia rejected. Its orphaned ports are
// deleted in the background, after RefusalAge. The context carries the logger, and does not limit that.
func (o *orphanPorts) recordRefusal(ctx context.Context, spec loadbalancers.CreateOpts, startedAt time.Time) {
	if spec.VipPortID != "" {
		return // the port is the user's own
	}
	r := &refusal{startedAt: startedAt, endedAt: o.clock.Now(), suspects: map[string]api.Port{}}
	ports, err := o.api.ListPorts(ctx, api.PortFilter{DeviceOwner: api.OctaviaPortOwner, NetworkID: spec.VipNetworkID})
	if err != nil {
		return
	}
	for _, p := range ports {
		createdAt, err := time.Parse(time.RFC3339, p.CreatedAt)
		if err == nil && r.covers(createdAt) && looksOrphaned(p) && isPlaced(p, spec) {
			r.suspects[p.ID] = p
		}
	}
	o.mu.Lock()
	o.refusals = append(o.refusals, r)
	o.mu.Unlock()
	if len(r.suspects) > 0 {
		o.afterRefusalAge(func() {
			if err := panics.Do(func() error { o.cleanUp(context.WithoutCancel(ctx), r); return nil }); err != nil {
				klog.FromContext(ctx).Error(err, "Failed to delete orphaned VIP ports")
			}
		})
	}
}

// afterRefusalAge runs work with a timer if the clock supports it, instead of a waiting goroutine.
func (o *orphanPorts) afterRefusalAge(work func()) {
	if timers, ok := o.clock.(clock.WithDelayedExecution); ok {
		timers.AfterFunc(RefusalAge, work)
		return
	}
	go func() {
		<-o.clock.After(RefusalAge)
		work()
	}()
}

// cleanUp deletes the orphaned ports of a rejected creation: it reads their state, plans, and applies the
// plan.
func (o *orphanPorts) cleanUp(ctx context.Context, r *refusal) {
	logger := klog.FromContext(ctx)
	suspects, refusals := o.overlapping(r)
	var orphans []api.Port
	for _, p := range suspects {
		orphaned, err := o.isOrphaned(ctx, p)
		if err != nil {
			logger.V(2).Info("Skipping orphaned VIP port cleanup: state of a port unknown", "port", p.ID, "err", err)
			return
		}
		if orphaned {
			orphans = append(orphans, p)
		}
	}
	if len(orphans) > refusals {
		logger.Info("Skipping orphaned VIP port cleanup: ambiguous ownership", "ports", idsOf(orphans), "refusedCreations",
			refusals)
		return
	}
	orphans = slices.DeleteFunc(orphans, func(p api.Port) bool { _, suspected := r.suspects[p.ID]; return !suspected })
	_, err := o.planDeletions(orphans).Apply(ctx, plan.ApplyOptions{Clock: o.clock,
		Observer: func(c plan.Change, status plan.Status, err error) {
			if status == plan.Done || err != nil {
				logger.Info("Orphaned VIP port", "action", c.Action, "port", c.Name, "reason", c.Reason, "status", status, "err",
					err)
			}
		}})
	if err != nil {
		logger.Error(err, "Failed to delete orphaned VIP ports")
	}
}

// planDeletions plans the deletion of ports.
func (o *orphanPorts) planDeletions(orphans []api.Port) plan.Plan {
	p := plan.Plan{Subject: "ports of load balancers that Octavia refused to create"}
	for _, port := range orphans {
		p.Changes = append(p.Changes, plan.Change{
			Ref:    plan.Ref{Kind: "port", Name: port.ID, Action: plan.Delete},
			Reason: "Octavia left " + port.Name + " behind when it refused a load balancer",
			Do:     func(ctx context.Context, _ *plan.Handles) error { return o.api.DeletePort(ctx, port.ID) },
		})
	}
	return p
}

// overlapping returns the suspects of all rejected creations that overlap one, and the number of these
// creations. It removes creations that are too old.
func (o *orphanPorts) overlapping(r *refusal) (map[string]api.Port, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	suspects, refusals := map[string]api.Port{}, 0
	for _, other := range o.refusals {
		if !r.overlaps(other) {
			continue
		}
		refusals++
		maps.Copy(suspects, other.suspects)
	}
	oldest := o.clock.Now().Add(-2 * RefusalAge)
	o.refusals = slices.DeleteFunc(o.refusals, func(other *refusal) bool { return other.endedAt.Before(oldest) })
	return suspects, refusals
}

// isPlaced reports whether a port matches the place of a creation.
func isPlaced(p api.Port, spec loadbalancers.CreateOpts) bool {
	return slices.ContainsFunc(p.FixedIPs, func(f api.FixedIP) bool {
		return (spec.VipSubnetID == "" || f.SubnetID == spec.VipSubnetID) &&
			(spec.VipAddress == "" || model.SameIP(f.Address, spec.VipAddress))
	})
}

// looksOrphaned reports whether a port is as Octavia leaves it: named after a load balancer, and not in use.
func looksOrphaned(p api.Port) bool {
	id, ok := strings.CutPrefix(p.Name, api.OctaviaPortPrefix)
	return ok && id != "" && p.DeviceOwner == api.OctaviaPortOwner &&
		(p.DeviceID == devicePrefix+id || p.DeviceID == "") && p.Status != api.PortActive
}

// isOrphaned reports whether a port is still as Octavia left it, for a load balancer that does not exist.
func (o *orphanPorts) isOrphaned(ctx context.Context, suspect api.Port) (bool, error) {
	p, err := o.api.GetPort(ctx, suspect.ID)
	if missing, err := observe.IgnoreMissing(err); missing || err != nil {
		return false, err
	}
	if p.Name != suspect.Name || !looksOrphaned(p) {
		return false, nil
	}
	_, err = o.api.GetLoadBalancer(ctx, strings.TrimPrefix(p.Name, api.OctaviaPortPrefix))
	missing, err := observe.IgnoreMissing(err)
	if !missing || err != nil {
		return false, err
	}
	used, err := o.api.ListFloatingIPs(ctx, p.ID)
	return len(used) == 0, err
}

func idsOf(ports []api.Port) []string {
	ids := make([]string, len(ports))
	for i, p := range ports {
		ids[i] = p.ID
	}
	slices.Sort(ids)
	return ids
}
