package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Settings that cannot be applied to existing objects without changing the address of a working Service are
// reported as warnings, and not applied.

// warnKeptFloatingIP warns if the Service selects another source of its floating IP than when it got it.
func (d *differ) warnKeptFloatingIP(lb *api.LoadBalancer) {
	want := d.want.FloatingIP
	if want == nil || !d.owner {
		return
	}
	attached := d.attachedFloatingIPs(lb)
	i := slices.IndexFunc(attached, func(f api.FloatingIP) bool {
		return want.Address == "" || model.SameIP(f.FloatingIP, want.Address)
	})
	if i < 0 {
		return
	}
	existing := attached[i]
	if d.keepsFloatingIP(existing) {
		return
	}
	// Without a record, the existing objects count as applied.
	changed := len(model.StoredRecord(*lb).Changed(model.AppliedFields(d.want), []string{model.FieldFloatingPlace})) > 0
	if !changed && (!want.NetworkExplicit || existing.FloatingNetworkID == want.NetworkID) {
		return
	}
	if changed {
		d.plan.Unapplied = append(d.plan.Unapplied, model.FieldFloatingPlace)
	}
	cause := cmp.Or(strings.Join(want.Explicit, ", "), "removing the annotations of the floating IP")
	d.warnf("%s has no effect on the floating IP %s, which the Service has already and keeps: to get another one, and "+
		"with it another address, set %s to \"true\", and back to \"false\" once the Service is internal",
		cause, existing.FloatingIP, annotation.KeyInternal)
}

// keepUnowned adds to the members those of nodes of other clouds and regions, and of nodes without a provider
// ID, that another manager added: it identified nodes by their addresses only. Such nodes are not added.
func (d *differ) keepUnowned() {
	var kept []string
	d.want.Ports = slices.Clone(d.want.Ports)
	for i := range d.want.Ports {
		port := &d.want.Ports[i]
		have, _ := d.listenerOf(*port)
		pool, _ := d.poolOf(have.DefaultPoolID)
		for _, candidate := range port.Unowned {
			hasAddress := func(m api.Member) bool { return model.SameIP(m.Address, candidate.Address) }
			i := slices.IndexFunc(pool.Members, hasAddress)
			if i < 0 || slices.ContainsFunc(port.Members, hasAddress) {
				continue
			}
			node := candidate.Name
			candidate.Name, candidate.SubnetID = pool.Members[i].Name, pool.Members[i].SubnetID
			port.Members = append(slices.Clip(port.Members), candidate)
			if !slices.Contains(kept, node) {
				kept = append(kept, node)
			}
		}
	}
	if len(kept) > 0 {
		slices.Sort(kept)
		d.warnf("the nodes %s have no provider ID of this cloud and region: they stay members of the load balancer, and "+
			"are not added to new ones; to remove them, label them %s=false", strings.Join(kept, ", "), provider.ManagedLabel)
	}
}

// keepUnmonitored adds no health monitors to a load balancer that another manager created without them,
// unless its Service requests them: the default monitors of externalTrafficPolicy: Local apply only to
// objects that this manager creates. Probes that a firewall drops would otherwise take every node of an
// unchanged Service out of service.
func (d *differ) keepUnmonitored() {
	lb := d.have.LoadBalancer
	if lb == nil || !d.want.ProbedForLocal || !d.isAdoptedUnmonitored(*lb) {
		return
	}
	d.unmonitored = true
	d.want.Ports = slices.Clone(d.want.Ports)
	for i := range d.want.Ports {
		d.want.Ports[i] = withoutMonitor(d.want.Ports[i])
	}
	d.warnf("the load balancer was created by another manager without health monitors, and is left so: with "+
		"externalTrafficPolicy: Local the connections that reach a node "+
		"without a pod are lost; set %s to \"true\", once the nodes' firewalls let the load balancer reach the Service's "+
		"health check node port", annotation.KeyMonitor)
}

func (d *differ) isAdoptedUnmonitored(lb api.LoadBalancer) bool {
	if slices.Contains(lb.Tags, names.UnmonitoredTag) {
		return d.owner
	}
	monitored := slices.ContainsFunc(d.have.Pools, func(p observe.Pool) bool { return p.MonitorID != "" })
	// The marks and the record are written after the tag of UnmonitoredTag.
	unchanged := names.ClusterUID(lb.Tags) == "" && model.StoredRecord(lb).IsZero()
	return d.owner && d.want.Features.Tags() && unchanged && !monitored
}

// warnImmutable warns about settings that the Service's class or the configuration would apply only to a new
// load balancer.
func (d *differ) warnImmutable(lb api.LoadBalancer) {
	want := d.want.LoadBalancer
	provider := model.InConfiguration("lb-provider")
	if isSameProvider(lb.Provider, want.Provider) {
		provider = ""
	}
	subnet := want.Source.Subnet
	if want.IsPlacedAt(lb.VipSubnetID) {
		subnet = ""
	}
	var ignored []string
	for _, c := range []struct{ source, field, have, want string }{
		{subnet, "subnet", lb.VipSubnetID, want.SubnetID},
		{want.Source.Network, "network", lb.VipNetworkID, want.NetworkID},
		{want.Source.Flavor, "flavor", lb.FlavorID, want.FlavorID},
		{want.Source.Zone, "availability zone", lb.AvailabilityZone, want.Zone},
		{provider, "provider", lb.Provider, want.Provider},
	} {
		if c.source != "" && c.have != c.want {
			ignored = append(ignored,
				fmt.Sprintf("%s %s, where %s requests %s", c.field, cmp.Or(c.have, "none"), c.source, c.want))
		}
	}
	if len(ignored) > 0 {
		d.warnf("the load balancer keeps its settings: %s; to recreate it, which gives it another address, delete "+
			"the Service and create it again", strings.Join(ignored, "; "))
	}
}

// isSameProvider reports whether two names mean one provider of Octavia. A load balancer without a provider matches
// any.
func isSameProvider(a, b string) bool {
	return a == "" || a == b || isAmphora(a) && isAmphora(b)
}

// isAmphora reports whether a name is one of those that the amphora driver has had.
func isAmphora(provider string) bool {
	return slices.Contains([]string{"amphora", "amphorav2", "octavia"}, provider)
}
