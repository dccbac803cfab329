package model

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// minUDPDelay is the minimum time between two probes of a UDP pool that Octavia accepts.
const minUDPDelay = 3 * time.Second

// monitorsMembers reports whether members are probed. With externalTrafficPolicy: Local they are unless the Service
// disables it: most nodes have no pod then, and only a probe detects which ones have.
func (b *builder) monitorsMembers() bool {
	if on := b.options.Monitor.Enabled; on != nil {
		return *on
	}
	return b.settings.CreateMonitor || b.in.LocalTraffic
}

// probedForLocal reports whether members are probed only because of externalTrafficPolicy: Local.
func (b *builder) probedForLocal() bool {
	return b.in.LocalTraffic && b.options.Monitor.Enabled == nil && !b.settings.CreateMonitor
}

// monitor returns the health monitor of one port; nil for none.
func (b *builder) monitor(lbName string, index int, port intent.Port) *monitors.CreateOpts {
	if !b.monitorsMembers() {
		if index == 0 && b.in.LocalTraffic {
			b.warnf("%s is off, so that with externalTrafficPolicy: Local the connections that reach a node without a pod are "+
				"lost: remove the annotation", annotation.KeyMonitor)
		}
		return nil
	}
	if port.Protocol == v1.ProtocolSCTP && !b.shared.Features.SCTPMonitors() {
		b.warnf("the SCTP port %d is not probed: Octavia's provider %s has no probes of SCTP", port.Port, b.provider)
		return nil
	}
	m, s := b.options.Monitor, b.settings
	delay, timeout := ptr.Deref(m.Delay, s.MonitorDelay), ptr.Deref(m.Timeout, s.MonitorTimeout)
	if index == 0 && timeout > delay && (m.Delay != nil || m.Timeout != nil) {
		b.warnf("the timeout of a probe, %s, exceeds the time between two, %s: a probe may start before the one before "+
			"it has ended; set %s to at most that time", timeout, delay, b.options.Sources.FieldOf(annotation.KeyMonitorTimeout))
	}
	spec := &monitors.CreateOpts{
		Name: names.HealthMonitor(index, lbName), Type: b.monitorType(port.Protocol),
		Delay: seconds(delay), Timeout: seconds(timeout), MaxRetries: ptr.Deref(m.Retries, s.MonitorMaxRetries),
		MaxRetriesDown: ptr.Deref(m.Down, s.MonitorMaxRetryDown),
	}
	if spec.Type == monitors.TypeUDPConnect && delay < minUDPDelay {
		b.addProblemOnce(annotation.KeyMonitorDelay, delay.String(), fmt.Sprintf("Octavia probes UDP ports every %s at "+
			"most: write that or more", minUDPDelay))
	}
	if spec.Type == monitors.TypeHTTP {
		spec.URLPath, spec.HTTPMethod, spec.ExpectedCodes = cmp.Or(m.Path, "/"), http.MethodGet, "200"
	}
	return spec
}

// monitorType returns the type of health monitor of a port. The provider ovn has no HTTP probes, and early
// versions of Octavia had none for UDP: a plain probe replaces them, which nodes without a pod fail too if
// Local traffic is dropped.
func (b *builder) monitorType(protocol v1.Protocol) string {
	plain := map[v1.Protocol]string{v1.ProtocolTCP: monitors.TypeTCP, v1.ProtocolUDP: monitors.TypeUDPConnect,
		v1.ProtocolSCTP: monitors.TypeSCTP}[protocol]
	if b.options.Monitor.Protocol != string(intent.HealthCheckHTTP) || b.in.LocalTraffic && b.options.Monitor.Port == 0 {
		return plain
	}
	f := b.shared.Features
	switch {
	case f.OVN && !b.in.LocalTraffic:
		b.addProblemOnce(intent.KeyHealthCheckProtocol, "HTTP", "Octavia's provider ovn has no HTTP probes: write TCP")
		return plain
	case f.OVN, protocol == v1.ProtocolUDP && !f.UDPMonitors():
		return plain
	}
	return monitors.TypeHTTP
}

// probePort returns the port of probes; 0 for the port of the traffic.
func (b *builder) probePort(monitorType string) int {
	if monitorType != monitors.TypeHTTP && b.in.LocalTraffic {
		return 0
	}
	return int(b.options.Monitor.Port)
}

// seconds rounds up, because a zero would mean "off" or "the default".
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
