package loadbalancer

import (
	"context"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

var poolKind = rows.Kind[*api.Pool, *api.PoolPatch]{
	Name: kindPool,
	Key:  func(p *api.Pool) string { return p.Name },
	Rows: []rows.Row[*api.Pool, *api.PoolPatch]{
		{Name: "protocol", Value: rows.Text(func(p *api.Pool) *string { return &p.Protocol })},
		{
			Name: "proxyProtocol", Value: rows.Number(func(p *api.Pool) *int { return &p.ProxyProtocol }),
			Set: func(p *api.PoolPatch, want *api.Pool) { p.ProxyProtocol = &want.ProxyProtocol },
		},
		{
			Name: "affinitySeconds", Value: rows.Number(func(p *api.Pool) *int { return &p.AffinitySeconds }),
			Set: func(p *api.PoolPatch, want *api.Pool) { p.AffinitySeconds = &want.AffinitySeconds },
		},
		{
			Name: "algorithm", Value: rows.Text(func(p *api.Pool) *string { return &p.Algorithm }),
			Set: func(p *api.PoolPatch, want *api.Pool) { p.Algorithm = &want.Algorithm },
		},
		healthCheckRow("protocol", rows.Text(func(p *api.Pool) *string { return &p.HealthCheck.Protocol })),
		healthCheckRow("port", rows.Number(func(p *api.Pool) *int32 { return &p.HealthCheck.Port })),
		healthCheckRow("path", rows.Text(func(p *api.Pool) *string { return &p.HealthCheck.Path })),
		healthCheckRow("intervalSeconds", rows.Number(func(p *api.Pool) *int { return &p.HealthCheck.IntervalSeconds })),
		healthCheckRow("timeoutSeconds", rows.Number(func(p *api.Pool) *int { return &p.HealthCheck.TimeoutSeconds })),
		healthCheckRow("healthyThreshold", rows.Number(func(p *api.Pool) *int { return &p.HealthCheck.HealthyThreshold })),
		healthCheckRow("unhealthyThreshold",
			rows.Number(func(p *api.Pool) *int { return &p.HealthCheck.UnhealthyThreshold })),
	},
}

// healthCheckRow returns the row of a setting of the health check, which an update replaces as a whole.
func healthCheckRow(name string, value rows.Value[*api.Pool]) rows.Row[*api.Pool, *api.PoolPatch] {
	return rows.Row[*api.Pool, *api.PoolPatch]{
		Name: "healthCheck." + name, Value: value,
		Set: func(p *api.PoolPatch, want *api.Pool) { p.HealthCheck = &want.HealthCheck },
	}
}

// memberKind are the members of a pool: only they change when nodes join and leave.
var memberKind = rows.Kind[*api.Pool, *[]api.Member]{
	Name: kindMembers,
	Key:  func(p *api.Pool) string { return p.Name },
	Rows: []rows.Row[*api.Pool, *[]api.Member]{{
		Name: "members",
		Value: rows.Members(func(m api.Member) string { return fmt.Sprintf("%s:%d", m.InstanceID, m.Port) },
			func(p *api.Pool) *[]api.Member { return &p.Members }),
		Set:        func(members *[]api.Member, want *api.Pool) { *members = want.Members },
		Membership: true,
	}},
}

// diffPools plans the pools. Creations wait for that of the load balancer, deletions for the listeners that leave the
// pool.
func (d *differ) diffPools(lb api.LoadBalancer, created []plan.Ref, listeners []listenerChange) []plan.Change {
	var changes []plan.Change
	pools := match(lb.Pools, d.want.Pools, func(have, want api.Pool) bool { return have.Name == want.Name })
	for _, want := range pools.Missing {
		creation := poolKind.Create(&want) // with its members, which saves a call
		creation.Fields = append(creation.Fields, memberKind.Create(&want).Fields...)
		creation.Step, creation.After = poolCreation{lb.ID, want}, slices.Clone(created)
		changes = append(changes, creation)
	}
	for _, pair := range pools.Kept {
		if update, ok := poolKind.Update(&pair.Have, &pair.Want); ok {
			var patch api.PoolPatch
			poolKind.Set(&patch, &pair.Want, update.Fields)
			update.Step = poolUpdate{lb.ID, pair.Want.Name, patch}
			changes = append(changes, update)
		}
		if update, ok := diffMembers(lb, pair.Have, pair.Want); ok {
			changes = append(changes, update)
		}
	}
	for _, have := range pools.Surplus {
		deletion := poolKind.Delete(&have)
		deletion.Step = poolDeletion{lb.ID, have.Name}
		for _, listener := range listeners {
			if listener.previousPool == have.Name {
				deletion.After = append(deletion.After, listener.Ref)
			}
		}
		changes = append(changes, deletion)
	}
	return changes
}

// diffMembers returns the change of a pool's members, if they differ.
func diffMembers(lb api.LoadBalancer, have, want api.Pool) (plan.Change, bool) {
	update, ok := memberKind.Update(&have, &want)
	update.Step = memberUpdate{lb.ID, want.Name, want.Members}
	return update, ok
}

// poolCreation creates a pool with its members. An existing one that is the same counts as created.
type poolCreation struct {
	loadBalancer string
	want         api.Pool
}

// Do implements plan.Step.
func (s poolCreation) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	id, err := w.loadBalancerID(ctx, s.loadBalancer, ids)
	if err != nil {
		return err
	}
	pool, err := w.api.CreatePool(ctx, id, s.want)
	err = w.acceptExisting(ctx, err, func(lb api.LoadBalancer) bool {
		i := slices.IndexFunc(lb.Pools, func(p api.Pool) bool { return p.Name == s.want.Name })
		if i >= 0 {
			pool = lb.Pools[i]
		}
		return i >= 0 && poolKind.Equal(&pool, &s.want) && memberKind.Equal(&pool, &s.want)
	})
	return w.finishPool(err, pool)
}

// poolUpdate changes settings of a pool.
type poolUpdate struct {
	loadBalancer, name string
	patch              api.PoolPatch
}

// Do implements plan.Step.
func (s poolUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	pool, err := w.api.UpdatePool(ctx, s.loadBalancer, s.name, s.patch)
	return w.finishPool(err, pool)
}

// memberUpdate replaces the members of a pool.
type memberUpdate struct {
	loadBalancer, pool string
	members            []api.Member
}

// Do implements plan.Step.
func (s memberUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	pool, err := w.api.SetMembers(ctx, s.loadBalancer, s.pool, s.members)
	return w.finishPool(err, pool)
}

// poolDeletion deletes a pool.
type poolDeletion struct{ loadBalancer, name string }

// Do implements plan.Step.
func (s poolDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	err := cloudapi.IgnoreNotFound(w.api.DeletePool(ctx, s.loadBalancer, s.name))
	return w.finishChild(err, func(lb *api.LoadBalancer) {
		lb.Pools = slices.DeleteFunc(lb.Pools, func(p api.Pool) bool { return p.Name == s.name })
	})
}

func (w writer) finishPool(err error, pool api.Pool) error {
	return w.finishChild(err, func(lb *api.LoadBalancer) {
		lb.Pools = upsert(lb.Pools, pool, func(p api.Pool) bool { return p.Name == pool.Name })
	})
}
