// Package nsxt simulates the policy API of an NSX-T manager, as far as load balancers and static routes need it:
// objects with revisions, references between them, sizes of load balancers, and addresses that are allocated with a
// delay. It is written from the API reference of NSX-T Data Center.
package nsxt

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// The account of a simulated manager, and the objects that exist from the start.
const (
	User     = "ccm"
	Password = "simulated nsx password"
	// Tier1 is the path of the only Tier-1 gateway.
	Tier1 = "/infra/tier-1s/t1"
	// PublicPool and InternalPool are the IDs of address pools; each has its ID as its name.
	PublicPool   = "public"
	InternalPool = "internal"
	// TCPProfile and UDPProfile are the IDs and the names of the default application profiles.
	TCPProfile = "default-tcp-lb-app-profile"
	UDPProfile = "default-udp-lb-app-profile"
)

const (
	servers = "/infra/lb-virtual-servers"
	routes  = Tier1 + "/static-routes"
)

// Options configure New.
type Options struct {
	Clock clock.Clock
	// AllocationTime is the time until an allocation has an address.
	AllocationTime time.Duration
	// Public are the addresses of the pool PublicPool; the zero value has 254.
	Public netip.Prefix
	// PageSize bounds the objects of a page; 0 means 1000, as the API does.
	PageSize int
	// PurgeTime is the time until the ID of a deleted object can be used again; 0 means 5 minutes, as the API does.
	PurgeTime time.Duration
}

// defaultPurgeTime is the interval at which a manager removes objects that are marked for deletion.
const defaultPurgeTime = 5 * time.Minute

// Manager is a simulated manager. It is safe for concurrent use.
type Manager struct {
	options Options

	mu      sync.Mutex
	objects map[string]document
	// realizedAt is when an allocation has its address, by path.
	realizedAt map[string]time.Time
	// purgedAt is when a deleted object is removed, by path. Until then it is only marked for deletion: no response has
	// it, and none can be created at its path.
	purgedAt map[string]time.Time
	pools    map[string]netip.Prefix
	password string
}

// document is an object of the API. Numbers are float64. Keys with the prefix "-" have the realized state, which
// responses omit.
type document map[string]any

func (d document) text(key string) string {
	text, _ := d[key].(string)
	return text
}

func (d document) texts(key string) []string {
	list, _ := d[key].([]any)
	var out []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

func (d document) documents(key string) []document {
	list, _ := d[key].([]any)
	var out []document
	for _, item := range list {
		if d, ok := item.(map[string]any); ok {
			out = append(out, d)
		}
	}
	return out
}

// New returns a manager with a Tier-1 gateway, two address pools and the default application profiles.
func New(o Options) *Manager {
	o.Clock = clocks.OrReal(o.Clock)
	if o.PageSize == 0 {
		o.PageSize = 1000
	}
	if o.PurgeTime == 0 {
		o.PurgeTime = defaultPurgeTime
	}
	if !o.Public.IsValid() {
		o.Public = netip.MustParsePrefix("192.0.2.0/24")
	}
	m := &Manager{
		options: o, objects: map[string]document{}, realizedAt: map[string]time.Time{}, password: Password,
		purgedAt: map[string]time.Time{},
		pools: map[string]netip.Prefix{
			"/infra/ip-pools/" + PublicPool:   o.Public,
			"/infra/ip-pools/" + InternalPool: netip.MustParsePrefix("10.99.0.0/24"),
		},
	}
	for path, kind := range map[string]string{
		Tier1:                                  "Tier1",
		"/infra/ip-pools/" + PublicPool:        "IpAddressPool",
		"/infra/ip-pools/" + InternalPool:      "IpAddressPool",
		"/infra/lb-app-profiles/" + TCPProfile: "LBFastTcpProfile",
		"/infra/lb-app-profiles/" + UDPProfile: "LBFastUdpProfile",
	} {
		m.put(path, document{"resource_type": kind})
	}
	return m
}

// put stores an object with the fields that the manager sets. The caller holds the lock, or is New.
func (m *Manager) put(path string, d document) document {
	d = maps.Clone(d)
	parent, id := cutLast(path)
	now := float64(m.options.Clock.Now().UnixMilli())
	revision, created := 0.0, now
	if before, exists := m.objects[path]; exists {
		revision, created = before["_revision"].(float64)+1, before["_create_time"].(float64)
		for key, value := range before {
			if strings.HasPrefix(key, "-") {
				d[key] = value // Requests do not have the realized state.
			}
		}
	}
	d["id"], d["path"], d["relative_path"], d["parent_path"], d["_revision"] = id, path, id, parent, revision
	d["_create_time"], d["_last_modified_time"] = created, now
	if d.text("display_name") == "" {
		d["display_name"] = id
	}
	m.objects[path] = d
	return d
}

// discard deletes an object, and marks its path until the next purge. The caller holds the lock.
func (m *Manager) discard(path string) {
	delete(m.objects, path)
	delete(m.realizedAt, path)
	m.purgedAt[path] = m.options.Clock.Now().Add(m.options.PurgeTime)
}

// cutLast splits a path at its last slash.
func cutLast(path string) (parent, id string) {
	i := strings.LastIndex(path, "/")
	return path[:max(i, 0)], path[i+1:]
}

// list returns the objects of a collection, sorted by path. The caller holds the lock.
func (m *Manager) list(collection string) []document {
	var out []document
	for _, path := range slices.Sorted(maps.Keys(m.objects)) {
		if parent, _ := cutLast(path); parent == collection {
			out = append(out, m.objects[path])
		}
	}
	return out
}

// referrers returns the paths of the children of an object and of the objects that refer to it. The caller holds the
// lock.
func (m *Manager) referrers(path string) []string {
	var out []string
	for other, d := range m.objects {
		if other != path && (strings.HasPrefix(other, path+"/") || refers(map[string]any(d), path)) {
			out = append(out, other)
		}
	}
	slices.Sort(out)
	return out
}

// refers reports whether a value contains a reference to a path.
func refers(value any, path string) bool {
	switch v := value.(type) {
	case string:
		return v == path
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return refers(item, path) })
	case map[string]any:
		for key, item := range v {
			if key != "path" && key != "parent_path" && refers(item, path) {
				return true
			}
		}
	}
	return false
}

// SetPassword changes the password of the account.
func (m *Manager) SetPassword(password string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.password = password
}

// authorized reports whether a request has the account's credentials.
func (m *Manager) authorized(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return ok && user == User && password == m.password
}
