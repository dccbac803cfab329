package loadbalancer

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

var _ inventory.Lister = (*Cloud)(nil)

// ListInventory implements inventory.Lister. Names and descriptions identify a Service, and nothing its cluster:
// Services of other clusters of the project are listed too.
func (c *Cloud) ListInventory(ctx context.Context, request inventory.Request) inventory.Inventory {
	found := inventory.Inventory{Cluster: request.ClusterName}
	s := c.store
	add := func(kind string, err error, needs ...string) {
		found.Kinds = append(found.Kinds, inventory.Kind{Name: kind, Needs: needs, Err: err})
	}
	add(kindRule, s.rules.refresh(ctx, true))
	for _, r := range s.rules.table.All() {
		if isOurs(r) && isBalancer(r.Name) {
			found.Objects = append(found.Objects, object(kindRule, r.Resource, inventory.Field{Name: "address",
				Value: r.IPAddress}))
		}
	}
	add(kindPool, s.pools.refresh(ctx, true), kindRule)
	for _, p := range s.pools.table.All() {
		if isBalancer(p.Name) {
			found.Objects = append(found.Objects, usedBy(object(kindPool, p.Resource), s.rulesTo(p.Name)))
		}
	}
	add(kindBackend, s.backends.refresh(ctx, true), kindRule)
	for _, b := range s.backends.table.All() {
		if isBalancer(b.Name) && b.Scheme == api.SchemeInternal {
			found.Objects = append(found.Objects, usedBy(object(kindBackend, b.Resource), s.rulesTo(b.Name)))
		}
	}
	add(kindAddress, s.addresses.refresh(ctx, true), kindRule)
	for _, a := range s.addresses.table.All() {
		if isBalancer(a.Name) {
			found.Objects = append(found.Objects, object(kindAddress, a.Resource, inventory.Field{Name: "address",
				Value: a.Address}))
		}
	}
	add(kindFirewall, s.firewalls.refresh(ctx, true))
	for _, f := range s.firewalls.table.All() {
		if names.ServiceOf(f.Description) != "" && strings.HasPrefix(f.Name, names.Firewall("")) {
			found.Objects = append(found.Objects, object(kindFirewall, f.Resource))
		}
	}
	return found
}

// rulesTo returns the forwarding rules to a pool or backend service.
func (s *store) rulesTo(name string) []string {
	var rules []string
	for _, r := range s.rules.table.All() {
		if api.Last(r.Target) == name || api.Last(r.BackendService) == name {
			rules = append(rules, r.Name)
		}
	}
	return rules
}

func usedBy(o inventory.Object, rules []string) inventory.Object {
	o.UsedBy = rules
	return o
}

// object returns an object of a Service.
func object(kind string, r api.Resource, fields ...inventory.Field) inventory.Object {
	o := inventory.Object{Kind: kind, ID: r.Name, Name: r.Name, Fields: fields}
	namespace, name, ok := strings.Cut(names.ServiceOf(r.Description), "/")
	if !ok {
		return o
	}
	owner := inventory.Owner{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	if isBalancer(r.Name) {
		owner.LoadBalancer = r.Name
	}
	o.Owners = []inventory.Owner{owner}
	return o
}
