package classic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/refusal"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

const (
	kindLoadBalancer = "load balancer"
	kindSubnets      = fieldSubnets
)

// initialBalancer is the load balancer as AWS creates it for our request.
func (d *differ) initialBalancer() Balancer {
	return Balancer{
		Name: d.name, Scheme: d.want.Scheme, VPC: d.vpc, Listeners: d.want.Listeners,
		Backends: map[int32][]string{},
		Subnets:  d.want.Subnets, HealthCheck: initialHealthCheck(d.want.Listeners[0]), Attributes: initialAttributes(),
		Tags: d.want.creationTags(),
	}
}

// balancerCreate plans the creation of the load balancer with its listeners, subnets, groups and tags, which is one
// call.
func (d *differ) balancerCreate(groups []vpc.GroupRef, after []plan.Ref) plan.Change {
	var f plan.Fields
	f.Diff("scheme", "", d.want.Scheme)
	f.Diff("listeners", "", showListeners(d.want.Listeners))
	f.Diff("subnets", "", plan.ShowSet(d.want.Subnets))
	f.Diff("securityGroups", "", showRefs(groups))
	f.Diff("tags", "", plan.ShowMap(d.want.Tags))
	return plan.Change{
		Ref:    plan.Ref{Kind: kindLoadBalancer, Name: d.name, Action: plan.Create},
		Fields: f,
		After:  after,
		Step:   balancerCreation{d.initialBalancer(), groups, d.advice()},
	}
}

// balancerCreation creates a load balancer with security groups.
type balancerCreation struct {
	// balancer is the load balancer as AWS creates it.
	balancer Balancer
	groups   []vpc.GroupRef
	advice   advice
}

// Do implements plan.Step.
func (s balancerCreation) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	groupIDs, err := vpc.ResolveGroups(s.groups, ids)
	if err != nil {
		return err
	}
	b := s.balancer
	in := &elb.CreateLoadBalancerInput{LoadBalancerName: &b.Name, Listeners: toListeners(b.Listeners),
		Subnets: b.Subnets, SecurityGroups: groupIDs, Tags: toTags(b.Tags)}
	if b.Scheme == schemeInternal {
		in.Scheme = aws.String(schemeInternal)
	}
	out, err := w.api.CreateLoadBalancer(ctx, in)
	if err != nil {
		return w.checkExisting(ctx, s.advice.classify("CreateLoadBalancer", err))
	}
	b.DNS, b.Groups = aws.ToString(out.DNSName), groupIDs
	w.store.create(b)
	return nil
}

// checkExisting reads the load balancer after its creation failed. If it exists, the reply to an earlier creation was
// lost, or it has another owner.
func (w writer) checkExisting(ctx context.Context, err error) error {
	w.store.state.MarkUncertain(w.name)
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return err
	}
	have, readErr := w.store.read(ctx, w.name, full)
	switch {
	case readErr != nil:
		return fmt.Errorf("%w; reading it failed: %w", err, readErr)
	case have == nil:
		// AWS does not show it yet
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "CreateLoadBalancer", Err: err}
	}
	if err := w.refuseForeign(*have); err != nil {
		return err
	}
	return nil // What differs from the desired state is planned by the next Diff.
}

func (d *differ) balancerDelete(after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:   plan.Ref{Kind: kindLoadBalancer, Name: d.name, Action: plan.Delete},
		ID:    InventoryID(d.name),
		After: after,
		Step:  balancerDeletion{},
	}
}

// balancerDeletion deletes the load balancer, and releases its rules.
type balancerDeletion struct{}

// Do implements plan.Step.
func (balancerDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	w.groups.Release(w.name)
	_, err := w.api.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerName: &w.name})
	err = cloudapi.IgnoreNotFound(awserr.Wrap("DeleteLoadBalancer", err))
	return w.finish(err, func(s *store) {
		s.balancers.Delete(w.name)
		s.unfinished.Forget(w.name)
	})
}

// desiredSubnets returns the desired subnets of the load balancer. If they are discovered, it keeps the subnets
// in use, even if discovery now prefers others, and adds those of further zones in which instances join. A new subnet
// is no cause for another address of the load balancer.
func (d *differ) desiredSubnets(b Balancer) []string {
	if d.want.Listed {
		return d.want.Subnets
	}
	joining := map[string]bool{}
	for _, id := range difference(d.want.Instances, b.Instances) {
		joining[d.want.InstanceZones[id]] = true
	}
	subnets := slices.Clone(b.Subnets)
	for _, id := range d.want.Subnets {
		if zone := d.want.Zones[id]; joining[zone] && !hasZone(b.Subnets, d.want.Zones, zone) {
			subnets = append(subnets, id)
		}
	}
	return slices.Sorted(slices.Values(subnets))
}

