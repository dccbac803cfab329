package diff

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// The names of fields in plans that disrupt, and that are no names of Octavia's fields.
const (
	// fieldPoolProtocol and fieldMemberSubnet are why a listener gets another pool.
	fieldPoolProtocol = "pool protocol"
	fieldMemberSubnet = "member subnet_id"
	// fieldRule is a rule of a security group.
	fieldRule = "rule"
)

// The fields of a load balancer that cannot change in place.
const (
	fieldPort    = "vip_port_id"
	fieldSubnet  = "vip_subnet_id"
	fieldNetwork = "vip_network_id"
	fieldAddress = "vip_address"
	fieldFlavor  = "flavor_id"
	fieldZone    = "availability_zone"
)

// The disruptive changes.
var (
	deletesListener = plan.Effect{
		Change: "a listener is deleted", Disrupts: plan.DisruptsTraffic,
	}
	replacesListener = plan.Effect{
		Change: "a listener is replaced (`protocol`)", Disrupts: plan.DisruptsTraffic, Fields: []string{"protocol"},
	}
	replacesPool = plan.Effect{
		Change:   "a pool is replaced (its `protocol`, or the `subnet_id` of its members)",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldPoolProtocol, fieldMemberSubnet},
	}
	closesListener = plan.Effect{
		Change: "a listener allows fewer clients (`allowed_cidrs`)", Disrupts: plan.DisruptsTraffic,
		Fields: []string{"allowed_cidrs"},
	}
	closesNodePort = plan.Effect{
		Change:   "a rule of the managed security group that lets traffic reach nodes is removed",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldRule},
	}
	probesGuest = plan.Effect{
		Change: "the pool of a guest on a shared load balancer gets its first health monitor, because of " +
			"`externalTrafficPolicy: Local` alone",
		Disrupts: plan.DisruptsTraffic, Fields: []string{"type"},
	}
	movesFloatingIP = plan.Effect{
		Change: "a floating IP is released, detached or exchanged", Disrupts: plan.DisruptsAddress,
		Fields: []string{"floating_ip_address"},
	}
	replaces = plan.Effect{
		Change: "a load balancer is replaced (`vip_port_id`, `vip_subnet_id`, `vip_network_id`, `vip_address`, " +
			"`flavor_id`, `availability_zone`)", Disrupts: plan.DisruptsLoadBalancer,
		Fields: []string{fieldPort, fieldSubnet, fieldNetwork, fieldAddress, fieldFlavor, fieldZone},
	}
	failsOver = plan.Effect{
		Change:   "the failover of a load balancer that worked and is in ERROR; its other changes wait for it",
		Disrupts: plan.DisruptsLoadBalancer, Fields: []string{"provisioning_status"},
	}
	replacesFailed = plan.Effect{
		Change:   "its replacement, with its address if that is still free, if Octavia refuses the failover",
		Disrupts: plan.DisruptsLoadBalancer, Fields: []string{"id"},
	}
)

// Effects returns the disruptive changes.
func Effects() []plan.Effect {
	return []plan.Effect{deletesListener, replacesListener, replacesPool, closesListener, closesNodePort, probesGuest,
		movesFloatingIP, replaces, failsOver, replacesFailed}
}

// keeps reports whether a difference is kept: that of a field, or without a field that of the object as a whole.
func (d *differ) keeps(kind, object, field string) bool {
	return slices.ContainsFunc(d.want.Kept, func(k plan.Difference) bool {
		return k.Kind == kind && k.Object == object && k.Field == field
	})
}

// keptItems returns the items of a set that stay.
func (d *differ) keptItems(kind, object, field string) []string {
	var items []string
	for _, k := range d.want.Kept {
		item, ok := strings.CutPrefix(k.Field, field+" ")
		if ok && k.Kind == kind && k.Object == object {
			items = append(items, item)
		}
	}
	return items
}
