package realservices

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

var _ world.Inventory = (*Cloud)(nil)

// ownerLoadBalancer is the device owner of the ports of VIPs, which exist and end with their load balancer.
const ownerLoadBalancer = "Octavia"

// listing is a list of one kind of objects.
type listing struct {
	kind, path string
	// name is the field with the name of an object.
	name string
	// omit are the fields that contain other objects of the inventory.
	omit []string
}

// listings are the lists of the kinds that the simulator's inventory has, with the same names.
func listings() []listing {
	return []listing{
		{kind: "load balancer", path: "load-balancer/lbaas/loadbalancers", name: "name"},
		{kind: "listener", path: "load-balancer/lbaas/listeners", name: "name"},
		{kind: "pool", path: "load-balancer/lbaas/pools", name: "name"},
		{kind: "health monitor", path: "load-balancer/lbaas/healthmonitors", name: "name"},
		{kind: "server", path: "compute/servers/detail", name: "name"},
		{kind: "port", path: "network/ports", name: "name"},
		{kind: "floating IP", path: "network/floatingips", name: "floating_ip_address"},
		{
			kind: "security group", path: "network/security-groups", name: "name",
			omit: []string{"security_group_rules"},
		},
		{kind: "security group rule", path: "network/security-group-rules", name: "direction"},
	}
}

// Inventory implements world.Inventory for the project. It omits servers that are not machines yet, and their ports.
func (c *Cloud) Inventory() []world.Object {
	ctx, cancel := withTimeout()
	defer cancel()
	out, err := c.inventory(ctx)
	if err != nil {
		return []world.Object{{Kind: failedRead("objects", err)}}
	}
	return out
}

func (c *Cloud) inventory(ctx context.Context) ([]world.Object, error) {
	kinds := listings()
	objects := make([][]world.Object, len(kinds))
	var routes []route
	reads := []func() error{func() (err error) { routes, err = c.routerRoutes(ctx); return err }}
	for i, k := range kinds {
		reads = append(reads, func() (err error) { objects[i], err = c.listObjects(ctx, k); return err })
	}
	if err := runParallel(reads...); err != nil {
		return nil, err
	}
	out := slices.Concat(objects...)
	members, err := c.members(ctx, out)
	if err != nil {
		return nil, err
	}
	out = append(out, members...)
	for _, r := range routes {
		out = append(out, world.NewObject("route", r.Destination, c.places.router+"/"+r.Destination, r))
	}
	out = slices.DeleteFunc(out, c.isHidden)
	world.SortObjects(out)
	return out, nil
}

// isHidden reports whether an object is a spare server or its port, the port of a VIP, or belongs to another project:
// the owner of a network can list all of its ports, also those of the amphorae, which belong to Octavia's project.
func (c *Cloud) isHidden(o world.Object) bool {
	if owner := o.Fields["project_id"]; owner != "" && owner != c.places.project {
		return true
	}
	switch o.Kind {
	case "server":
		return c.isSpare(o.ID)
	case "port":
		return o.Fields["device_owner"] == ownerLoadBalancer || c.isSpare(o.Fields["device_id"])
	}
	return false
}

// listObjects returns the objects of one list.
func (c *Cloud) listObjects(ctx context.Context, l listing) ([]world.Object, error) {
	items, err := list[json.RawMessage](ctx, c.tenant, l.path)
	if err != nil {
		return nil, err
	}
	out := make([]world.Object, 0, len(items))
	for _, item := range items {
		var fields map[string]any
		decoder := json.NewDecoder(bytes.NewReader(item))
		decoder.UseNumber() // A float formats large numbers with an exponent.
		if err := decoder.Decode(&fields); err != nil {
			return nil, fmt.Errorf("list %s: %w", l.path, err)
		}
		for _, name := range l.omit {
			delete(fields, name)
		}
		text := func(key string) string { value, _ := fields[key].(string); return value }
		out = append(out, world.NewObject(l.kind, text(l.name), text("id"), fields))
	}
	return out, nil
}

// members returns the members of all pools among the objects. Octavia lists them by pool only.
func (c *Cloud) members(ctx context.Context, objects []world.Object) ([]world.Object, error) {
	var out []world.Object
	for _, o := range objects {
		if o.Kind != "pool" {
			continue
		}
		members, err := c.listObjects(ctx, listing{
			kind: "member", path: "load-balancer/lbaas/pools/" + o.ID + "/members", name: "name",
		})
		if err != nil && !hasStatus(err, http.StatusNotFound) { // The pool may have been deleted since it was listed.
			return nil, err
		}
		out = append(out, members...)
	}
	return out, nil
}

var _ world.Reserver = (*Cloud)(nil)

// Reserve implements world.Reserver: it creates a floating IP. Only an administrator may choose its address, so
// Neutron allocates it.
func (c *Cloud) Reserve() (names []string, ip string, err error) {
	ctx, cancel := withTimeout()
	defer cancel()
	var out struct {
		FloatingIP floatingIP `json:"floatingip"`
	}
	err = c.tenant.call(ctx, "POST network/floatingips",
		object{"floatingip": object{"floating_network_id": c.places.public}}, &out)
	return []string{out.FloatingIP.Address}, out.FloatingIP.Address, err
}

// otherSubnet is the network of a second subnet, from a range for documentation.
var otherSubnet = netip.MustParsePrefix("198.51.100.0/24")

// Subnet implements world.Reserver: it adds a subnet to the machines' network, and connects it to the router.
func (c *Cloud) Subnet() (string, error) {
	ctx, cancel := withTimeout()
	defer cancel()
	return c.connectSubnet(ctx, "second", otherSubnet, object{})
}
