package loadbalancer

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// The settings of a monitor by default, which are those of NSX-T: an earlier manager set none.
const (
	defaultInterval  = 5
	defaultTimeout   = 15
	defaultRiseCount = 3
	defaultFallCount = 3
	defaultURL       = "/"
)

// The resource types of monitors.
const (
	monitorTCP  = "LBTcpMonitorProfile"
	monitorHTTP = "LBHttpMonitorProfile"
)

// classInternal is the class of Services with the portable scheme internal.
const classInternal = string(intent.Internal)

// The resource types of application profiles.
const (
	profileTCP = "LBFastTcpProfile"
	profileUDP = "LBFastUdpProfile"
)

// SharedState has the IDs of pools by display name, and the paths of profiles by profileKey.
type SharedState struct{ Pools, Profiles map[string][]string }

// profileKey identifies a profile in SharedState: profiles of different types may have one name.
func profileKey(resourceType, name string) string { return resourceType + " " + name }

// Desired are the objects that should exist for one Service.
type Desired struct {
	// Options are the values of the provider's own annotations. Class is the selected one.
	Options annotation.Options `json:",omitzero"`
	Class   string
	// Pool is the ID of the pool of the address, IP the address that the Service chooses.
	Pool, IP string
	Ports    []Port
	Members  []api.LBPoolMember
	// SNAT is the type of the translation in new pools.
	SNAT string
	// KeptAddress is the address of virtual servers that stays, and that is none of the Service's allocations.
	KeptAddress string
	// KeptPorts are names of ports that are not wanted, and whose objects stay.
	KeptPorts []string
	// HasHealthCheck reports whether the Service has settings of its monitors.
	HasHealthCheck bool
	Warnings       []string
	// Fields are intent.Service.Fields.
	Fields map[string]string
}

// Port is a virtual server with its pool and its monitor.
type Port struct {
	// Name is TCP/80.
	Name           string
	Port, NodePort int32
	Profile        string
	// Monitor is nil for a port without one. Settings that the Service does not have are zero.
	Monitor *api.LBMonitor
	// Ranges are those of clients that may connect; none for all.
	Ranges []string
}

// portName returns the value of the tag of a port.
func portName(p intent.Port) string { return fmt.Sprintf("%s/%d", p.Protocol, p.Port) }

// newDesired returns the objects that should exist for a Service. It is pure.
func newDesired(
	cfg config.LoadBalancing, key lbcommon.Key, in intent.Service, nodes []*v1.Node, shared SharedState,
) (Desired, error) {
	problems := in.NewProblems()
	d := Desired{Fields: in.Fields, Members: members(key, nodes), SNAT: "LBSnatAutoMap"}
	if cfg.SNATDisabled {
		d.SNAT = "LBSnatDisabled"
	}
	if !slices.Contains(in.Families, v1.IPv4Protocol) {
		problems.Add(intent.FieldIPFamilies, fmt.Sprint(in.Families), "load balancers of NSX-T have IPv4 addresses: add IPv4")
	} else if len(in.Families) > 1 {
		d.Warnings = append(d.Warnings, "the load balancer has an IPv4 address only: the address pools of NSX-T are used "+
			"for IPv4")
	}
	if in.ClientIPAffinity > 0 {
		d.Warnings = append(d.Warnings, "spec.sessionAffinity has no effect on the load balancer: set a persistence profile "+
			"in NSX-T, which stays")
	}
	d.Options = annotation.Read(in, &problems)
	d.Class = classOf(cfg, in, d.Options, &problems)
	class := cfg.Classes[d.Class]
	resolve := func(n config.Named, found []string, key string) string {
		id, err := resolveName(n, found, key)
		if err != nil {
			problems.Add(names.ClassAnnotation, d.Class, err.Error())
		}
		return id
	}
	d.Pool = resolve(class.Pool, shared.Pools[class.Pool.Name], "ip-pool-name")
	profiles := resolveProfiles(class, in.Ports, shared, resolve)
	d.IP = staticAddress(in, &problems)
	d.HasHealthCheck = in.HealthCheck != intent.HealthCheck{}
	for _, p := range in.Ports {
		d.Ports = append(d.Ports, Port{
			Name: portName(p), Port: p.Port, NodePort: p.NodePort, Profile: profiles[p.Protocol],
			Monitor: newMonitor(in.HealthCheck, p), Ranges: sourceRanges(in, p, &problems),
		})
	}
	return d, problems.Err(in.Subject())
}

