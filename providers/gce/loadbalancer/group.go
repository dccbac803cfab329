package loadbalancer

import (
	"context"
	"errors"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/batches"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// groupKind are the instance groups of the cluster, one in each zone. All internal Services share them.
var groupKind = rows.Kind[*model.Group, *struct{}]{
	Name: kindGroup, Key: func(g *model.Group) string { return g.Zone },
}

// groupMemberKind are the members of an instance group.
var groupMemberKind = rows.Kind[*model.Group, *[]string]{
	Name: kindGroupMembers,
	Key:  func(g *model.Group) string { return g.Zone },
	Rows: []rows.Row[*model.Group, *[]string]{{
		Name:  "instances",
		Value: rows.Members(func(id string) string { return id }, func(g *model.Group) *[]string { return &g.Members }),
		Set:   func(members *[]string, want *model.Group) { *members = want.Members }, Membership: true,
	}},
}

// ensureGroups plans the groups of zones with nodes, and returns what their backend service waits for. Groups of other
// zones stay as they are.
func (d *differ) ensureGroups(groups []model.Group) []plan.Ref {
	var refs []plan.Ref
	if d.skipsGroups {
		return nil
	}
	for _, want := range groups {
		have := model.Group{Zone: want.Zone}
		i := slices.IndexFunc(d.have.Groups, func(g model.Group) bool { return g.Zone == want.Zone })
		var after []plan.Ref
		if i >= 0 {
			have = d.have.Groups[i]
		} else {
			change := groupKind.Create(&want)
			change.Membership = true
			after = []plan.Ref{d.add(change, groupCreation{want})}
			refs = append(refs, after...)
		}
		// In a zone that does not answer, the change fails, so that the Service is synced again. Without known members, what
		// differs is unknown.
		isUnknown := have.Unread && (len(have.Members) == 0 || !d.have.MayFail)
		if change, differ := groupMemberKind.Update(&have, &want); differ && !isUnknown {
			step := groupUpdate{want, model.Without(have.Members, want.Members)}
			if ref := d.add(change, step, after...); i < 0 {
				refs = append(refs, ref) // One that cannot join a group that exists does not matter to others.
			}
		}
	}
	return refs
}

// existingGroups returns groups without the instances that do not exist, and none for a zone without others that has no
// group yet: the zone may not exist either. Groups with members that stay are among them.
func (d *differ) existingGroups(groups []model.Group) []model.Group {
	in := func(list []model.Group, zone string) (model.Group, bool) {
		i := slices.IndexFunc(list, func(g model.Group) bool { return g.Zone == zone })
		if i < 0 {
			return model.Group{Zone: zone}, false
		}
		return list[i], true
	}
	var out []model.Group
	for _, g := range groups {
		have, exists := in(d.have.Groups, g.Zone)
		all := len(g.Members)
		g.Members = d.members(have.Members, g.Members)
		g.Members = g.Members[:min(len(g.Members), model.MaxMembers)]
		if all == 0 || len(g.Members) > 0 || exists {
			out = append(out, g)
		}
	}
	for _, have := range d.have.Groups {
		stay := d.unidentified.In(have.Members)
		if _, isWanted := in(groups, have.Zone); !isWanted && len(stay) > 0 {
			out = append(out, model.Group{Zone: have.Zone, Members: stay})
		}
	}
	return out
}

// groupLink returns the link of the group of a zone.
func (d *differ) groupLink(zone string) string {
	return d.link(api.InstanceGroupsDelete, api.Target{Zone: zone, Name: names.InstanceGroup(d.have.ClusterID)})
}

// ownGroups returns the groups that this manager makes.
func (d *differ) ownGroups(groups []model.Group) []model.Group {
	if d.skipsGroups {
		return nil
	}
	return groups
}

// groupLinks returns the links of the groups that are backends: those of zones with nodes.
func (d *differ) groupLinks(groups []model.Group) []string {
	var links []string
	for _, g := range groups {
		if !d.skipsGroups {
			links = append(links, d.groupLink(g.Zone))
			continue
		}
		for _, other := range d.have.Groups {
			if other.Zone == g.Zone && !other.Unread {
				links = append(links, d.groupLink(g.Zone)+other.Suffix)
			}
		}
	}
	return links
}

// removeGroups plans the deletion of the groups that nothing uses.
func (d *differ) removeGroups(after ...plan.Ref) []plan.Ref {
	var refs []plan.Ref
	if d.skipsGroups {
		return nil
	}
	for _, g := range d.have.Groups {
		link := d.groupLink(g.Zone)
		if g.Unread { // The deletion of a Service does not wait for a zone. The next one deletes the group.
			d.plan.Warnf("the zone %s does not answer: an instance group of the cluster in it may be left", g.Zone)
			continue
		}
		deletion := groupDeletion{g.Zone, link}
		if d.isUsed(link) {
			d.left = append(d.left, leftObject{link, deletion.exists, deletion.isUsed})
			continue
		}
		change := groupKind.Delete(&g)
		change.ID = g.Zone
		refs = append(refs, d.add(change, deletion, after...))
	}
	return refs
}

// groupName returns the name of the groups of the cluster.
func (w writer) groupName() string { return names.InstanceGroup(w.clusterID) }

// groupLink returns the link of the group of a zone.
func (w writer) groupLink(zone string) string {
	return w.link(api.InstanceGroupsDelete, api.Target{Zone: zone, Name: w.groupName()})
}

// holdGroups keeps groups while a backend service is about to refer to them.
func (w writer) holdGroups(ctx context.Context, groups []model.Group) (release func(), err error) {
	var held []func()
	for _, want := range groups {
		one, err := w.holdShared(ctx, w.groupLink(want.Zone), func(ctx context.Context) error {
			if _, exists := w.groups.Get(want.Zone); exists {
				return nil
			}
			return w.updateGroup(ctx, want, nil)
		})
		if err != nil {
			releaseAll(held)()
			return nil, err
		}
		held = append(held, one)
	}
	return releaseAll(held), nil
}

// groupCreation creates a group. If it is refused, the next plan is without those of its instances that do not exist.
type groupCreation struct{ want model.Group }

// Do implements plan.Step.
func (s groupCreation) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	unlock, err := w.sharing.Lock(ctx, w.groupLink(s.want.Zone))
	if err != nil {
		return err
	}
	defer unlock()
	err = w.createGroup(ctx, s.want.Zone)
	if err != nil {
		for _, id := range s.want.Members {
			if !w.absent.Check(ctx, id, err) {
				break
			}
			w.absent.Abandon(id) // Its zone may not exist.
		}
	}
	return err
}

