package loadbalancer

import (
	"cmp"
	"slices"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/firewalls"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// ensure plans the changes to the wanted objects: the health check, then the pool or the backend service with its
// groups, then the forwarding rule with its address, then the firewalls. What another kind of load balancer has left
// is deleted at last: no new forwarding rule waits for it. Deletions have the reverse order, so that the firewall of
// the traffic is the last object of a load balancer.
func (d *differ) ensure() error {
	if d.have.Elsewhere != nil {
		return cloudprovider.ImplementedElsewhere
	}
	if err := d.verifyTags(); err != nil {
		return err
	}
	d.want.Groups = d.existingGroups(d.want.Groups)
	rule, replaced := d.have.Rule, []plan.Ref(nil)
	if rule != nil && d.have.isExternal() == d.want.Internal {
		replaced, rule = d.removeRule(), nil
	}
	want, err := d.wantedRule(rule)
	if err != nil {
		return err
	}
	left := d.removeOther(replaced)
	var released []plan.Ref
	if rule == nil {
		released = d.adoptAddress(&want)
		replaced = append(replaced, released...)
	}
	pool, replacesPool := d.replacesPool()
	deletion := d.replaceRule(rule, want, replacesPool)
	d.prepareSuccessor(&want, released)
	checks := slices.Concat(d.ensureCheck(), d.ensureProbes(rule, want))
	var back []plan.Ref
	if d.want.Internal {
		back = d.ensureBackend(deletion, slices.Concat(checks, d.ensureGroups(d.want.Groups)))
	} else if replacesPool {
		back = d.ensurePool(&pool, deletion, checks)
	} else {
		back = d.ensurePool(nil, nil, checks)
	}
	d.awaitSuccessor()
	needed, later := back, []plan.Ref(nil)
	if replacesPool { // A new pool has the health check of the old one, which is replaced beside traffic.
		needed, later = back[:1], back[1:]
	}
	ruled := d.ensureRule(rule, want, deletion, slices.Concat(needed, replaced))
	d.ensureFirewalls(rule, want, ruled)
	d.removeObsolete(slices.Concat(back, ruled))
	d.keepDeleted()
	d.order(slices.Concat(later, left))
	for _, warning := range d.want.Warnings {
		d.plan.Warnf("%s", warning)
	}
	return nil
}

// awaitSuccessor lets the deletion of the forwarding rule wait for what its successor needs: the rule stays if the
// cloud refuses one of them. What can only follow the deletion does: another protocol of the backend service, another
// pool.
func (d *differ) awaitSuccessor() {
	i := d.deletedRule()
	if i < 0 {
		return
	}
	follows := plan.Following(d.plan.Changes, d.plan.Changes[i].Ref)
	for _, c := range d.plan.Changes {
		joins := isMembers(c) && len(c.After) == 0 // A pool or group that exists needs none of them.
		if c.Action != plan.Delete && !joins && !follows[c.Ref] && !slices.Contains(d.plan.Changes[i].After, c.Ref) {
			d.plan.Changes[i].After = append(d.plan.Changes[i].After, c.Ref)
		}
	}
}

// isMembers reports whether a change is one of the members of a pool or group.
func isMembers(c plan.Change) bool {
	return c.Action == plan.Update && (c.Kind == kindMembers || c.Kind == kindGroupMembers)
}

// order makes some changes the last ones of the plan, which ends at an error, and after them members that could not be
// changed lately.
func (d *differ) order(last []plan.Ref) {
	rank := func(c plan.Change) int {
		switch {
		case isMembers(c) && d.have.Kept[failedMembers(c.Name)]:
			return 2
		case slices.Contains(last, c.Ref):
			return 1
		}
		return 0
	}
	for i, c := range d.plan.Changes {
		if rank(c) == 0 {
			continue
		}
		follows := plan.Following(d.plan.Changes, c.Ref)
		for _, other := range d.plan.Changes {
			if !follows[other.Ref] && rank(other) < rank(c) {
				d.plan.Changes[i].Order = append(d.plan.Changes[i].Order, other.Ref)
			}
		}
	}
}

// removeRule plans the deletion of the forwarding rule.
func (d *differ) removeRule() []plan.Ref {
	have := *d.have.Rule
	change := ruleKind.Delete(&have)
	change.ID = have.Name
	return []plan.Ref{d.add(change, ruleDeletion{have.Name})}
}

// removeOther plans the deletion of the objects of the other kind of load balancer, after that of its forwarding rule.
func (d *differ) removeOther(after []plan.Ref) []plan.Ref {
	all := d.removeInternal
	if d.want.Internal {
		all = d.removeExternal
	}
	return slices.DeleteFunc(all(after...), func(r plan.Ref) bool { return slices.Contains(after, r) })
}

// adoptAddress lets a new forwarding rule have the address that is reserved for it, since an earlier one was deleted.
// An address that it cannot have is released before.
func (d *differ) adoptAddress(want *api.ForwardingRule) []plan.Ref {
	address := d.have.Address
	if address == nil || d.have.Kept[keptAddress(address.Name)] && len(address.Users) > 0 {
		return nil
	}
	if model.Fits(*address, *want, d.want.Tier) {
		want.IPAddress, want.Subnetwork = address.Address, cmp.Or(want.Subnetwork, address.Subnetwork)
		if !d.want.Internal && address.NetworkTier != "" {
			want.NetworkTier = address.NetworkTier
		}
		return nil
	}
	return []plan.Ref{d.releaseLeftover()}
}

// replaceRule plans the deletion of a forwarding rule that cannot become the wanted one in place, or whose pool is
// replaced. Its address is reserved before, unless the wanted one has another.
func (d *differ) replaceRule(have *api.ForwardingRule, want api.ForwardingRule, replacesPool bool) []plan.Ref {
	if have == nil {
		return nil
	}
	existing := d.existingRule(*have)
	change, replace := ruleKind.Replace(&existing, &want)
	if !replace && !replacesPool {
		return nil
	}
	if replacesPool {
		change.Reason = "its target pool is replaced, which has what changes"
	}
	change.ID = have.Name
	var after []plan.Ref
	if want.IPAddress == have.IPAddress {
		after = d.reserve(*have)
	}
	return []plan.Ref{d.add(change, ruleDeletion{have.Name}, after...)}
}

// ensureRule plans the creation of the forwarding rule, or its update, and the release of an address that was reserved
// for its replacement.
func (d *differ) ensureRule(have *api.ForwardingRule, want api.ForwardingRule, deletion, after []plan.Ref) []plan.Ref {
	var refs []plan.Ref
	if have == nil || len(deletion) > 0 {
		refs = []plan.Ref{d.add(ruleKind.Create(&want), ruleCreation{want, d.reserves}, slices.Concat(deletion, after)...)}
	} else {
		existing := d.existingRule(*have)
		if change, differ := ruleKind.Update(&existing, &want); differ {
			var patch api.ForwardingRulePatch
			ruleKind.Set(&patch, &want, change.Fields)
			refs = []plan.Ref{d.add(change, ruleUpdate{want.Name, patch}, after...)}
		}
	}
	if address := d.have.Address; address != nil && !d.have.Kept[keptAddress(address.Name)] && !d.isChosen(*address) {
		d.release(*address, refs...)
	}
	return refs
}

// ensureProbes plans the firewall for probes before a pool or backend service gets the health check: its members would
// be unhealthy until then.
func (d *differ) ensureProbes(have *api.ForwardingRule, want api.ForwardingRule) []plan.Ref {
	probes, kind := d.probeFirewall(want.IPAddress)
	if !precedesRule(probes, have) {
		return nil
	}
	return d.ensureFirewall(kind, probes, have != nil, nil)
}

// precedesRule reports whether the firewall for probes can be changed before the forwarding rule: it has no address, or
// that of the existing rule.
func precedesRule(probes api.Firewall, have *api.ForwardingRule) bool {
	return len(probes.DestinationRanges) == 0 || have != nil && probes.DestinationRanges[0] == have.IPAddress
}

// ensureFirewalls plans the firewalls for the address of the forwarding rule.
func (d *differ) ensureFirewalls(have *api.ForwardingRule, want api.ForwardingRule, after []plan.Ref) {
	ip := want.IPAddress
	if ip == "" {
		ip = pendingAddress
	}
	before := after
	// One that denies has the priority of the wanted one, and of two with the same priority the one that denies wins.
	if deny, ok := d.have.Firewalls[names.DenyFirewall(d.name())]; ok {
		before = slices.Concat(after, d.removeFirewall(deny, checkOf{}, after...))
	}
	traffic := d.ensureFirewall(&firewalls.Kind, d.trafficFirewall(ip), have != nil, before)
	if probes, kind := d.probeFirewall(ip); !precedesRule(probes, have) {
		d.ensureFirewall(kind, probes, have != nil, after)
	}
	if old, ok := d.have.Firewalls[names.OldFirewall(d.name())]; ok {
		d.removeFirewall(old, checkOf{}, traffic...)
	}
}

// removeObsolete plans the deletion of health checks, and of a backend service, that the wanted objects have left.
func (d *differ) removeObsolete(after []plan.Ref) {
	own, node := d.name(), names.NodeHealthCheck(d.have.ClusterID)
	if !d.want.Internal {
		if d.want.SharedCheck {
			d.removeCheck(kindPoolCheck, own, false, after...)
		} else if d.have.Pool != nil && refersTo(d.have.Pool.HealthChecks, node) {
			d.removeCheck(kindPoolCheck, node, true, after...)
		}
		return
	}
	if backend := d.have.Backend; backend != nil && backend.Name != d.want.Backend.Name {
		after = append(after, d.removeBackend(*backend, after...)...)
	}
	for _, backend := range d.have.SharedBackends {
		if backend.Name != d.want.Backend.Name && d.have.leaves(backend) {
			after = append(after, d.removeBackend(backend, after...)...)
		}
	}
	if d.want.SharedCheck {
		d.removeCheck(kindCheck, own, false, after...)
	} else if d.have.Backend != nil && refersTo(d.have.Backend.HealthChecks, node) {
		d.removeCheck(kindCheck, node, true, after...)
	}
}

// removeExternal plans the deletion of the pool with its health checks. That of nodes is deleted by whoever finds that
// nothing uses it: a load balancer that was to use it may have been interrupted before.
func (d *differ) removeExternal(after ...plan.Ref) []plan.Ref {
	refs := slices.Clone(after)
	if !d.have.ExternalRead {
		return refs
	}
	if have := d.have.Pool; have != nil && !d.have.Kept["pools/"+have.Name] {
		existing := existingPool(*have)
		change := poolKind.Delete(&existing)
		change.ID = have.Name
		refs = append(refs, d.add(change, poolDeletion{have.Name, false}, after...))
	}
	refs = append(refs, d.removeCheck(kindPoolCheck, d.name(), false, refs...)...)
	refs = append(refs, d.removeCheck(kindPoolCheck, names.NodeHealthCheck(d.have.ClusterID), true, refs...)...)
	return unique(refs)
}

// removeInternal plans the deletion of the backend service with its health checks, and of what internal load balancers
// share if nothing uses it.
func (d *differ) removeInternal(after ...plan.Ref) []plan.Ref {
	refs := slices.Clone(after)
	if !d.have.InternalRead {
		return refs
	}
	if d.have.Backend != nil {
		refs = append(refs, d.removeBackend(*d.have.Backend, after...)...)
	}
	for _, backend := range d.have.SharedBackends {
		if d.have.leaves(backend) || d.isLeftover(backend) {
			refs = append(refs, d.removeBackend(backend, after...)...)
		}
	}
	refs = append(refs, d.removeCheck(kindCheck, d.name(), false, refs...)...)
	refs = append(refs, d.removeCheck(kindCheck, names.NodeHealthCheck(d.have.ClusterID), true, refs...)...)
	refs = append(refs, d.removeGroups(refs...)...)
	return unique(refs)
}

// isLeftover reports whether a shared backend service has no user: its load balancer was interrupted.
func (d *differ) isLeftover(backend api.BackendService) bool {
	return d.have.Rule == nil && !d.isUsed(d.link(api.BackendServicesGet, api.Target{Name: backend.Name}))
}

// unique returns references without duplicates.
func unique(refs []plan.Ref) []plan.Ref {
	var out []plan.Ref
	for _, ref := range refs {
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// remove plans the deletion of all objects of the Service, whatever kind its annotations select. What other controllers
// have made, and what others use, is omitted.
func (d *differ) remove() {
	if d.have.Elsewhere != nil {
		d.plan.Warnf("the forwarding rule %s was made by ingress-gce and is not changed", d.have.Elsewhere.Name)
	}
	var refs []plan.Ref
	if d.have.Rule != nil {
		refs = d.removeRule()
	}
	// The rule that is deleted is what used the address when its release was refused.
	if address := d.have.Address; address != nil && d.have.Elsewhere == nil &&
		(d.have.Rule != nil || !d.have.Kept[keptAddress(address.Name)]) {
		d.release(*address, refs...)
	}
	last := slices.Concat(refs, d.removeExternal(refs...), d.removeInternal(refs...))
	for _, name := range []string{names.DenyFirewall(d.name()), names.OldFirewall(d.name()), names.Firewall(d.name())} {
		if have, ok := d.have.Firewalls[name]; ok {
			last = append(last, d.removeFirewall(have, checkOf{}, unique(last)...)...)
		}
	}
}

// keep returns the wanted objects with the existing values of some differences.
func keep(want model.Desired, have Observed, held []plan.Difference) model.Desired {
	if have.Rule != nil {
		want = keepRule(want, have, held)
	}
	if have.Pool != nil && !want.Internal {
		kept := kinds.Kept(&poolKind, want.Pool, *have.Pool, held)
		want.Pool.SessionAffinity, want.Pool.HealthChecks = kept.SessionAffinity, kept.HealthChecks
	}
	if have.Backend != nil && want.Internal && have.Backend.Name == want.Backend.Name {
		want.Backend.Protocol = kinds.Kept(&backendKind, want.Backend, *have.Backend, held).Protocol
	}
	want.Held = held // The others are kept when they are compared.
	return want
}

// keepDeleted removes the deletions that are held.
func (d *differ) keepDeleted() {
	var kept []plan.Ref
	d.plan.Changes = slices.DeleteFunc(d.plan.Changes, func(c plan.Change) bool {
		isHeld := func(x plan.Difference) bool { return slices.ContainsFunc(d.want.Held, x.SamePlace) }
		if c.Action != plan.Delete || !slices.ContainsFunc(c.Harmless(), isHeld) {
			return false
		}
		kept = append(kept, c.Ref)
		return true
	})
	for i := range d.plan.Changes {
		d.plan.Changes[i].After = slices.DeleteFunc(slices.Clone(d.plan.Changes[i].After), func(r plan.Ref) bool {
			return slices.Contains(kept, r)
		})
	}
}

// keepRule keeps values of the forwarding rule, with what follows from them.
func keepRule(want model.Desired, have Observed, held []plan.Difference) model.Desired {
	isHeld := func(field string) bool {
		return slices.ContainsFunc(held, func(h plan.Difference) bool { return h.Kind == kindRule && h.IsOf(field) })
	}
	if isHeld(kinds.FieldAddress) {
		want.Static = ""
	}
	if isHeld(kinds.FieldTier) {
		want.Tier, want.Static = "", ""
	}
	d := differ{want: want, have: have}
	existing := d.existingRule(*have.Rule)
	want.Rule = kinds.Kept(&ruleKind, want.Rule, existing, held)
	if isHeld(kinds.FieldAddress) {
		want.Rule.IPAddress = ""
	}
	if !want.Internal || !isHeld(kinds.FieldBackend) {
		return want
	}
	// The forwarding rule of a backend service that stays has its protocol.
	if want.Backend = keptBackend(want.Backend, have); want.Backend.Protocol != want.Rule.IPProtocol {
		want.Rule = existing
		want.Firewall.Allowed = have.Firewalls[want.Firewall.Name].Allowed
	}
	return want
}

// keptBackend returns the wanted backend service of a forwarding rule that keeps the one it has. A shared one stays as
// it is.
func keptBackend(want api.BackendService, have Observed) api.BackendService {
	name := api.Last(have.Rule.BackendService)
	if isNamed(have.Backend, name) {
		want.Name, want.Description = name, have.Backend.Description
		return want
	}
	i := slices.IndexFunc(have.SharedBackends, func(b api.BackendService) bool { return b.Name == name })
	if i < 0 {
		return want
	}
	return have.SharedBackends[i]
}
