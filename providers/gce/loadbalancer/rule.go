package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/subnet"
)

var ruleKind = kinds.Rule

// existingRule returns a forwarding rule as it is compared: one that lists ports instead of their range was made by
// another release, and is the same if they are those of the Service.
func (d *differ) existingRule(r api.ForwardingRule) api.ForwardingRule {
	if r.Scheme != api.SchemeInternal {
		r.Scheme = api.SchemeExternal
		if len(r.Ports) > 0 && plan.ShowSet(r.Ports) == plan.ShowSet(d.want.Ports) {
			r.PortRange = d.want.Rule.PortRange
		}
		r.Ports = nil
		return r
	}
	r.PortRange = ""
	return r
}

// wantedRule returns the wanted forwarding rule. An address that exists stays unless the Service chooses another one,
// or its tier or subnet changes.
func (d *differ) wantedRule(have *api.ForwardingRule) (api.ForwardingRule, error) {
	want := d.want.Rule
	static, err := d.staticAddress(have)
	if err != nil {
		return want, err
	}
	if static != nil {
		want.IPAddress = static.Address
		if d.want.Tier == "" && static.NetworkTier != "" && !d.want.Internal {
			want.NetworkTier = static.NetworkTier
		}
	}
	if have == nil {
		return want, d.verifySubnet(want)
	}
	if d.want.Internal {
		want.Subnetwork = cmp.Or(want.Subnetwork, have.Subnetwork) // Only a network with automatic subnets selects one.
	} else if d.want.Tier == "" && static == nil {
		want.NetworkTier = have.NetworkTier
	}
	if static == nil && !moves(*have, want) {
		want.IPAddress = have.IPAddress
	}
	return want, nil
}

// moves reports whether a forwarding rule needs another address than the one that it replaces, because of its tier or
// its subnet.
func moves(have, want api.ForwardingRule) bool {
	return cmp.Or(want.NetworkTier, have.NetworkTier) != have.NetworkTier && want.Scheme != api.SchemeInternal ||
		want.Subnetwork != "" && api.Path(want.Subnetwork) != api.Path(have.Subnetwork)
}

// verifySubnet returns an error if the forwarding rule of another scheme would be deleted for one that cannot exist:
// an internal one without a subnet.
func (d *differ) verifySubnet(want api.ForwardingRule) error {
	if d.have.Rule == nil || want.Scheme != api.SchemeInternal || want.Subnetwork != "" || d.want.Legacy {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: api.ForwardingRulesInsert.String(),
		Err: fmt.Errorf("the network %s has no subnet for internal load balancers: name one in %s, or in subnetwork-name in "+
			"section [global]", api.Last(want.Network), annotation.KeySubnet)}
}

// staticAddress returns the address that the Service chooses; nil without one. An external address has to be reserved,
// or be the one that the load balancer has.
func (d *differ) staticAddress(have *api.ForwardingRule) (*api.Address, error) {
	chosen := d.want.Static
	if chosen == "" {
		return nil, nil //nolint:nilnil // no address is chosen
	}
	i := slices.IndexFunc(d.have.Addresses, func(a api.Address) bool { return d.isStatic(a, have) })
	if i >= 0 {
		return d.reservedAddress(&d.have.Addresses[i])
	}
	ip, err := netip.ParseAddr(chosen)
	switch {
	case err == nil && d.want.Internal:
		return &api.Address{Address: ip.String()}, nil
	case err == nil && have != nil && have.IPAddress == chosen:
		if err := d.checkTier(have.NetworkTier); err != nil {
			return nil, err
		}
		return &api.Address{Address: ip.String(), NetworkTier: have.NetworkTier}, nil
	}
	return nil, d.invalid("no address of the region %s has this IP address or name: reserve it, in the project %s",
		d.have.Environment.Region, d.have.Environment.Project)
}

// isStatic reports whether the Service chooses an address, by its name or by its IP address. Another network may have
// an internal one with the same IP address.
func (d *differ) isStatic(a api.Address, have *api.ForwardingRule) bool {
	subnetwork := d.want.Rule.Subnetwork
	if subnetwork == "" && have != nil {
		subnetwork = have.Subnetwork
	}
	return a.Name == d.want.Static || a.Address == d.want.Static &&
		(!d.want.Internal || a.AddressType != api.SchemeInternal || isInSubnet(a, subnetwork))
}

// isInSubnet reports whether an internal address is one of a subnet; "" is one that is not known.
func isInSubnet(a api.Address, subnetwork string) bool {
	return subnetwork == "" || api.Path(a.Subnetwork) == api.Path(subnetwork)
}

// reservedAddress returns a reserved address, and an error if the load balancer cannot have it.
func (d *differ) reservedAddress(a *api.Address) (*api.Address, error) {
	kind := api.SchemeExternal
	if d.want.Internal {
		kind = api.SchemeInternal
	}
	if isBalancer(a.Name) && a.Name != d.name() && !belongsTo(a.Description, d.key) {
		return nil, d.invalid("this manager has reserved it for another Service, whose load balancer is being replaced")
	}
	if err := d.checkUsers(a); err != nil {
		return nil, err
	}
	if err := d.checkPurpose(a); err != nil {
		return nil, err
	}
	if cmp.Or(a.AddressType, api.SchemeExternal) != kind {
		return nil, d.invalid("it is an %s address, and the load balancer is %s",
			strings.ToLower(a.AddressType), strings.ToLower(kind))
	}
	return a, d.checkTier(a.NetworkTier)
}

