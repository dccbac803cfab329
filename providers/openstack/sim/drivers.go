package sim

import (
	"net/http"
	"net/netip"
	"slices"
)

// Octavia's providers, and what they cannot do.
const (
	providerAmphora = "amphora"
	providerOVN     = "ovn"
)

// unsupported is the error of Octavia for an option that the driver of a provider does not support.
func unsupported(provider, format string, args ...any) error {
	return refuse(http.StatusNotImplemented, "", "Provider '"+provider+"' does not support a requested option: "+format,
		args...)
}

func ovnListener(b *balancer, l *listener) error {
	if b.Provider != providerOVN {
		return nil
	}
	if !contains([]string{protocolTCP, protocolUDP, protocolSCTP}, l.Protocol) {
		return unsupported(providerOVN, "OVN provider does not support %s protocol", l.Protocol)
	}
	if len(l.CIDRs) > 0 {
		return unsupported(providerOVN, "OVN provider does not support allowed_cidrs option")
	}
	return nil
}

// driverPool checks a pool against what its provider can do.
func driverPool(p *pool) error {
	if p.balancer.Provider != providerOVN {
		if p.Algorithm == algorithmSourceIPPort {
			return unsupported(p.balancer.Provider, "Amphora provider does not support %s algorithm.", p.Algorithm)
		}
		return nil
	}
	if !contains([]string{protocolTCP, protocolUDP, protocolSCTP}, p.Protocol) {
		return unsupported(providerOVN, "OVN provider does not support %s protocol", p.Protocol)
	}
	if p.Algorithm != algorithmSourceIPPort {
		return unsupported(providerOVN, "OVN provider does not support %s algorithm", p.Algorithm)
	}
	if p.Persistence != nil && p.Persistence.Type != persistenceSourceIP {
		return unsupported(providerOVN, "OVN provider does not support %s session persistence.", p.Persistence.Type)
	}
	return nil
}

// ovnFamily rejects a new member with an address of another IP version than the VIP, as the driver's method
// member_create does. It does not check the members of a load balancer that is created with them.
func ovnFamily(p *pool, address string) error {
	ip, err := netip.ParseAddr(address)
	if p.balancer.Provider != providerOVN || err != nil {
		return nil //nolint:nilerr // the type of the address was checked
	}
	if !slices.Contains(p.balancer.families(netip.MustParseAddr(p.balancer.VIP)), ip.Is4()) {
		return unsupported(providerOVN,
			"OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer.")
	}
	return nil
}

func ovnMember(m *member) error {
	if m.pool.balancer.Provider != providerOVN {
		return nil
	}
	if m.MonitorAddress != nil || m.MonitorPort != nil {
		return unsupported(providerOVN, "OVN Load Balancer does not support different addresses or ports for health "+
			"monitoring")
	}
	if m.Backup {
		return unsupported(providerOVN, "OVN Load Balancer does not support backup members")
	}
	return nil
}

func ovnMonitor(m *monitor) error {
	if m.pool.balancer.Provider == providerOVN && m.Type != monitorTCP && m.Type != monitorUDP {
		return unsupported(providerOVN, "OVN provider does not support %s health monitor type. Supported types: TCP, "+
			"UDP-CONNECT", m.Type)
	}
	return nil
}
