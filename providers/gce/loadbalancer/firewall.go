package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/firewalls"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// removeFirewall plans the deletion of a firewall. It stays if the health check whose probes it allows stays; the zero
// value names none.
func (d *differ) removeFirewall(have api.Firewall, check checkOf, after ...plan.Ref) []plan.Ref {
	change := firewalls.Kind.Delete(&have)
	change.ID = have.Name
	if d.isDenied(change, "delete "+have.Name) {
		return nil
	}
	step := firewallDeletion{name: have.Name, check: check, command: d.command("delete " + have.Name)}
	if have.Name == names.Firewall(d.name()) {
		step.left = d.left
	}
	return []plan.Ref{d.add(change, step, after...)}
}

// ensureFirewall plans a firewall for the traffic or probes of an address; an empty one is not known yet. Firewalls
// without target tags would apply to all instances of the network, so that one without nodes is created later.
func (d *differ) ensureFirewall(kind *rows.Kind[*api.Firewall, *api.FirewallPatch], want api.Firewall, hasRule bool,
	after []plan.Ref) []plan.Ref {
	have, exists := d.have.Firewalls[want.Name]
	if !exists {
		if len(want.TargetTags) == 0 {
			return nil
		}
		change := kind.Create(&want)
		change.Membership = hasRule // It waited for the first node.
		if d.isDenied(change, firewalls.CreateCommand(want)) {
			return nil
		}
		return []plan.Ref{d.add(change, firewallCreation{kind, want, d.command(firewalls.CreateCommand(want))}, after...)}
	}
	kept := kinds.Kept(kind, want, have, d.want.Held)
	if moved := d.have.Rule == nil || !slices.Equal(want.DestinationRanges, []string{d.have.Rule.IPAddress}); moved {
		kept.DestinationRanges, kept.Description = want.DestinationRanges, want.Description
	}
	want = kept
	want.TargetTags = firewalls.KeptTags(have.TargetTags, want.TargetTags, d.want.PartialTags)
	change, differ := kind.Update(&have, &want)
	if replacement, replace := kind.Replace(&have, &want); replace {
		change, differ = replacement, true
	}
	if !differ || d.isDenied(change, firewalls.UpdateCommand(want)) {
		return nil
	}
	if change.Action == plan.Delete { // of another network
		replaced := d.add(change, firewallDeletion{name: want.Name, command: d.command("delete " + want.Name)})
		return []plan.Ref{d.add(kind.Create(&want), firewallCreation{kind, want, d.command(firewalls.CreateCommand(want))},
			append(after, replaced)...)}
	}
	var patch api.FirewallPatch
	kind.Set(&patch, &want, change.Fields)
	return []plan.Ref{d.add(change, firewallUpdate{want.Name, patch, d.command(firewalls.UpdateCommand(want))}, after...)}
}

// verifyTags returns an error if a firewall has to be created and no tag can select its nodes: they would receive no
// traffic.
func (d *differ) verifyTags() error {
	_, hasTraffic := d.have.Firewalls[d.want.Firewall.Name]
	_, hasProbes := d.have.Firewalls[d.want.ProbeFirewall.Name]
	if hasTraffic && hasProbes || len(d.want.Firewall.TargetTags) > 0 || len(d.want.Untagged) == 0 {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: api.FirewallsInsert.String(),
		Err: errors.New(model.UntaggedWarning(d.want.Untagged))}
}

// trafficFirewall returns the wanted firewall for an address.
func (d *differ) trafficFirewall(ip string) api.Firewall {
	f := d.want.Firewall
	f.Description, f.DestinationRanges = names.FirewallDescription(model.ServiceName(d.key), ip), []string{ip}
	return f
}

// probeFirewall returns the wanted firewall for probes, and its kind. That of nodes is for all addresses.
func (d *differ) probeFirewall(ip string) (api.Firewall, *rows.Kind[*api.Firewall, *api.FirewallPatch]) {
	f := d.want.ProbeFirewall
	if d.want.SharedCheck || d.want.Internal {
		return f, &firewalls.NodeKind
	}
	f.Description, f.DestinationRanges = names.FirewallDescription(model.ServiceName(d.key), ip), []string{ip}
	return f, &firewalls.Kind
}

