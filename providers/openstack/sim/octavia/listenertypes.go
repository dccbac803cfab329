package octavia

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// badField is the error of Octavia for an invalid value of a field.
func badField(field string, value any, why string) error {
	return core.Refuse(http.StatusBadRequest, "", "%s",
		fmt.Sprintf("Invalid input for field/attribute %s. Value: '%v'. %s", field, value, why))
}

// oneOf checks a value of a closed set.
func oneOf(field, value string, values ...string) error {
	if core.Contains(values, value) {
		return nil
	}
	return badField(field, value, "Value should be one of: "+strings.Join(values, ", "))
}

// within checks a number.
func within(field string, value, least, most int) error {
	switch {
	case value < least:
		return badField(field, value, fmt.Sprintf("Value should be greater or equal to %d", least))
	case value > most:
		return badField(field, value, fmt.Sprintf("Value should be lower or equal to %d", most))
	}
	return nil
}

// firstOf returns the first of several errors.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func listenerProtocols() []string {
	return []string{protocolHTTP, protocolHTTPS, protocolPrometheus, protocolSCTP, protocolTCP, protocolTerminated,
		protocolUDP}
}

// checkTypes checks the values of a listener by themselves, which Octavia does before all else.
func (in *listenerInput) checkTypes() error {
	return firstOf(
		oneOf("protocol", in.Protocol, listenerProtocols()...),
		within("protocol_port", in.Port, 1, 65535),
		in.check(),
	)
}

func (in listenerSettings) check() error {
	return firstOf(
		checkTexts(in.Name.v, in.Description.v, in.Tags.v),
		within("connection_limit", in.Connections.or(defaultConnections), defaultConnections, 1<<31-1),
		within("timeout_client_data", in.ClientData.v, 0, maxTimeout),
		within("timeout_member_connect", in.MemberConnect.v, 0, maxTimeout),
		within("timeout_member_data", in.MemberData.v, 0, maxTimeout),
		within("timeout_tcp_inspect", in.Inspect.v, 0, maxTimeout),
	)
}

// overQuota returns an error if n more objects exceed a quota.
func (t *Tx) overQuota(name, kind string, used, n int) error {
	if limit := t.Options.Quotas[name]; limit >= 0 && used+n > limit {
		return core.Refuse(http.StatusForbidden, "", "Quota has been met for resources: %s", kind)
	}
	return nil
}
