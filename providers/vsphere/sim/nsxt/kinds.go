package nsxt

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// kind is the schema of the objects of a collection.
type kind struct {
	// types are the resource types; the first is the default.
	types    []string
	required []string
	check    func(m *Manager, path string, d, before document) *apiError
	// patch reports that there is PATCH. The API has it for all kinds, but clients use it only for these.
	patch bool
}

func unchecked(*Manager, string, document, document) *apiError { return nil }

// Collection returns the name of the collection of a path, such as lb-pools.
func Collection(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for _, part := range slices.Backward(parts) {
		for known := range collections() {
			if strings.HasSuffix(known, "/"+part) {
				return part
			}
		}
	}
	return parts[len(parts)-1]
}

// collections returns the schemas by the pattern of the collection.
func collections() map[string]kind {
	return map[string]kind{
		"/infra/lb-services": {[]string{"LBService"}, nil, (*Manager).checkService, false},
		servers: {[]string{"LBVirtualServer"},
			[]string{"ip_address", "ports", "application_profile_path"}, (*Manager).checkServer, false},
		"/infra/lb-pools": {[]string{"LBPool"}, nil, (*Manager).checkPool, false},
		"/infra/lb-monitor-profiles": {[]string{"", "LBTcpMonitorProfile", "LBHttpMonitorProfile"}, []string{"resource_type"},
			(*Manager).checkMonitor, false},
		"/infra/lb-app-profiles": {[]string{"LBFastTcpProfile", "LBFastUdpProfile", "LBHttpProfile"}, nil, unchecked,
			false},
		"/infra/ip-pools":                  {[]string{"IpAddressPool"}, nil, unchecked, false},
		"/infra/ip-pools/*/ip-allocations": {[]string{"IpAddressAllocation"}, nil, (*Manager).checkAllocation, true},
		"/infra/domains/*/groups":          {[]string{"Group"}, nil, (*Manager).checkGroup, false},
		"/infra/tier-1s":                   {[]string{"Tier1"}, nil, unchecked, false},
		"/infra/tier-1s/*/static-routes": {[]string{"StaticRoutes"}, []string{"network", "next_hops"},
			(*Manager).checkRoute, true},
	}
}

// collectionOf returns the name of the collection of an object, such as lb-pools.
func collectionOf(path string) string {
	collection, _ := cutLast(path)
	_, name := cutLast(collection)
	return name
}

// maxServers returns the maximum number of virtual servers of a load balancer service by its size.
func maxServers() map[string]int {
	return map[string]int{"SMALL": 20, "MEDIUM": 100, "LARGE": 1000, "XLARGE": 2000}
}

// checkRefs returns an error for references of a field to objects that do not exist. The caller holds the lock.
func (m *Manager) checkRefs(field string, paths ...string) *apiError {
	for _, path := range paths {
		if _, exists := m.objects[path]; !exists && path != "" {
			return invalid(500012, "The path=[%s] is invalid in field %s", path, field)
		}
	}
	return nil
}

func (m *Manager) checkService(path string, d, _ document) *apiError {
	if size := d.text("size"); size != "" {
		if _, known := maxServers()[size]; !known && size != "DLB" {
			return invalid(255, "Field level validation errors: {size has an invalid value %s}", size)
		}
	}
	gateway := d.text("connectivity_path")
	if err := m.checkRefs("connectivity_path", gateway); err != nil {
		return err
	}
	for _, other := range m.list("/infra/lb-services") {
		if gateway != "" && other.text("path") != path && other.text("connectivity_path") == gateway {
			return invalid(503040, "The gateway %s has the load balancer service %s already.", gateway, other.text("path"))
		}
	}
	return nil
}

