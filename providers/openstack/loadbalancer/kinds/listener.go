package kinds

import (
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
)

// Listener has the fields of a listener, existing or wanted.
type Listener struct {
	Key, Name, Protocol string
	Port                int
	// Pool is the ID of the default pool, or its name if the plan creates it. Its protocol and the subnets of its members
	// are set only if they are why the listener gets another pool.
	Pool, PoolProtocol, MemberSubnets string
	ConnectionLimit                   int
	Headers                           map[string]string
	Container                         string
	AllowedCIDRs, Tags                []string
	// Families are those of the load balancer's addresses.
	Families                                              []v1.IPFamily
	ClientData, MemberConnect, MemberData, InspectTimeout int
}

// Listeners is the kind of listeners. A change of the protocol, and of the last two fields, needs another object.
var Listeners = rows.Kind[*Listener, *listeners.UpdateOpts]{
	Name:     observe.KindListener,
	Key:      func(l *Listener) string { return l.Key },
	Label:    func(l *Listener) string { return l.Name },
	Deletion: rows.Traffic("a listener is deleted"),
	Rows: []rows.Row[*Listener, *listeners.UpdateOpts]{
		{
			Name: "protocol", Value: rows.Text(func(l *Listener) *string { return &l.Protocol }),
			Effect: rows.Traffic("a listener is replaced (`protocol`)"),
		},
		{Name: "protocol_port", Value: rows.Number(func(l *Listener) *int { return &l.Port })},
		{
			// The step sets the ID, which may be known only then.
			Name: FieldDefaultPool, Value: rows.Text(func(l *Listener) *string { return &l.Pool }),
			Set: func(*listeners.UpdateOpts, *Listener) {},
		},
		{
			Name: "connection_limit", Value: rows.Amount(func(l *Listener) *int { return &l.ConnectionLimit }),
			Set: func(p *listeners.UpdateOpts, want *Listener) { p.ConnLimit = &want.ConnectionLimit },
		},
		{
			Name: "insert_headers", Value: rows.Map(func(l *Listener) *map[string]string { return &l.Headers }),
			Set: func(p *listeners.UpdateOpts, want *Listener) { p.InsertHeaders = &want.Headers },
		},
		{
			Name: "default_tls_container_ref", Value: rows.Text(func(l *Listener) *string { return &l.Container }),
			Set: func(p *listeners.UpdateOpts, want *Listener) { p.DefaultTlsContainerRef = &want.Container },
		},
		{
			Name: FieldAllowedCIDRs, Value: rows.Set(func(l *Listener) *[]string { return &l.AllowedCIDRs }),
			Set:    func(p *listeners.UpdateOpts, want *Listener) { p.AllowedCIDRs = &want.AllowedCIDRs },
			Effect: rows.Traffic("a listener allows fewer clients (`allowed_cidrs`)"), Items: lostRanges,
			Disrupts: func(have, want *Listener) bool { return len(lostRanges(have, want)) > 0 },
		},
		{
			Name: "timeout_client_data", Value: rows.Amount(func(l *Listener) *int { return &l.ClientData }),
			Set: func(p *listeners.UpdateOpts, want *Listener) { p.TimeoutClientData = &want.ClientData },
		},
		{
			Name: "timeout_member_connect", Value: rows.Amount(func(l *Listener) *int { return &l.MemberConnect }),
			Set: func(p *listeners.UpdateOpts, want *Listener) { p.TimeoutMemberConnect = &want.MemberConnect },
		},
		{
			Name: "timeout_member_data", Value: rows.Amount(func(l *Listener) *int { return &l.MemberData }),
			Set: func(p *listeners.UpdateOpts, want *Listener) { p.TimeoutMemberData = &want.MemberData },
		},
		{
			Name: "timeout_tcp_inspect", Value: rows.Amount(func(l *Listener) *int { return &l.InspectTimeout }),
			Set: func(p *listeners.UpdateOpts, want *Listener) { p.TimeoutTCPInspect = &want.InspectTimeout },
		},
		{
			Name: FieldTags, Value: rows.Of(tags.Show, func(l *Listener) *[]string { return &l.Tags }), Mark: true,
			Set: func(p *listeners.UpdateOpts, want *Listener) { p.Tags = &want.Tags },
		},
		poolReasonRow(FieldPoolProtocol, func(l *Listener) *string { return &l.PoolProtocol }),
		poolReasonRow(FieldMemberSubnet, func(l *Listener) *string { return &l.MemberSubnets }),
	},
}

// poolReasonRow returns the row of a field that no pool can change in place: it is why a listener gets another one.
func poolReasonRow(name string, field func(*Listener) *string) rows.Row[*Listener, *listeners.UpdateOpts] {
	return rows.Row[*Listener, *listeners.UpdateOpts]{
		Name: name, Value: rows.Text(field), Set: func(*listeners.UpdateOpts, *Listener) {},
		Effect: rows.Traffic("a pool is replaced (its `protocol`, or the `subnet_id` of its members)"),
	}
}

// lostRanges returns the ranges that a listener allows and should not.
func lostRanges(have, want *Listener) []string {
	return model.LostRanges(have.AllowedCIDRs, want.AllowedCIDRs, want.Families)
}
