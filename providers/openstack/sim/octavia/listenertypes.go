package octavia

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// badField returns the error of Octavia for an invalid value of a field.
func badField(field string, value any, reason string) error {
	return core.Refuse(http.StatusBadRequest, "", "Invalid input for field/attribute %s. Value: '%v'. %s", field, value,
		reason)
}

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

// checkTypes validates each value of a listener by itself, which Octavia does first.
func (in *listenerInput) checkTypes() error {
	return cmp.Or(
		checkValue("protocol", in.Protocol, listenerProtocols()...),
		checkBounds("protocol_port", in.Port, 1, 65535),
		in.check(),
	)
}

func (in listenerSettings) check() error {
	return cmp.Or(
		checkTexts(in.Name.v, in.Description.v, in.Tags.v),
		checkBounds("connection_limit", in.Connections.or(defaultConnections), defaultConnections, 1<<31-1),
		checkBounds("timeout_client_data", in.ClientData.v, 0, maxTimeout),
		checkBounds("timeout_member_connect", in.MemberConnect.v, 0, maxTimeout),
		checkBounds("timeout_member_data", in.MemberData.v, 0, maxTimeout),
		checkBounds("timeout_tcp_inspect", in.Inspect.v, 0, maxTimeout),
	)
}

// overQuota returns an error if n more objects exceed a quota.
func (t *Tx) overQuota(name, kind string, used, n int) error {
	if limit := t.Options.Quotas[name]; limit >= 0 && used+n > limit {
		return core.Refuse(http.StatusForbidden, "", "Quota has been met for resources: %s", kind)
	}
	return nil
}
