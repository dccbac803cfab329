package octavia

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// Protocols of listeners and pools.
const (
	protocolTCP        = "TCP"
	protocolUDP        = "UDP"
	protocolSCTP       = "SCTP"
	protocolHTTP       = "HTTP"
	protocolHTTPS      = "HTTPS"
	protocolTerminated = "TERMINATED_HTTPS"
	protocolPROXY      = "PROXY"
	protocolPROXYv2    = "PROXYV2"
	protocolPrometheus = "PROMETHEUS"
)

// checkValue checks a value of a closed set.
func checkValue(field, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return badField(field, value, "Value should be one of: "+strings.Join(values, ", "))
}

// checkBounds checks a number.
func checkBounds(field string, value, least, most int) error {
	switch {
	case value < least:
		return badField(field, value, fmt.Sprintf("Value should be greater or equal to %d", least))
	case value > most:
		return badField(field, value, fmt.Sprintf("Value should be lower or equal to %d", most))
	}
	return nil
}

func listenerProtocols() []string {
	return []string{protocolHTTP, protocolHTTPS, protocolPrometheus, protocolSCTP, protocolTCP, protocolTerminated,
		protocolUDP}
}

// overQuota returns an error if n more objects exceed a quota.
func (t *Tx) overQuota(name, kind string, used, n int) error {
	if limit := t.Options.Quotas[name]; limit >= 0 && used+n > limit {
		return core.Refuse(http.StatusForbidden, "", "Quota has been met for resources: %s", kind)
	}
	return nil
}

// checkProtocols returns an error unless a listener can forward to the pool.
func checkProtocols(listenerProtocol, poolProtocol string) error {
	pools := map[string][]string{
		protocolTCP:        {protocolHTTP, protocolHTTPS, protocolPROXY, protocolPROXYv2, protocolTCP},
		protocolHTTP:       {protocolHTTP, protocolPROXY, protocolPROXYv2},
		protocolHTTPS:      {protocolHTTPS, protocolPROXY, protocolPROXYv2, protocolTCP},
		protocolTerminated: {protocolHTTP, protocolPROXY, protocolPROXYv2},
		protocolUDP:        {protocolUDP},
		protocolSCTP:       {protocolSCTP},
	}
	if !slices.Contains(pools[listenerProtocol], poolProtocol) {
		return invalid("The pool protocol '%s' is invalid while the listener protocol is '%s'.", poolProtocol,
			listenerProtocol)
	}
	return nil
}

// transportOf returns the transport protocol of a listener or pool. Two listeners cannot share a port of one.
func transportOf(protocol string) string {
	switch protocol {
	case protocolUDP, protocolSCTP:
		return protocol
	}
	return protocolTCP
}