// createGroup creates a group unless it exists.
func (w writer) createGroup(ctx context.Context, zone string) error {
	if _, exists := w.groups.Get(zone); exists {
		return nil
	}
	want := api.InstanceGroup{Network: w.environment.Network}
	want.Name = w.groupName()
	err := w.api.Change(ctx, api.InstanceGroupsInsert, api.Target{Zone: zone}, want)
	if cloudapi.Is(err, cloudapi.AlreadyExists) {
		return w.groups.Reread(ctx)
	}
	if err != nil {
		w.groups.Invalidate()
		return err
	}
	w.groups.Create(zone, model.Group{Zone: zone})
	return nil
}

// groupUpdate adds members to a group, and removes others. All internal Services plan the same change, so that what
// another one has made is left out.
type groupUpdate struct {
	want   model.Group
	remove []string
}

// Do implements plan.Step.
func (s groupUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	unlock, err := w.sharing.Lock(ctx, w.groupLink(s.want.Zone))
	if err != nil {
		return err
	}
	defer unlock()
	return w.membersChanged(s.want.Zone, s.want.Members, w.updateGroup(ctx, s.want, s.remove))
}

// updateGroup gives a group the wanted members and removes others. A group that was deleted since the plan is created.
func (w writer) updateGroup(ctx context.Context, want model.Group, remove []string) error {
	if err := w.createGroup(ctx, want.Zone); err != nil {
		return err
	}
	group, _ := w.groups.Get(want.Zone)
	remove = slices.DeleteFunc(slices.Clone(remove), func(id string) bool { return !slices.Contains(group.Members, id) })
	add := w.absent.Possible(ctx, model.Without(want.Members, group.Members))
	// A group with only new nodes is never empty, unless it has no room for them.
	if len(group.Members)+len(add) > model.MaxMembers {
		return errors.Join(w.removeFromGroup(ctx, want.Zone, remove), w.addToGroup(ctx, want.Zone, add))
	}
	return errors.Join(w.addToGroup(ctx, want.Zone, add), w.removeFromGroup(ctx, want.Zone, remove))
}

func (w writer) removeFromGroup(ctx context.Context, zone string, remove []string) error {
	return batches.Each(remove, cloudapi.NotFound, func(ids []string) error {
		return w.changeGroup(ctx, api.InstanceGroupsRemoveInstances, zone, ids, func(g *model.Group) {
			g.Members = model.Without(g.Members, ids)
		})
	})
}

func (w writer) addToGroup(ctx context.Context, zone string, add []string) error {
	return batches.Each(add, cloudapi.AlreadyExists, func(ids []string) error {
		return w.changeGroup(ctx, api.InstanceGroupsAddInstances, zone, ids, func(g *model.Group) {
			g.Members = slices.Sorted(slices.Values(slices.Concat(g.Members, ids)))
		})
	})
}

// changeGroup changes the members of a group.
func (w writer) changeGroup(ctx context.Context, call *api.Call, zone string, ids []string,
	change func(*model.Group)) error {
	err := w.running.Do(api.InstanceGroupsList.Collection+"/"+zone, func() error {
		return w.api.Change(ctx, call, api.Target{Zone: zone, Name: w.groupName()}, instanceList(ids, w.instanceLink))
	})
	if call == api.InstanceGroupsAddInstances && w.isAbsent(ctx, ids, err) {
		return nil
	}
	if err != nil {
		w.groups.Invalidate()
		return err
	}
	w.groups.Update(zone, change)
	return nil
}

// groupDeletion deletes a group, unless others use it.
type groupDeletion struct{ zone, link string }

// Do implements plan.Step.
func (s groupDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return w.removeShared(ctx, s.link, func() bool { return s.isUsed(w) }, func(ctx context.Context) (bool, error) {
		err := cloudapi.IgnoreNotFound(w.api.Change(ctx, api.InstanceGroupsDelete, api.Target{Zone: s.zone,
			Name: w.groupName()}, nil))
		switch {
		case api.InUse(err):
			return true, nil
		case err != nil:
			w.groups.Invalidate()
			return false, err
		}
		w.groups.Delete(s.zone)
		return false, nil
	})
}

// exists reports whether the snapshot has the group.
func (s groupDeletion) exists(w writer) bool {
	_, exists := w.groups.Get(s.zone)
	return exists
}

// isUsed reports whether the snapshot has a backend service with the group.
func (s groupDeletion) isUsed(w writer) bool {
	for _, backend := range w.backends.table.All() {
		if slices.ContainsFunc(groupLinks(backend), func(link string) bool { return api.SameLink(link, s.link) }) {
			return true
		}
	}
	return false
}
