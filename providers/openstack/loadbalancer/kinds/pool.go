package kinds

import (
	"cmp"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
)

// Pool has the fields of a pool, existing or wanted.
type Pool struct {
	Name, Protocol, Method string
	Persistence            *pools.SessionPersistence
	Tags                   []string
}

// Pools is the kind of pools. Members and health monitors have calls of their own.
var Pools = rows.Kind[*Pool, *pools.UpdateOpts]{
	Name: observe.KindPool,
	Key:  func(p *Pool) string { return p.Name },
	Rows: []rows.Row[*Pool, *pools.UpdateOpts]{
		{Name: "protocol", Value: rows.Text(func(p *Pool) *string { return &p.Protocol })},
		{
			Name: "lb_algorithm", Value: rows.Text(func(p *Pool) *string { return &p.Method }),
			Set: func(patch *pools.UpdateOpts, want *Pool) { patch.LBMethod = pools.LBMethod(want.Method) },
		},
		{
			Name:  "session_persistence",
			Value: rows.Of(showPersistence, func(p *Pool) **pools.SessionPersistence { return &p.Persistence }),
			Set: func(patch *pools.UpdateOpts, want *Pool) {
				patch.Persistence = cmp.Or(want.Persistence, &pools.SessionPersistence{}) // an empty one is sent as null
			},
		},
		{
			Name: FieldTags, Value: rows.Of(tags.Show, func(p *Pool) *[]string { return &p.Tags }), Mark: true,
			Set: func(patch *pools.UpdateOpts, want *Pool) { patch.Tags = &want.Tags },
		},
	},
}

func showPersistence(p *pools.SessionPersistence) string {
	return ptr.Deref(p, pools.SessionPersistence{}).Type
}
