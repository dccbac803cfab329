package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/subnet"
)

// addressKind are the addresses with the name of a load balancer. Such an address exists only while a forwarding rule
// is replaced: reserving the rule's own address keeps it.
var addressKind = rows.Kind[*api.Address, *struct{}]{
	Name: kindAddress,
	Key:  func(a *api.Address) string { return a.Name },
	Rows: []rows.Row[*api.Address, *struct{}]{
		{Name: "address", Value: rows.Text(func(a *api.Address) *string { return &a.Address })},
		{Name: "addressType", Value: rows.Text(func(a *api.Address) *string { return &a.AddressType })},
	},
}

// reserve plans the reservation of the address of a forwarding rule that is about to be replaced, unless it is
// reserved.
func (d *differ) reserve(rule api.ForwardingRule) []plan.Ref {
	isInternal := rule.Scheme == api.SchemeInternal
	isReserved := func(a api.Address) bool {
		return a.Address == rule.IPAddress && (a.AddressType == api.SchemeInternal) == isInternal &&
			(!isInternal || isInSubnet(a, rule.Subnetwork))
	}
	if slices.ContainsFunc(d.have.Addresses, isReserved) {
		return nil
	}
	var after []plan.Ref
	if d.have.Address != nil { // left over from an interruption, with another address
		after = append(after, d.releaseLeftover())
	}
	want := api.Address{Address: rule.IPAddress, AddressType: api.SchemeExternal, NetworkTier: rule.NetworkTier}
	if rule.Scheme == api.SchemeInternal {
		want.AddressType, want.NetworkTier, want.Subnetwork = api.SchemeInternal, "", rule.Subnetwork
	}
	want.Name, want.Description = d.name(), d.want.Rule.Description
	d.have.Address = &want
	return []plan.Ref{d.add(addressKind.Create(&want), addressReservation{want}, after...)}
}

// prepareSuccessor plans what the deletion of a forwarding rule waits for if its successor has another address: it is
// reserved, so that the cloud refuses an impossible address, subnet or tier before anything is lost. One that was
// reserved before an interruption is that of the successor. Released is what frees the name of the reservation.
func (d *differ) prepareSuccessor(want *api.ForwardingRule, released []plan.Ref) {
	i := d.deletedRule()
	if i < 0 {
		return
	}
	have := *d.have.Rule
	address, needed := model.SuccessorAddress(have, *want, d.have.Addresses)
	if left := d.have.Address; needed && left != nil {
		switch {
		case d.have.Kept[keptAddress(left.Name)]:
			needed = false // The rule that is deleted has it, and its name.
		case model.Fits(*left, *want, d.want.Tier) && len(left.Users) == 0:
			want.IPAddress, needed = left.Address, false
		default:
			released = append(released, d.releaseLeftover())
		}
	}
	d.plan.Changes[i].Step = ruleReplacement{ruleDeletion{have.Name}, have, *want, needed}
	if !needed {
		return
	}
	d.have.Address, d.reserves = &address, true
	d.add(addressKind.Create(&address), successorReservation{address, have, *want}, released...)
}

// release plans the release of the address with the name of the load balancer. An address in use becomes ephemeral and
// stays with its forwarding rule.
func (d *differ) release(address api.Address, after ...plan.Ref) {
	change := addressKind.Delete(&address)
	change.Fields, change.ID = []plan.Field{{Name: "address", Before: address.Address}}, address.Name
	d.add(change, addressRelease{address.Name}, after...)
}

// releaseLeftover plans the release of an address that an interruption has left behind, before the reservation of
// another one under its name.
func (d *differ) releaseLeftover() plan.Ref {
	address := *d.have.Address
	d.have.Address = nil
	change := addressKind.Delete(&address)
	change.Key, change.Name, change.ID = address.Name, address.Name+" "+address.Address, address.Name
	return d.add(change, addressRelease{address.Name})
}

// isChosen reports whether a Service chooses the address with the name of its load balancer. An internal one needs no
// reservation.
func (d *differ) isChosen(a api.Address) bool {
	chosen := d.want.Static
	return chosen != "" && (a.Name == chosen || a.Address == chosen && a.AddressType != api.SchemeInternal)
}

// keptAddress is the entry of an address in Observed.Kept.
func keptAddress(name string) string { return "addresses/" + name }

// addressReservation reserves an address.
type addressReservation struct{ want api.Address }

// Do implements plan.Step.
func (s addressReservation) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return w.addresses.create(ctx, s.want, func(have *api.Address) bool { return have.Address == s.want.Address })
}

// successorReservation reserves the address of the forwarding rule that replaces another one. An address in use can be
// reserved, too: it is released again.
type successorReservation struct {
	want     api.Address
	have, to api.ForwardingRule
}

// Do implements plan.Step.
func (s successorReservation) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if err := subnet.VerifySuccessor(ctx, w.api, w.environment, s.have, s.to); err != nil {
		return err
	}
	err := w.addresses.create(ctx, s.want, func(have *api.Address) bool {
		return cmp.Or(s.want.Address, have.Address) == have.Address && cmp.Or(have.AddressType,
			api.SchemeExternal) == s.want.AddressType && api.Path(have.Subnetwork) == api.Path(s.want.Subnetwork) &&
			cmp.Or(s.want.NetworkTier, have.NetworkTier) == have.NetworkTier
	})
	if err != nil {
		return err
	}
	if err := w.addresses.refresh(ctx, true); err != nil {
		return err
	}
	a := w.addresses.find(s.want.Name)
	if a == nil || len(a.Users) == 0 {
		return nil
	}
	_, err = w.addresses.remove(ctx, s.want.Name)
	return errors.Join(&cloudapi.Error{Class: cloudapi.Invalid, Operation: api.AddressesInsert.String(),
		Err: fmt.Errorf("%s has the address %s: choose another one in %s", api.Path(a.Users[0]), a.Address,
			intent.FieldLoadBalancerIP)}, err)
}

// addressRelease releases an address.
type addressRelease struct{ name string }

// Do implements plan.Step.
func (s addressRelease) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	inUse, err := w.addresses.remove(ctx, s.name)
	if inUse {
		w.uses.Keep(keptAddress(s.name))
	}
	return err
}