// keepSubnets replaces the desired subnets of zones that stay as they are.
func (d *differ) keepSubnets(have, want []string) []string {
	kept := func(id string) bool { return d.want.keeps(kindSubnets, d.name, fieldSubnets+" "+d.zoneOf(id)) }
	subnets := slices.DeleteFunc(slices.Clone(want), kept)
	for _, id := range have {
		if kept(id) {
			subnets = append(subnets, id)
		}
	}
	return slices.Sorted(slices.Values(subnets))
}

// warnUnserved warns about nodes in zones where the load balancer will have no subnet.
func (d *differ) warnUnserved(subnets []string) {
	zones := slices.Sorted(maps.Values(d.want.InstanceZones))
	if warning := vpc.UnservedZones(slices.Compact(zones), subnets, d.want.Zones, annotation.KeySubnets); warning != "" {
		d.plan.Warnf("%s", warning)
	}
}

// diffSubnets plans the subnets. Those of new zones are attached before others are detached, so that traffic
// continues; in a zone that keeps a subnet the old one is detached first, since a load balancer has one in
// each zone.
func (d *differ) diffSubnets(have, want []string) {
	toAttach, toDetach := difference(want, have), difference(have, want)
	var newZones, sameZones []string
	for _, id := range toAttach {
		if hasZone(toDetach, d.want.Zones, d.want.Zones[id]) {
			sameZones = append(sameZones, id)
		} else {
			newZones = append(newZones, id)
		}
	}
	if len(toDetach) == len(have) && len(newZones) == 0 && len(toDetach) > 0 {
		d.plan.Warnf("%s: load balancer %s stays in %s, because AWS accepts no second subnet in a zone and does not "+
			"detach the last one: to move it to %s, list a subnet of another zone for a while, then the wanted one",
			annotation.KeySubnets, d.name, plan.ShowSet(have), plan.ShowSet(want))
		return
	}
	var attached []plan.Ref
	if len(newZones) > 0 {
		change := d.subnetsAttach(newZones)
		if change.Membership = !d.want.Listed; !change.Membership { // else for the instances that join
			movesSubnets.Declare(&change)
		}
		d.add(change)
		attached = []plan.Ref{change.Ref}
		d.attached, d.newZones = attached, newZones
	}
	if len(toDetach) > 0 {
		d.add(d.subnetsDetach(toDetach, sameZones, attached))
	}
}

// subnetsAttach attaches subnets of new zones.
func (d *differ) subnetsAttach(ids []string) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: kindSubnets, Name: d.name + ", new zones", Action: plan.Create},
		Key:    d.name,
		Fields: d.subnetFields(nil, ids),
		Step:   subnetsAttachment{ids, d.places(ids), d.advice()},
	}
}

// places returns the places of subnets among what is unfinished, by their IDs.
func (d *differ) places(ids []string) map[string]string {
	places := map[string]string{}
	for _, id := range ids {
		places[id] = subnetPlace(id, d.want.Zones)
	}
	return places
}

// subnetsAttachment attaches the load balancer to subnets, which have places by their IDs.
type subnetsAttachment struct {
	ids    []string
	places map[string]string
	advice advice
}

// Do implements plan.Step.
func (s subnetsAttachment) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return s.attach(ctx, w, w.attachOnce)
}

// attach attaches the subnets. Instead of those that AWS refuses, such as for too few free addresses, it attaches those
// that were detached for them: without these, nothing serves their zones.
func (s subnetsAttachment) attach(ctx context.Context, w writer,
	attach func(context.Context, []string) ([]string, error)) error {
	subnets, refused, err := w.attachSubnets(ctx, s.ids, func(ctx context.Context, ids []string) ([]string, error) {
		subnets, err := attach(ctx, ids)
		for _, id := range ids {
			if err == nil {
				w.store.unfinished.Made(w.name, s.places[id])
			}
		}
		return subnets, s.advice.classify("AttachLoadBalancerToSubnets", err)
	})
	want := map[string]string{}
	for _, id := range refused {
		want[s.places[id]] = id
	}
	if before := w.store.unfinished.Removed(w.name, slices.Collect(maps.Keys(want))...); len(before) > 0 {
		err = w.store.unfinished.Add(w.name, want, err)
		err = refusal.Restore(ctx, w.clock, kindSubnets, err, func(ctx context.Context) error {
			ids := api.Convert(before, func(r removed) string { return r.subnet })
			_, _, err := w.attachSubnets(ctx, ids, w.attachOnce)
			for place := range want {
				if err == nil {
					w.store.unfinished.Restored(w.name, place)
				}
			}
			return err
		})
	}
	return w.finishBalancer(err, func(b *Balancer) { b.Subnets = subnets })
}

