package octavia

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// unsupported returns the error of Octavia for an option that the driver of a provider does not support.
func unsupported(provider, format string, args ...any) error {
	return core.Refuse(http.StatusNotImplemented, "",
		"Provider '"+provider+"' does not support a requested option: "+format, args...)
}

// checkOVNListener rejects options of a listener that the OVN driver does not support.
func checkOVNListener(b *balancer, l *listener) error {
	if b.Provider != core.ProviderOVN {
		return nil
	}
	if !slices.Contains([]string{protocolTCP, protocolUDP, protocolSCTP}, l.Protocol) {
		return unsupported(core.ProviderOVN, "OVN provider does not support %s protocol", l.Protocol)
	}
	if len(l.CIDRs) > 0 {
		return unsupported(core.ProviderOVN, "OVN provider does not support allowed_cidrs option")
	}
	return nil
}

// checkDriverPool rejects options of a pool that the driver of its provider does not support.
func checkDriverPool(p *pool) error {
	if p.balancer.Provider != core.ProviderOVN {
		if p.Algorithm == algorithmSourceIPPort {
			return unsupported(p.balancer.Provider, "Amphora provider does not support %s algorithm.", p.Algorithm)
		}
		return nil
	}
	if !slices.Contains([]string{protocolTCP, protocolUDP, protocolSCTP}, p.Protocol) {
		return unsupported(core.ProviderOVN, "OVN provider does not support %s protocol", p.Protocol)
	}
	if p.Algorithm != algorithmSourceIPPort {
		return unsupported(core.ProviderOVN, "OVN provider does not support %s algorithm", p.Algorithm)
	}
	if p.Persistence != nil && p.Persistence.Type != persistenceSourceIP {
		return unsupported(core.ProviderOVN, "OVN provider does not support %s session persistence.", p.Persistence.Type)
	}
	return nil
}

// checkOVNFamily rejects a new member with an address of another IP version than the VIPs, as the driver's method
// member_create does. It does not check the members of a load balancer that is created with them.
func checkOVNFamily(p *pool, address string) error {
	ip, err := netip.ParseAddr(address)
	if p.balancer.Provider != core.ProviderOVN || err != nil {
		return nil //nolint:nilerr // invalid addresses were rejected before
	}
	if !slices.Contains(p.balancer.families(), ip.Is4()) {
		return unsupported(core.ProviderOVN,
			"OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer.")
	}
	return nil
}

// checkOVNMember rejects options of a member that the OVN driver does not support.
func checkOVNMember(m *member) error {
	if m.pool.balancer.Provider != core.ProviderOVN {
		return nil
	}
	if m.MonitorAddress != nil || m.MonitorPort != nil {
		return unsupported(core.ProviderOVN, "OVN Load Balancer does not support different addresses or ports for health "+
			"monitoring")
	}
	if m.Backup {
		return unsupported(core.ProviderOVN, "OVN Load Balancer does not support backup members")
	}
	return nil
}

// checkOVNMonitor rejects types of health monitors that the OVN driver does not support.
func checkOVNMonitor(m *monitor) error {
	if m.pool.balancer.Provider == core.ProviderOVN && m.Type != monitorTCP && m.Type != monitorUDP {
		return unsupported(core.ProviderOVN, "OVN provider does not support %s health monitor type. Supported types: TCP, "+
			"UDP-CONNECT", m.Type)
	}
	return nil
}
