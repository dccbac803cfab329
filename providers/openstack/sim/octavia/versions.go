package octavia

import (
	"encoding/json"
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// octaviaAttributes are the attributes of requests and responses by the minor version that added them.
var octaviaAttributes = map[string]int{
	"timeout_client_data": 1, "timeout_member_connect": 1, "timeout_member_data": 1, "timeout_tcp_inspect": 1,
	"tags": 5, "tags-any": 5, "not-tags": 5, "not-tags-any": 5, "flavor_id": 6,
	"client_ca_tls_container_ref": 8, "client_authentication": 8, "client_crl_container_ref": 8,
	"tls_enabled": 8, "tls_container_ref": 8, "ca_tls_container_ref": 8, "crl_container_ref": 8,
	"http_version": 10, "domain_name": 10, "allowed_cidrs": 12, "availability_zone": 14, "tls_ciphers": 15,
	"tls_versions": 17, "alpn_protocols": 20, "additional_vips": 26,
}

// octaviaValues are values of attributes by the minor version that added them.
var octaviaValues = map[string]map[string]int{
	"protocol":     {protocolPROXYv2: 22, protocolSCTP: 23, protocolPrometheus: 25},
	"lb_algorithm": {algorithmSourceIPPort: 13},
	"type":         {monitorSCTP: 23},
}

// The versions that added batch updates with additive_only, and monitors of the types HTTP and TCP for UDP pools.
const (
	octaviaAdditiveOnly = 11
	octaviaUDPMonitors  = 16
)

// octaviaOVNAdditionalVIPs is the version from which on the simulated OVN driver creates additional VIPs. Method
// create_vip_port of ovn_octavia_provider/driver.py does so in newer releases; in older ones it ignores them.
const octaviaOVNAdditionalVIPs = 27

// CheckVersion rejects attributes and values that the version of Octavia's API does not have.
func (t *Tx) CheckVersion() error {
	if t.Call.Service != core.ServiceLoadBalancer || t.Options.Octavia() >= core.DefaultOctavia {
		return nil
	}
	for _, name := range core.SortedKeys(t.Call.Query) {
		if octaviaAttributes[name] > t.Options.Octavia() {
			return core.Refuse(http.StatusBadRequest, "", "One or more arguments are either duplicate or invalid")
		}
	}
	var body any
	if err := json.Unmarshal(t.Call.Body, &body); err != nil {
		return nil //nolint:nilerr // the operation reports it
	}
	return t.checkAttributes(body)
}

func (t *Tx) checkAttributes(body any) error {
	switch v := body.(type) {
	case []any:
		for _, x := range v {
			if err := t.checkAttributes(x); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range core.SortedKeys(v) {
			value, _ := v[name].(string)
			if since := octaviaAttributes[name]; since > t.Options.Octavia() {
				return core.BadBody(core.ServiceLoadBalancer, "Unknown attribute: %s", name)
			} else if octaviaValues[name][value] > t.Options.Octavia() {
				return badField(name, value, "Value should be one of those of version "+t.Options.OctaviaVersion)
			}
			if err := t.checkAttributes(v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// MissingAttributes returns the attributes that the version of Octavia's API does not have.
func (t *Tx) MissingAttributes() (names []string) {
	for name, since := range octaviaAttributes {
		if since > t.Options.Octavia() {
			names = append(names, name)
		}
	}
	return names
}