// attachSubnets attaches subnets. AWS refuses all for one of them: then each gets a call of its own. It returns all of
// the load balancer, and those that AWS refused.
func (w writer) attachSubnets(ctx context.Context, ids []string,
	attach func(context.Context, []string) ([]string, error)) (all, refused []string, err error) {
	all, err = attach(ctx, ids)
	switch {
	case !awserr.IsRefusal(err):
		return all, nil, err
	case len(ids) == 1:
		return nil, ids, err
	}
	var errs []error
	for _, id := range ids {
		_, one, err := w.attachSubnets(ctx, []string{id}, attach)
		refused, errs = append(refused, one...), append(errs, err)
	}
	return nil, refused, errors.Join(errs...)
}

// attachOnce attaches subnets with one call. It returns all of the load balancer.
func (w writer) attachOnce(ctx context.Context, ids []string) ([]string, error) {
	out, err := w.api.AttachLoadBalancerToSubnets(ctx,
		&elb.AttachLoadBalancerToSubnetsInput{LoadBalancerName: &w.name, Subnets: ids})
	if err != nil {
		return nil, awserr.Wrap("AttachLoadBalancerToSubnets", err)
	}
	return out.Subnets, nil
}

// subnetFields returns a field for each zone of subnets that leave or join.
func (d *differ) subnetFields(leaving, joining []string) plan.Fields {
	before, after := map[string]string{}, map[string]string{}
	for _, id := range leaving {
		before[d.zoneOf(id)] = id
	}
	for _, id := range joining {
		after[d.zoneOf(id)] = id
	}
	zones := slices.Collect(maps.Keys(before))
	zones = slices.AppendSeq(zones, maps.Keys(after))
	slices.Sort(zones)
	var f plan.Fields
	for _, zone := range slices.Compact(zones) {
		f.Diff(fieldSubnets+" "+zone, before[zone], after[zone])
	}
	return f
}

// zoneOf returns the zone of a subnet; the subnet if its zone is unknown.
func (d *differ) zoneOf(subnet string) string { return cmp.Or(d.want.Zones[subnet], subnet) }

// subnetsDetach detaches subnets. Those of the same zones replace them.
func (d *differ) subnetsDetach(ids, sameZones []string, after []plan.Ref) plan.Change {
	change := plan.Change{
		Ref:    plan.Ref{Kind: kindSubnets, Name: d.name, Action: plan.Delete},
		Fields: d.subnetFields(ids, sameZones),
		After:  after,
		Step:   subnetsDetachment{ids, d.places(ids), subnetsAttachment{sameZones, d.places(sameZones), d.advice()}},
	}
	movesSubnets.Declare(&change)
	return change
}

// subnetsDetachment detaches the load balancer from subnets, which have places by their IDs, and attaches those that
// replace some of them. It is one step: if the plan ended between, nothing would serve the zones.
type subnetsDetachment struct {
	ids          []string
	places       map[string]string
	replacements subnetsAttachment
}

// Do implements plan.Step. It does not leave a zone whose next subnet AWS refused before.
func (s subnetsDetachment) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	ids, next, err := s.possible(w)
	if len(ids) == 0 {
		return err
	}
	replaced := map[string]bool{}
	for _, id := range next.ids {
		replaced[next.places[id]] = true
	}
	for _, id := range ids {
		if place := s.places[id]; replaced[place] {
			w.store.unfinished.Remove(w.name, place, removed{subnet: id})
		}
	}
	out, detachErr := w.api.DetachLoadBalancerFromSubnets(ctx,
		&elb.DetachLoadBalancerFromSubnetsInput{LoadBalancerName: &w.name, Subnets: ids})
	detachErr = w.finishBalancer(awserr.Wrap("DetachLoadBalancerFromSubnets", detachErr),
		func(b *Balancer) { b.Subnets = out.Subnets })
	if detachErr != nil || len(next.ids) == 0 {
		return errors.Join(err, detachErr)
	}
	return errors.Join(err, next.attach(ctx, w, func(ctx context.Context, ids []string) (subnets []string, err error) {
		err = refusal.Insist(ctx, w.clock, func(ctx context.Context) error {
			subnets, err = w.attachOnce(ctx, ids)
			return err
		})
		return subnets, err
	}))
}

// possible returns the subnets to detach and those that replace some of them, without those of zones whose next subnet
// AWS refused before, and the error about these.
func (s subnetsDetachment) possible(w writer) (ids []string, next subnetsAttachment, err error) {
	next, ids = s.replacements, slices.Clone(s.ids)
	next.ids = nil
	for _, id := range s.replacements.ids {
		place := next.places[id]
		if refused := w.store.unfinished.Of(w.name, place, id); refused != nil {
			err = refused
			ids = slices.DeleteFunc(ids, func(id string) bool { return s.places[id] == place })
			continue
		}
		next.ids = append(next.ids, id)
	}
	return ids, next, err
}
