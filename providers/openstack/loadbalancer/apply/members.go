package apply

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
)

// SetMembers replaces the members of a pool with one call. Some drivers support no batches: with the setting Serial it
// makes one call for each member that leaves, joins or changes.
func (w Writer) SetMembers(ctx context.Context, lb, pool string, have, want []api.Member) error {
	if w.settings.Serial {
		return w.setMembersSerially(ctx, lb, pool, have, want)
	}
	return w.mutate(ctx, lb, func(ctx context.Context) error {
		return w.API.SetMembers(ctx, pool, want)
	}, func() { w.store.SetMembers(pool, want) })
}

func (w Writer) setMembersSerially(ctx context.Context, lb, pool string, have, want []api.Member) error {
	current := slices.Clone(have)
	for _, m := range have {
		if slices.ContainsFunc(want, func(s api.Member) bool { return members.Same(m, s) }) {
			continue
		}
		identity := members.IdentityOf(m)
		current = slices.DeleteFunc(current, func(c api.Member) bool { return members.IdentityOf(c) == identity })
		err := w.mutate(ctx, lb, func(ctx context.Context) error {
			return cloudapi.IgnoreNotFound(w.API.DeleteMember(ctx, pool, m.ID))
		}, func() { w.store.Members.Put(pool, slices.Clone(current)) })
		if err != nil {
			return err
		}
	}
	for _, spec := range want {
		if slices.ContainsFunc(current, func(m api.Member) bool { return members.Same(m, spec) }) {
			continue
		}
		var created api.Member
		err := w.mutate(ctx, lb, func(ctx context.Context) (err error) {
			created, err = w.API.CreateMember(ctx, pool, spec)
			return err
		}, func() {
			current = append(current, created)
			w.store.Members.Put(pool, slices.Clone(current))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
