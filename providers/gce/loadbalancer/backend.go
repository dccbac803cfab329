package loadbalancer

import (
	"context"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

var backendKind = rows.Kind[*api.BackendService, *api.BackendService]{
	Name: kindBackend,
	Key:  func(b *api.BackendService) string { return b.Name },
	Rows: rows.InPlace([]rows.Row[*api.BackendService, *api.BackendService]{
		{
			Name: "protocol", Value: rows.Text(func(b *api.BackendService) *string { return &b.Protocol }),
			Effect: rows.Traffic("the protocol of the backend service changes"),
		},
		{
			Name: "sessionAffinity", Value: rows.Text(func(b *api.BackendService) *string { return &b.SessionAffinity }),
			Ignore: func(have, want *api.BackendService) bool {
				return have.SessionAffinity == "" && want.SessionAffinity == api.AffinityNone
			},
		},
		{
			Name:  "healthChecks",
			Value: rows.Of(showLinks, func(b *api.BackendService) *[]string { return &b.HealthChecks }),
		},
		backendsRow,
	}),
}

// backendsRow are the instance groups of a backend service. Those that this manager does not know stay.
var backendsRow = rows.Row[*api.BackendService, *api.BackendService]{
	Name: "backends", Membership: true,
	Value: rows.Members(func(b api.Backend) string { return api.Path(b.Group) },
		func(b *api.BackendService) *[]api.Backend { return &b.Backends }),
}

// groupsKind compares the groups of a backend service alone.
var groupsKind = rows.Kind[*api.BackendService, *api.BackendService]{
	Name: kindBackend, Key: backendKind.Key,
	Rows: rows.InPlace([]rows.Row[*api.BackendService, *api.BackendService]{backendsRow}),
}

// backendsOf returns the backends of the groups of the cluster, and those of other groups that exist.
func (d *differ) backendsOf(have *api.BackendService, groups []model.Group) []api.Backend {
	var out []api.Backend
	for _, link := range d.groupLinks(groups) {
		out = append(out, api.Backend{Group: link})
	}
	if have == nil {
		return out
	}
	for _, b := range have.Backends {
		suffix, ours := strings.CutPrefix(api.Last(b.Group), names.InstanceGroup(d.have.ClusterID))
		if !ours || suffix != "" && !d.skipsGroups || d.mayStay(b, out) {
			out = append(out, b)
		}
	}
	return out
}

// mayStay reports whether a group that is not listed stays: it may have members that stay, or its zone does not answer
// which groups it has.
func (d *differ) mayStay(b api.Backend, listed []api.Backend) bool {
	if slices.ContainsFunc(listed, func(o api.Backend) bool { return api.SameLink(o.Group, b.Group) }) {
		return false
	}
	isSilent := slices.ContainsFunc(d.have.Groups, func(g model.Group) bool {
		return g.Unread && g.Zone == api.ZoneOf(b.Group)
	})
	if d.skipsGroups {
		return isSilent || len(d.unidentified) > 0
	}
	return isSilent && len(d.unidentified) > 0
}

// existingBackend returns the backend service with the wanted name.
func (d *differ) existingBackend() *api.BackendService {
	if isNamed(d.have.Backend, d.want.Backend.Name) {
		return d.have.Backend
	}
	i := slices.IndexFunc(d.have.SharedBackends, func(b api.BackendService) bool { return b.Name == d.want.Backend.Name })
	if i < 0 {
		return nil
	}
	return &d.have.SharedBackends[i]
}

// ensureBackend plans the backend service. A change of the protocol waits for the deletion of its forwarding rule.
func (d *differ) ensureBackend(ruleDeletion, after []plan.Ref) []plan.Ref {
	have, want := d.existingBackend(), d.want.Backend
	want.Backends = d.backendsOf(have, d.want.Groups)
	if d.skipsGroups && len(want.Backends) == 0 {
		d.plan.Warnf("the backend service %s has no backends: no zone with a node has an instance group whose name begins "+
			"with %s", want.Name, names.InstanceGroup(d.have.ClusterID))
	}
	if have == nil {
		creation := backendCreation{want, d.nodeBackendProbes(), d.ownGroups(d.want.Groups)}
		return []plan.Ref{d.add(backendKind.Create(&want), creation, after...)}
	}
	existing := *have
	want = kinds.Kept(&backendKind, want, existing, d.want.Held)
	change, differ := backendKind.Update(&existing, &want)
	if !differ {
		return nil
	}
	if existing.Protocol != want.Protocol {
		after = slices.Concat(after, ruleDeletion)
	}
	update := backendUpdate{want, change.Fields, d.nodeBackendProbes(), d.ownGroups(d.want.Groups)}
	return []plan.Ref{d.add(change, update, after...)}
}

// nodeBackendProbes returns the health check of nodes with its firewall, if the wanted backend service has it.
func (d *differ) nodeBackendProbes() *nodeProbes[api.HealthCheck] {
	if !d.want.SharedCheck {
		return nil
	}
	return &nodeProbes[api.HealthCheck]{d.want.Check, d.nodeFirewall()}
}

// removeBackend plans the deletion of a backend service, unless others use it.
func (d *differ) removeBackend(have api.BackendService, after ...plan.Ref) []plan.Ref {
	link := d.link(api.BackendServicesGet, api.Target{Name: have.Name})
	if d.isUsed(link) {
		return nil
	}
	change := backendKind.Delete(&have)
	change.ID = have.Name
	return []plan.Ref{d.add(change, backendDeletion{have.Name, link}, after...)}
}

// holdShares keeps what load balancers share while a backend service is about to refer to it: the health check of nodes
// and the instance groups.
func (w writer) holdShares(ctx context.Context, probes *nodeProbes[api.HealthCheck],
	groups []model.Group) (release func(), err error) {
	ofProbes, err := holdProbes[api.HealthCheck](ctx, w, api.HealthChecksGet, &checkKind, probes)
	if err != nil {
		return nil, err
	}
	ofGroups, err := w.holdGroups(ctx, groups)
	if err != nil {
		ofProbes()
		return nil, err
	}
	return releaseAll([]func(){ofProbes, ofGroups}), nil
}

// backendCreation creates a backend service.
type backendCreation struct {
	want   api.BackendService
	probes *nodeProbes[api.HealthCheck]
	groups []model.Group
}

// Do implements plan.Step.
func (s backendCreation) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	release, err := w.holdShares(ctx, s.probes, s.groups)
	if err != nil {
		return err
	}
	defer release()
	return w.backends.create(ctx, s.want, func(have *api.BackendService) bool {
		existing, want := *have, s.want
		return backendKind.Equal(&existing, &want)
	})
}

// backendUpdate changes a backend service. All else in it stays, such as the settings of its backends.
type backendUpdate struct {
	want   api.BackendService
	fields plan.Fields
	probes *nodeProbes[api.HealthCheck]
	groups []model.Group
}

// Do implements plan.Step.
func (s backendUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	release, err := w.holdShares(ctx, s.probes, s.groups)
	if err != nil {
		return err
	}
	defer release()
	return w.backends.replace(ctx, s.want.Name, func(b *api.BackendService) {
		existing := b.Backends
		backendKind.Set(b, &s.want, s.fields)
		if s.fields.Has(backendsRow.Name) {
			b.Backends = model.MergeBackends(existing, s.want.Backends)
		}
	})
}

// backendDeletion deletes a backend service, unless another forwarding rule uses it.
type backendDeletion struct{ name, link string }

// Do implements plan.Step.
func (s backendDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	isUsed := func() bool {
		for _, rule := range w.rules.table.All() {
			if api.SameLink(rule.BackendService, s.link) {
				return true
			}
		}
		return false
	}
	return w.removeShared(ctx, s.link, isUsed, func(ctx context.Context) (bool, error) {
		return w.backends.remove(ctx, s.name)
	})
}