// checkUsers returns an error if a machine has the address, or another forwarding rule with the same ports: the one of
// the Service would be deleted before Compute Engine refuses its successor.
func (d *differ) checkUsers(a *api.Address) error {
	for _, user := range a.Users {
		if !strings.Contains(api.Path(user), "forwardingRules/") {
			return d.invalid("%s has it", api.Path(user))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.have.Rules)) {
		rule := d.have.Rules[name]
		if rule.Name != d.name() && rule.IPAddress == a.Address && model.Overlap(rule, d.want.Rule) &&
			(!d.want.Internal || rule.Network == "" || api.Path(rule.Network) == api.Path(d.want.Rule.Network)) {
			return d.invalid("the forwarding rule %s has it, with %s ports of the range %s", rule.Name, rule.IPProtocol,
				cmp.Or(rule.PortRange, strings.Join(rule.Ports, ", "), "all"))
		}
	}
	return nil
}

// checkPurpose returns an error if another forwarding rule has an internal address that is not reserved for several.
func (d *differ) checkPurpose(a *api.Address) error {
	isOther := func(user string) bool { return api.Last(user) != d.name() }
	if i := slices.IndexFunc(a.Users, isOther); i >= 0 && a.AddressType == api.SchemeInternal && a.Purpose != "" &&
		a.Purpose != api.PurposeShared {
		return d.invalid("%s has it, and it is not reserved with the purpose %s", api.Path(a.Users[i]), api.PurposeShared)
	}
	return nil
}

// checkTier returns an error if the Service requests another network tier than the one of its address. Empty is a tier
// that is not known.
func (d *differ) checkTier(tier string) error {
	if d.want.Tier == "" || tier == "" || tier == d.want.Tier {
		return nil
	}
	return d.invalid("it has the network tier %s, and the Service requests %s", tier, d.want.Tier)
}

// invalid returns the problem with the address that the Service chooses.
func (d *differ) invalid(format string, args ...any) error {
	var problems intent.Problems
	problems.Addf(cmp.Or(d.want.StaticField, intent.KeyStaticAddresses), d.want.Static, format, args...)
	return problems.Err(d.key.Subject())
}

// ruleCreation creates a forwarding rule. Its address is known then. It has the one that is reserved under its name, if
// the plan has reserved any that is free.
type ruleCreation struct {
	want     api.ForwardingRule
	reserved bool
}

// Do implements plan.Step.
func (s ruleCreation) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	release, err := w.holdBackend(ctx, s.want.BackendService)
	if err != nil {
		return err
	}
	defer release()
	if s.reserved {
		a := w.addresses.find(s.want.Name)
		if a == nil || a.Address == "" {
			return &cloudapi.Error{Class: cloudapi.Conflict, Operation: api.ForwardingRulesInsert.String(),
				Err: fmt.Errorf("the address %s: %w", s.want.Name, errDeleted)}
		}
		s.want.IPAddress = a.Address
	}
	err = w.rules.create(ctx, s.want, func(have *api.ForwardingRule) bool {
		want := s.want
		return isOurs(*have) && ruleKind.Equal(have, &want)
	})
	if err != nil {
		return err
	}
	rule, err := w.rules.read(ctx, s.want.Name)
	if err != nil {
		w.rules.table.Invalidate()
		return err
	}
	if rule.IPAddress == "" {
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: api.ForwardingRulesGet.String(),
			Err: fmt.Errorf("the forwarding rule %s has no address yet", rule.Name)}
	}
	ids.Set(addressHandle, rule.IPAddress)
	return nil
}

// holdBackend keeps a backend service while a forwarding rule is about to refer to it: load balancers can share it.
func (w writer) holdBackend(ctx context.Context, link string) (release func(), err error) {
	if link == "" {
		return func() {}, nil
	}
	return w.holdShared(ctx, link, func(context.Context) error {
		if w.backends.find(api.Last(link)) == nil {
			return &cloudapi.Error{Class: cloudapi.Conflict, Operation: api.ForwardingRulesInsert.String(), Err: errDeleted}
		}
		return nil
	})
}

// ruleUpdate changes a forwarding rule in place.
type ruleUpdate struct {
	name  string
	patch api.ForwardingRulePatch
}

// Do implements plan.Step.
func (s ruleUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	current, err := w.rules.read(ctx, s.name)
	if err != nil {
		return err
	}
	s.patch.Fingerprint = current.Fingerprint
	return w.rules.patch(ctx, s.name, s.patch, func(r *api.ForwardingRule) {
		r.AllowGlobalAccess = *s.patch.AllowGlobalAccess
	})
}

// ruleDeletion deletes a forwarding rule. One that another controller has made since the plan stays.
type ruleDeletion struct{ name string }

// Do implements plan.Step.
func (s ruleDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	have, err := w.rules.read(ctx, s.name)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound): // The deletion records it.
	case err != nil:
		return err
	case !isOurs(have):
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: api.ForwardingRulesDelete.String(),
			Err: fmt.Errorf("the forwarding rule %s was made by another controller since the plan was made", s.name)}
	}
	_, err = w.rules.remove(ctx, s.name)
	return err
}

// ruleReplacement deletes a forwarding rule that another one replaces, unless the subnet of that one is impossible.
// What reserves the other address has verified it.
type ruleReplacement struct {
	ruleDeletion
	have, want api.ForwardingRule
	verified   bool
}

// Do implements plan.Step.
func (s ruleReplacement) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	if !s.verified {
		if err := subnet.VerifySuccessor(ctx, w.api, w.environment, s.have, s.want); err != nil {
			return err
		}
	}
	return s.ruleDeletion.Do(ctx, w, ids)
}