// classOf returns the name of the class of a Service.
func classOf(cfg config.LoadBalancing, in intent.Service, o annotation.Options, problems *intent.Problems) string {
	name, key, value := o.Class, annotation.KeyClass, in.Annotations[annotation.KeyClass]
	switch {
	case name == "" && in.Scheme == intent.Internal:
		name, key, value = classInternal, intent.KeyScheme, string(in.Scheme)
	case name == "":
		name, value = names.DefaultClass, names.DefaultClass
	}
	if class, ok := cfg.Classes[name]; !ok || class.Pool.IsZero() {
		problems.Addf(key, value, "vsphere.conf has no class %s with a pool of addresses: add a section [LoadBalancerClass "+
			"%q] with ip-pool-name, or choose another class", intent.Quote(name), name)
	}
	return name
}

// resolveProfiles returns the paths of the application profiles that the ports need.
func resolveProfiles(class config.Class, ports []intent.Port, shared SharedState,
	resolve func(n config.Named, found []string, key string) string,
) map[v1.Protocol]string {
	profiles := map[v1.Protocol]string{}
	for _, p := range ports {
		if _, resolved := profiles[p.Protocol]; resolved {
			continue
		}
		n, resourceType, key := class.TCP, profileTCP, "tcp-app-profile-name"
		if p.Protocol == v1.ProtocolUDP {
			n, resourceType, key = class.UDP, profileUDP, "udp-app-profile-name"
		}
		profiles[p.Protocol] = resolve(n, shared.Profiles[profileKey(resourceType, n.Name)], key)
	}
	return profiles
}

// resolveName returns the ID or path of an object that the configuration references: the only one of those with its
// name, "" without a reference.
func resolveName(n config.Named, found []string, key string) (string, error) {
	if n.ID != "" || n.IsZero() {
		return n.ID, nil
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("%s: NSX-T has none with the name %q; correct vsphere.conf", key, n.Name)
	default:
		return "", fmt.Errorf("%s: NSX-T has %d with the name %q; set the ID or path in vsphere.conf instead", key,
			len(found), n.Name)
	}
}

// sourceRanges returns the ranges of clients that may connect to a port; none for all.
func sourceRanges(in intent.Service, p intent.Port, problems *intent.Problems) []string {
	if !in.Restricts() {
		return nil
	}
	var out []string
	for _, prefix := range in.AllowedAt(p, v1.IPv4Protocol) {
		if prefix.Bits() == 0 {
			return nil
		}
		out = append(out, prefix.String())
	}
	if len(out) == 0 {
		problems.Addf(intent.FieldSourceRanges, "", "port %s has only ranges of IPv6, from which no client can reach an "+
			"IPv4 address", portName(p))
	}
	return out
}

// staticAddress returns the address that a Service chooses.
func staticAddress(in intent.Service, problems *intent.Problems) string {
	for i, address := range in.StaticAddresses {
		ip, err := netip.ParseAddr(address)
		if err != nil || !ip.Is4() || i > 0 {
			problems.Add(intent.KeyStaticAddresses, address, "write one IPv4 address of the pool of the class")
			return ""
		}
	}
	if len(in.StaticAddresses) == 0 {
		return ""
	}
	return in.StaticAddresses[0]
}

// newMonitor returns the monitor of a port; nil for UDP without a port to probe.
func newMonitor(h intent.HealthCheck, p intent.Port) *api.LBMonitor {
	if p.Protocol == v1.ProtocolUDP && h.Port == 0 {
		return nil
	}
	m := &api.LBMonitor{
		MonitorPort: int64(cmp.Or(h.Port, p.NodePort)), Interval: seconds(h.Interval), Timeout: seconds(h.Timeout),
		RiseCount: int64(h.HealthyThreshold), FallCount: int64(h.UnhealthyThreshold),
	}
	m.ResourceType = monitorTCP
	if h.Protocol == intent.HealthCheckHTTP {
		m.ResourceType, m.RequestURL = monitorHTTP, h.Path
	}
	return m
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// members returns the members of pools, sorted by address. A node without an internal IPv4 address receives no traffic.
func members(key lbcommon.Key, nodes []*v1.Node) []api.LBPoolMember {
	byIP := map[string]api.LBPoolMember{}
	for _, node := range nodes {
		if ip := internalIP(node); ip != "" {
			byIP[ip] = api.LBPoolMember{
				DisplayName: names.MemberDisplay(key.ClusterName, node.Name), IPAddress: ip, AdminState: "ENABLED",
			}
		}
	}
	out := make([]api.LBPoolMember, 0, len(byIP))
	for _, ip := range slices.Sorted(maps.Keys(byIP)) {
		out = append(out, byIP[ip])
	}
	return out
}

func internalIP(node *v1.Node) string {
	for _, a := range node.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); err == nil && a.Type == v1.NodeInternalIP && ip.Is4() {
			return a.Address
		}
	}
	return ""
}
