package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// The kinds in plans. Members are a separate kind, because only they change when nodes join and leave.
const (
	kindLoadBalancer = observe.KindLoadBalancer
	kindListener     = observe.KindListener
	kindPool         = observe.KindPool
	kindMembers      = "members"
	kindMonitor      = observe.KindMonitor
	kindFloatingIP   = observe.KindFloatingIP
	kindGroup        = observe.KindGroup
	kindRules        = "security group rules"
	kindPort         = observe.KindPort
)

// Handles of objects in a plan before they exist.
const (
	loadBalancerHandle = plan.Handle("load balancer")
	groupHandle        = plan.Handle("security group")
)

// differ builds one plan.
type differ struct {
	key observe.Key
	// want are the objects for the existing load balancer, configured those for one of the configured provider.
	want, configured model.Desired
	have             observe.Observed
	plan             plan.Plan
	// deleting is set if nothing should exist.
	deleting bool
	// owner reports that the existing load balancer was created for this Service.
	owner bool
	// replaced is the load balancer that this plan or an earlier one replaces. Its successor gets its address if it can.
	replaced *api.LoadBalancer
	// ownVIPPort is the port of the existing load balancer, if it was created for a Service of this cluster: vipOwner.
	ownVIPPort, vipOwner string
	// freed are the floating IPs of the load balancer that the plan replaces.
	freed []api.FloatingIP
	// awaited are the IDs of the floating IPs that serve again once the new load balancer exists.
	awaited []string
	// refused is the replacement of the load balancer, if that fails.
	refused []plan.Ref
	// last are changes that come after all others of the load balancer.
	last []plan.Change
	// refs are the references of changes.
	refs map[plan.Ref]bool
	// planned are the IDs of pools that the plan keeps or deletes.
	planned map[string]bool
	// unmonitored is set if the load balancer was adopted without health monitors, and stays so.
	unmonitored bool
}

// newDiffer returns a differ for the existing objects of one Service.
func newDiffer(key observe.Key, have observe.Observed) *differ {
	d := &differ{key: key, have: have, replaced: have.Replaced, refs: map[plan.Ref]bool{}, planned: map[string]bool{}}
	d.plan.Subject = d.key.Subject()
	if lb := have.LoadBalancer; lb != nil {
		d.owner = d.key.Owns(*lb)
		if d.isOfCluster(*lb) && d.isProven() {
			d.ownVIPPort, d.vipOwner = lb.VipPortID, d.key.Service().String()
			if !d.owner {
				_, d.vipOwner, _ = names.ParseLoadBalancer(lb.Name)
			}
		}
	}
	return d
}

// add appends a change to the plan.
func (d *differ) add(change plan.Change) { d.plan.Changes = append(d.plan.Changes, change) }

// addLast appends the changes that come after all others but those that wait for them: a failure ends the plan.
func (d *differ) addLast() {
	var after []plan.Ref
	for _, c := range d.plan.Changes {
		if !d.waitsForRefused(c) {
			after = append(after, c.Ref)
		}
	}
	for _, change := range d.last {
		change.After = append(change.After, after...)
		d.add(change)
	}
}

// waitsForRefused reports whether a change comes only after the replacement that fails.
func (d *differ) waitsForRefused(c plan.Change) bool {
	return slices.ContainsFunc(c.After, func(ref plan.Ref) bool { return slices.Contains(d.refused, ref) })
}

func (d *differ) warnf(format string, args ...any) {
	d.plan.Warnings = append(d.plan.Warnings, fmt.Sprintf(format, args...))
}

// warnWithReason is warnf with the reason of the Event.
func (d *differ) warnWithReason(reason events.Reason, format string, args ...any) {
	d.warnf(format, args...)
	reasons := maps.Clone(d.plan.Reasons)
	if reasons == nil {
		reasons = map[string]events.Reason{}
	}
	reasons[d.plan.Warnings[len(d.plan.Warnings)-1]] = reason
	d.plan.Reasons = reasons
}

// ref returns the reference of a change. Octavia's names are not unique, so that a detail, such as the object's ID,
// distinguishes a second one of a name.
func (d *differ) ref(kind, name string, action plan.Action, detail string) plan.Ref {
	ref := plan.Ref{Kind: kind, Name: name, Action: action}
	for n := 2; d.refs[ref]; n++ {
		ref.Name = strings.TrimSpace(name + " " + detail)
		if d.refs[ref] {
			ref.Name = fmt.Sprintf("%s (%d)", name, n)
		}
	}
	d.refs[ref] = true
	return ref
}

// isProven reports whether the load balancer, or this Service's part of it, is certainly this cluster's: see
// observe.Observed.Proven. A node of this cluster among the members of its listeners proves it too.
func (d *differ) isProven() bool {
	return d.have.Proven || slices.ContainsFunc(d.have.Listeners, func(l api.Listener) bool {
		return d.have.NodeListeners[l.ID] && d.key.OwnsListener(*d.have.LoadBalancer, l)
	})
}

// isOfCluster reports whether a load balancer was created for a Service of this cluster.
func (d *differ) isOfCluster(lb api.LoadBalancer) bool {
	cluster, _, ok := names.ParseLoadBalancer(lb.Name)
	cut := names.IsCut(lb.Name) && strings.HasPrefix(lb.Name, names.LoadBalancerPrefix+d.key.ClusterName+"_")
	return d.key.Foreign(lb) == "" && (d.key.Owns(lb) || ok && cluster == d.key.ClusterName || cut)
}

// loadBalancer returns the existing load balancer, or the one that this plan creates.
func (d *differ) loadBalancer() reference {
	if d.have.LoadBalancer != nil {
		return reference{ID: d.have.LoadBalancer.ID}
	}
	return reference{Handle: loadBalancerHandle}
}

// keeps reports whether a difference is kept: that of a field, or without a field that of the object as a whole.
func (d *differ) keeps(kind, object, field string) bool {
	return slices.ContainsFunc(d.want.Kept, func(k plan.Difference) bool {
		return k.Kind == kind && k.Object == object && k.Field == field
	})
}

// keptItems returns the items of a set that stay.
func (d *differ) keptItems(kind, object, field string) []string {
	var items []string
	for _, k := range d.want.Kept {
		item, ok := strings.CutPrefix(k.Field, field+" ")
		if ok && k.Kind == kind && k.Object == object {
			items = append(items, item)
		}
	}
	return items
}
