package nsxt

import (
	"maps"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// kindNames are the kinds of the objects that clients create, by collection.
func kindNames() map[string]string {
	return map[string]string{
		"lb-services": "load balancer service", "lb-virtual-servers": "virtual server", "lb-pools": "pool",
		"lb-monitor-profiles": "monitor", "groups": "group", "ip-allocations": "IP allocation",
		"static-routes": "static route",
	}
}

// Inventory returns the objects that clients create, as their API shows them, with the tags by scope.
func (m *Manager) Inventory() []world.Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []world.Object
	for path, d := range m.objects {
		kind, created := kindNames()[collectionOf(path)]
		if !created {
			continue
		}
		view := shown(d)
		maps.DeleteFunc(view, func(key string, _ any) bool { return key == "tags" || strings.HasPrefix(key, "_") })
		tags := map[string]any{}
		for _, t := range d.documents("tags") {
			tags[t.text("scope")] = t.text("tag")
		}
		view["tags"] = tags
		out = append(out, world.NewObject(kind, d.text("display_name"), path, view))
	}
	return out
}

// reservedHost is the number of the address in its pool that Reserve returns.
const reservedHost = 77

// Reserve returns an address of the public pool. The client that wants it allocates it.
func (m *Manager) Reserve() string {
	address := m.pools["/infra/ip-pools/"+PublicPool].Masked().Addr()
	for range reservedHost {
		address = address.Next()
	}
	return address.String()
}