// isDenied reports whether the project of the network has denied a change lately. A warning has the command that
// makes it.
func (d *differ) isDenied(change plan.Change, command string) bool {
	denied, ok := d.have.Denied[change.Name]
	if !ok || denied.change != string(change.Action) {
		return false
	}
	d.warnAs(events.LoadBalancerManualChange, fmt.Sprintf("the project %s denies the change of firewall %s; its "+
		"administrator has to run: %s", d.have.Environment.NetworkProject, change.Name, d.command(command)))
	return true
}

// command returns the command that makes a change of a firewall.
func (d *differ) command(arguments string) string {
	return "gcloud compute firewall-rules " + arguments + " --project " + d.have.Environment.NetworkProject
}

// allowDenial returns nil for a change that the project of a shared network denies, and notes it.
func (w writer) allowDenial(err error, name string, action plan.Action, command string) error {
	if !cloudapi.Is(err, cloudapi.Denied) || !w.environment.IsSharedVPC() {
		return err
	}
	w.recordDenial(name, denial{change: string(action), command: command})
	return nil
}

// resolveAddress puts the address of a new forwarding rule in the place of the pending one.
func resolveAddress(ids *plan.Handles, description *string, ranges []string) ([]string, error) {
	if !slices.Contains(ranges, pendingAddress) {
		return ranges, nil
	}
	ip, err := ids.ID(addressHandle)
	if err != nil {
		return nil, err
	}
	if description != nil {
		*description = strings.Replace(*description, pendingAddress, ip, 1)
	}
	return []string{ip}, nil
}

// firewallCreation creates a firewall.
type firewallCreation struct {
	kind    *rows.Kind[*api.Firewall, *api.FirewallPatch]
	want    api.Firewall
	command string
}

// Do implements plan.Step.
func (s firewallCreation) Do(ctx context.Context, w writer, ids *plan.Handles) (err error) {
	want := s.want
	if want.DestinationRanges, err = resolveAddress(ids, &want.Description, want.DestinationRanges); err != nil {
		return err
	}
	err = w.firewalls.create(ctx, want, func(have *api.Firewall) bool {
		existing, wanted := *have, want
		return s.kind.Equal(&existing, &wanted)
	})
	return w.allowDenial(err, want.Name, plan.Create, s.command)
}

// firewallUpdate changes fields of a firewall in place.
type firewallUpdate struct {
	name    string
	patch   api.FirewallPatch
	command string
}

// Do implements plan.Step.
func (s firewallUpdate) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	patch := s.patch
	if patch.Description != nil {
		description := *patch.Description
		patch.Description = &description
	}
	if patch.DestinationRanges != nil {
		ranges, err := resolveAddress(ids, patch.Description, *patch.DestinationRanges)
		if err != nil {
			return err
		}
		patch.DestinationRanges = &ranges
	}
	err := w.firewalls.patch(ctx, s.name, patch, func(f *api.Firewall) { firewalls.Patch(f, patch) })
	return w.allowDenial(err, s.name, plan.Update, s.command)
}

// firewallDeletion deletes a firewall. That of the traffic is the last object of a load balancer.
type firewallDeletion struct {
	name    string
	check   checkOf
	command string
	left    []leftObject
}

// Do implements plan.Step.
func (s firewallDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if s.check.link != "" { // A load balancer that is about to have the health check waits for the outcome.
		unlock, err := w.sharing.Lock(ctx, s.check.link)
		if err != nil {
			return err
		}
		defer unlock()
		if s.check.exists(w) {
			return nil
		}
	}
	if err := w.verifyLeft(s.left); err != nil {
		return err
	}
	_, err := w.firewalls.remove(ctx, s.name)
	return w.allowDenial(err, s.name, plan.Delete, s.command)
}