func (m *Manager) checkServer(path string, d, _ document) *apiError {
	if _, err := netip.ParseAddr(d.text("ip_address")); err != nil {
		return invalid(255, "Field level validation errors: {ip_address %s is invalid}", d.text("ip_address"))
	}
	for _, field := range []string{"application_profile_path", "pool_path", "lb_service_path"} {
		if err := m.checkRefs(field, d.text(field)); err != nil {
			return err
		}
	}
	for _, port := range append(d.texts("ports"), d.texts("default_pool_member_ports")...) {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return invalid(255, "Field level validation errors: {port %s is invalid}", port)
		}
	}
	if list, ok := d["access_list_control"].(map[string]any); ok {
		if err := m.checkRefs("group_path", document(list).text("group_path")); err != nil {
			return err
		}
		if action := document(list).text("action"); action != "ALLOW" && action != "DROP" {
			return invalid(255, "Field level validation errors: {action has an invalid value %s}", action)
		}
	}
	return m.checkConflicts(path, d)
}

// checkConflicts checks a virtual server against all others: only one has an address, port and protocol, and the size
// of a load balancer service limits their number.
func (m *Manager) checkConflicts(path string, d document) *apiError {
	siblings := 0
	for _, other := range m.list("/infra/lb-virtual-servers") {
		if other.text("path") == path {
			continue
		}
		if other.text("lb_service_path") == d.text("lb_service_path") && d.text("lb_service_path") != "" {
			siblings++
		}
		if other.text("ip_address") == d.text("ip_address") && m.protocol(other) == m.protocol(d) &&
			slices.ContainsFunc(other.texts("ports"), func(p string) bool { return slices.Contains(d.texts("ports"), p) }) {
			return invalid(503141, "The address and the port of %s are those of %s.", path, other.text("path"))
		}
	}
	service := m.objects[d.text("lb_service_path")]
	if limit := maxServers()[service.text("size")]; limit > 0 && siblings >= limit {
		return invalid(503051, "The load balancer service %s of size %s has the maximum of %d virtual servers.",
			service.text("path"), service.text("size"), limit)
	}
	return nil
}

// protocol returns TCP or UDP, by the application profile of a virtual server.
func (m *Manager) protocol(server document) string {
	if m.objects[server.text("application_profile_path")].text("resource_type") == "LBFastUdpProfile" {
		return "UDP"
	}
	return "TCP"
}

func (m *Manager) checkPool(_ string, d, _ document) *apiError {
	seen := map[string]bool{}
	for _, member := range d.documents("members") {
		id := member.text("ip_address") + ":" + member.text("port")
		if _, err := netip.ParseAddr(member.text("ip_address")); err != nil || seen[id] {
			return invalid(255, "Field level validation errors: {member %s is invalid or a duplicate}", id)
		}
		seen[id] = true
	}
	if err := m.checkRefs("active_monitor_paths", d.texts("active_monitor_paths")...); err != nil {
		return err
	}
	if snat, ok := d["snat_translation"].(map[string]any); ok {
		types := []string{"LBSnatAutoMap", "LBSnatDisabled", "LBSnatIpPool"}
		if t := document(snat).text("type"); !slices.Contains(types, t) {
			return invalid(255, "Field level validation errors: {snat_translation has an invalid type %s}", t)
		}
	}
	return nil
}

func (m *Manager) checkMonitor(_ string, d, _ document) *apiError {
	if d.text("resource_type") == "" {
		return invalid(255, "Field level validation errors: {resource_type is a required field}")
	}
	for field, bounds := range map[string][2]float64{
		"monitor_port": {1, 65535}, "interval": {1, 2147483647}, "timeout": {1, 2147483647},
		"rise_count": {1, 2147483647}, "fall_count": {1, 2147483647},
	} {
		if n, set := d[field].(float64); set && (n < bounds[0] || n > bounds[1]) {
			return invalid(255, "Field level validation errors: {%s has an invalid value %v}", field, n)
		}
	}
	for field, value := range map[string]float64{"interval": 5, "timeout": 15, "rise_count": 3, "fall_count": 3} {
		if d[field] == nil {
			d[field] = value
		}
	}
	return nil
}

// checkAllocation accepts every address: whether it can be allocated shows only in the realized state.
func (m *Manager) checkAllocation(_ string, d, _ document) *apiError {
	if want := d.text("allocation_ip"); want != "" {
		if _, err := netip.ParseAddr(want); err != nil {
			return invalid(255, "Field level validation errors: {allocation_ip %s is invalid}", want)
		}
	}
	return nil
}

