package nsxt

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// tag returns the value of the tag with a scope.
func tag(d document, scope string) string {
	for _, t := range d.documents("tags") {
		if t.text("scope") == scope {
			return t.text("tag")
		}
	}
	return ""
}

// LoadBalancers returns the virtual servers, grouped by address. nodeOf returns the node with an address.
func (m *Manager) LoadBalancers(nodeOf func(address string) string) []world.LoadBalancer {
	m.mu.Lock()
	defer m.mu.Unlock()
	byAddress := map[string]*world.LoadBalancer{}
	for _, d := range m.list(servers) {
		ip := d.text("ip_address")
		lb := byAddress[ip]
		if lb == nil {
			lb = &world.LoadBalancer{Name: d.text("display_name"), Addresses: []string{ip},
				Internal: m.pools["/infra/ip-pools/"+InternalPool].Contains(netip.MustParseAddr(ip))}
			byAddress[ip] = lb
		}
		l := world.Listener{Protocol: v1.Protocol(m.protocol(d)), Port: firstPort(d.texts("ports"))}
		l.MemberPort = firstPort(d.texts("default_pool_member_ports"))
		for _, member := range m.objects[d.text("pool_path")].documents("members") {
			l.Members = append(l.Members, nodeOf(member.text("ip_address")))
		}
		list, _ := d["access_list_control"].(map[string]any)
		if enabled, _ := list["enabled"].(bool); enabled {
			for _, e := range m.objects[document(list).text("group_path")].documents("expression") {
				l.SourceRanges = append(l.SourceRanges, e.texts("ip_addresses")...)
			}
		}
		lb.Listeners = append(lb.Listeners, l)
	}
	var out []world.LoadBalancer
	for _, lb := range byAddress {
		out = append(out, *lb)
	}
	world.SortLoadBalancers(out)
	return out
}

// firstPort returns the first port of a list, 0 if it is empty.
func firstPort(ports []string) int32 {
	if len(ports) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(ports[0], 10, 32) // The API checked it.
	return int32(n)
}

// serversNamed returns the virtual servers with a name. The caller holds the lock.
func (m *Manager) serversNamed(name string) ([]document, error) {
	out := slices.DeleteFunc(m.list(servers), func(d document) bool { return d.text("display_name") != name })
	if len(out) == 0 {
		return nil, fmt.Errorf("no virtual server %s", name)
	}
	return out, nil
}

// DeleteLoadBalancer deletes the virtual servers with a name, as a user of the console would.
func (m *Manager) DeleteLoadBalancer(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, err := m.serversNamed(name)
	for _, d := range list {
		m.discard(d.text("path"))
	}
	return err
}

// Drift changes the node port of the first virtual server with a name.
func (m *Manager) Drift(name string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, err := m.serversNamed(name)
	if err != nil {
		return nil, err
	}
	changed := maps.Clone(list[0])
	changed["default_pool_member_ports"] = []any{"1"}
	m.put(changed.text("path"), changed)
	return []string{"default_pool_member_ports"}, nil
}

// Routes returns the static routes of the Tier-1 gateway.
func (m *Manager) Routes(nodeOf func(address string) string) []world.Route {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []world.Route
	for _, d := range m.list(routes) {
		r := world.Route{Destination: d.text("network"), Owned: tag(d, "vsphere.k8s.io/cluster-name") != ""}
		for _, hop := range d.documents("next_hops") {
			r.NodeName = nodeOf(hop.text("ip_address"))
		}
		r.Blackhole = r.NodeName == ""
		out = append(out, r)
	}
	world.SortRoutes(out)
	return out
}

// AddForeignRoute adds a route without tags.
func (m *Manager) AddForeignRoute(destination string) error {
	if _, err := netip.ParsePrefix(destination); err != nil {
		return fmt.Errorf("foreign route: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(routes+"/"+strings.ReplaceAll(destination, "/", "_"), document{
		"resource_type": "StaticRoutes", "network": destination,
		"next_hops": []any{map[string]any{"ip_address": "172.31.0.1", "admin_distance": 1.0}},
	})
	return nil
}

// Objects counts the objects that clients create, by type.
func (m *Manager) Objects() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]int{}
	for path, d := range m.objects {
		switch collectionOf(path) {
		case "lb-app-profiles", "ip-pools", "tier-1s":
		default:
			out[d.text("resource_type")]++
		}
	}
	return out
}
