package loadbalancer

import (
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// DiffMembers implements loadbalancer.Cloud. New members copy the settings of existing ones in the pool.
func (c *Cloud) DiffMembers(
	key lbcommon.Key, in intent.Service, nodes []*v1.Node, shared SharedState, have observe.Observed,
) (plan.Plan, error) {
	d := c.newDiffer(key, have)
	d.want.Serial = c.settings.Serial
	lb := have.LoadBalancer
	if lb == nil || d.key.Foreign(*lb) != "" || !d.key.Proves(*lb) && !d.servesUs() {
		return d.plan, nil
	}
	input := model.Input{Key: key, Service: in, Settings: c.settings, Shared: shared, ServerID: c.serverID, Nodes: nodes}
	var pools []observe.Pool
	for _, l := range have.Listeners {
		pool, ok := d.poolOf(l.DefaultPoolID)
		// Members that were not read equal the desired ones, or Diff plans their change.
		if !ok || !d.ownsListener(l) || d.taken[pool.ID] || pool.Checksum != "" {
			continue
		}
		d.taken[pool.ID] = true
		port := model.Port{Transport: transportOf(l.Protocol), Number: l.ProtocolPort}
		if port.Members, port.Unowned = input.MembersLike(d.memberLike(pool, in, port)); port.Members != nil {
			pools, d.want.Ports = append(pools, pool), append(d.want.Ports, port)
		}
	}
	d.keepUnowned()
	for i, pool := range pools {
		if change, ok := d.membersUpdate(pool, d.want.Ports[i]); ok {
			d.add(change)
		}
	}
	return d.plan, nil
}

// memberLike returns a member of a pool, as a pattern for others. A pool without members takes the pattern from
// another pool, and the port from the Service.
func (d *differ) memberLike(pool observe.Pool, in intent.Service, port model.Port) api.Member {
	if len(pool.Members) > 0 {
		return pool.Members[0]
	}
	like := api.Member{}
	for _, other := range d.have.Pools {
		if len(other.Members) > 0 && d.hasOurName(other) {
			like = other.Members[0]
		}
	}
	like.Port = int(in.NodePort(v1.Protocol(port.Transport), int32(port.Number))) //nolint:gosec // at most 65535
	return like
}