// poolOf returns the path of the pool of an allocation.
func poolOf(allocation string) string {
	collection, _ := cutLast(allocation)
	pool, _ := cutLast(collection)
	return pool
}

func (m *Manager) checkGroup(_ string, d, _ document) *apiError {
	for _, e := range d.documents("expression") {
		if e.text("resource_type") != "IPAddressExpression" {
			continue
		}
		addresses := e.texts("ip_addresses")
		if len(addresses) == 0 {
			return invalid(255, "Field level validation errors: {ip_addresses is a required field}")
		}
		for _, text := range addresses {
			if _, err := netip.ParsePrefix(text); err != nil {
				return invalid(255, "Field level validation errors: {ip_addresses has an invalid value %s}", text)
			}
		}
	}
	return nil
}

func (m *Manager) checkRoute(_ string, d, _ document) *apiError {
	if p, err := netip.ParsePrefix(d.text("network")); err != nil || p != p.Masked() {
		return invalid(503095, "The network %s is invalid.", d.text("network"))
	}
	hops := d.documents("next_hops")
	if len(hops) == 0 {
		return invalid(255, "Field level validation errors: {next_hops is a required field}")
	}
	for _, hop := range hops {
		if _, err := netip.ParseAddr(hop.text("ip_address")); err != nil {
			return invalid(255, "Field level validation errors: {ip_address %s is invalid}", hop.text("ip_address"))
		}
	}
	return nil
}

// allocated returns the allocation of each address. The caller holds the lock.
func (m *Manager) allocated() map[string]string {
	out := map[string]string{}
	for path, d := range m.objects {
		if ip := d.text("-address"); ip != "" {
			out[ip] = path
		}
	}
	return out
}

// allocate sets the address of a new allocation: the chosen one if it is free in the pool, or else the first free one.
// Only the realized state shows it. The caller holds the lock.
func (m *Manager) allocate(path string) {
	d, pool := m.objects[path], poolOf(path)
	m.realizedAt[path] = m.options.Clock.Now().Add(m.options.AllocationTime)
	used, prefix := m.allocated(), m.pools[pool]
	if want := d.text("allocation_ip"); want != "" {
		if address, err := netip.ParseAddr(want); err == nil && prefix.Contains(address) && used[want] == "" {
			d["-address"] = want
		}
		return
	}
	for address := prefix.Addr().Next(); prefix.Contains(address); address = address.Next() {
		if used[address.String()] == "" {
			d["-address"] = address.String()
			return
		}
	}
}

// realizedPath is the path of the list of realized entities.
const realizedPath = "/infra/realized-state/realized-entities"

// realized returns the realized entities of an object. An allocation has its address once that is allocated, or an
// error if that is not possible; other objects are realized at once.
func (m *Manager) realized(path string) (document, *apiError) {
	d, exists := m.objects[path]
	if !exists {
		return nil, notFound(path)
	}
	entity := document{
		"entity_type": "Realized" + d.text("resource_type"), "intent_paths": []any{path}, "state": "REALIZED",
	}
	if collectionOf(path) == "ip-allocations" {
		m.realizeAllocation(path, entity)
	}
	return document{"results": []any{entity}, "result_count": 1}, nil
}

// realizeAllocation sets the state of the realized entity of an allocation.
func (m *Manager) realizeAllocation(path string, entity document) {
	d := m.objects[path]
	switch {
	case m.options.Clock.Now().Before(m.realizedAt[path]):
		entity["state"] = "UNREALIZED"
	case d.text("-address") == "":
		entity["state"] = "ERROR"
		message := fmt.Sprintf("No free address in the pool of %s.", path)
		if chosen := d.text("allocation_ip"); chosen != "" {
			message = fmt.Sprintf("The address %s is not free in the pool of %s.", chosen, path)
		}
		entity["alarms"] = []any{document{"message": message}}
	default:
		entity["extended_attributes"] = []any{
			document{"key": "allocation_ip", "values": []any{d.text("-address")}, "data_type": "STRING"}}
	}
}
