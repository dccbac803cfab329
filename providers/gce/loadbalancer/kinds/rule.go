// Package kinds declares the fields of forwarding rules and health checks.
package kinds

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// replacesRule is what a change disrupts that a forwarding rule cannot make in place.
var replacesRule = rows.Traffic("the forwarding rule is replaced, with its address")

// movesRule is what a change disrupts that needs another address.
var movesRule = rows.Address("the load balancer gets another address")

// Fields of forwarding rules that other code names.
const (
	FieldAddress    = "IPAddress"
	FieldTier       = "networkTier"
	FieldSubnetwork = "subnetwork"
	FieldScheme     = "loadBalancingScheme"
	FieldBackend    = "backendService"
)

// linkValue returns the Value of a URL, in which only the part behind the project counts.
func linkValue[T any](field func(T) *string) rows.Value[T] { return rows.Of(api.Path, field) }

// text is a row of a rule that cannot be changed in place.
func ruleText(name string, field func(*api.ForwardingRule) *string, effect plan.Effect) rows.Row[*api.ForwardingRule,
	*api.ForwardingRulePatch] {
	return rows.Row[*api.ForwardingRule, *api.ForwardingRulePatch]{
		Name: name, Value: rows.Text(field), Effect: effect,
		Ignore: func(_, want *api.ForwardingRule) bool { return *field(want) == "" },
	}
}

// Rule are the forwarding rules.
var Rule = rows.Kind[*api.ForwardingRule, *api.ForwardingRulePatch]{
	Name:     lbcommon.KindLoadBalancer,
	Key:      func(r *api.ForwardingRule) string { return r.Name },
	Deletion: rows.LoadBalancer("the forwarding rule is deleted"),
	Rows: []rows.Row[*api.ForwardingRule, *api.ForwardingRulePatch]{
		ruleText(FieldAddress, func(r *api.ForwardingRule) *string { return &r.IPAddress }, movesRule),
		ruleText(FieldScheme, func(r *api.ForwardingRule) *string { return &r.Scheme }, movesRule),
		ruleText(FieldTier, func(r *api.ForwardingRule) *string { return &r.NetworkTier }, movesRule),
		{
			Name: FieldSubnetwork, Value: linkValue(func(r *api.ForwardingRule) *string { return &r.Subnetwork }),
			Ignore: func(_, want *api.ForwardingRule) bool { return want.Subnetwork == "" }, Effect: movesRule,
		},
		ruleText("IPProtocol", func(r *api.ForwardingRule) *string { return &r.IPProtocol }, replacesRule),
		{
			Name: "portRange", Value: rows.Text(func(r *api.ForwardingRule) *string { return &r.PortRange }),
			Effect: replacesRule,
			// Those of internal load balancers have ports.
			Ignore: func(_, want *api.ForwardingRule) bool { return want.Scheme == api.SchemeInternal },
		},
		{
			Name: "ports", Value: rows.Set(func(r *api.ForwardingRule) *[]string { return &r.Ports }), Effect: replacesRule,
		},
		{
			Name: "allPorts", Value: rows.Of(showFlag, func(r *api.ForwardingRule) *bool { return &r.AllPorts }),
			Effect: replacesRule,
		},
		{
			Name: "target", Value: linkValue(func(r *api.ForwardingRule) *string { return &r.Target }), Effect: replacesRule,
		},
		{
			Name: FieldBackend, Value: linkValue(func(r *api.ForwardingRule) *string { return &r.BackendService }),
			Effect: replacesRule,
		},
		{
			Name:  "allowGlobalAccess",
			Value: rows.Of(showFlag, func(r *api.ForwardingRule) *bool { return &r.AllowGlobalAccess }),
			Set: func(p *api.ForwardingRulePatch, want *api.ForwardingRule) {
				p.AllowGlobalAccess = &want.AllowGlobalAccess
			},
			Effect: rows.Traffic("clients in other regions lose access"),
			Disrupts: func(have, want *api.ForwardingRule) bool {
				return have.AllowGlobalAccess && !want.AllowGlobalAccess
			},
		},
	},
}

func showFlag(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// Kept returns a wanted object with the existing values of some differences.
func Kept[T, U any](kind *rows.Kind[*T, U], want, have T, held []plan.Difference) T {
	return rows.Keep(kind, []T{want}, []T{have}, held)[0]
}
