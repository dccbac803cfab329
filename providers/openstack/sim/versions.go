package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Octavia's API has minor versions, which clients do not negotiate: a service has all attributes and values up to its
// newest version. octavia/api/root_controller.py lists the versions with what each of them added.
const (
	newestOctavia  = 27
	defaultOctavia = 26 // of the release Zed
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

// parseOctaviaVersion returns the minor part of a version such as 2.5.
func parseOctaviaVersion(text string) (int, error) {
	minor, ok := strings.CutPrefix(text, "2.")
	n, err := strconv.Atoi(minor)
	if !ok || err != nil || n < 0 || n > newestOctavia {
		return 0, fmt.Errorf("version %q of Octavia's API is not one of 2.0 to 2.%d", text, newestOctavia)
	}
	return n, nil
}

// octavia is the minor version of Octavia's API.
func (o *Options) octavia() int {
	n, err := parseOctaviaVersion(o.OctaviaVersion)
	if err != nil {
		return defaultOctavia // The options were validated.
	}
	return n
}

// checkVersion rejects attributes and values that the version of Octavia's API does not have.
func (t *tx) checkVersion() error {
	if t.call.service != serviceLoadBalancer || t.o.octavia() >= defaultOctavia {
		return nil
	}
	for _, name := range sortedKeys(t.call.query) {
		if octaviaAttributes[name] > t.o.octavia() {
			return refuse(400, "", "One or more arguments are either duplicate or invalid")
		}
	}
	var body any
	if err := json.Unmarshal(t.call.body, &body); err != nil {
		return nil //nolint:nilerr // the operation reports it
	}
	return t.checkAttributes(body)
}

func (t *tx) checkAttributes(body any) error {
	switch v := body.(type) {
	case []any:
		for _, x := range v {
			if err := t.checkAttributes(x); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			value, _ := v[name].(string)
			if since := octaviaAttributes[name]; since > t.o.octavia() {
				return badBody(serviceLoadBalancer, "Unknown attribute: %s", name)
			} else if octaviaValues[name][value] > t.o.octavia() {
				return badField(name, value, "Value should be one of those of version "+t.o.OctaviaVersion)
			}
			if err := t.checkAttributes(v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// hiddenAttributes returns the attributes that the responses of a service do not have.
func (t *tx) hiddenAttributes() (names []string) {
	switch t.call.service {
	case serviceLoadBalancer:
		for name, since := range octaviaAttributes {
			if since > t.o.octavia() {
				names = append(names, name)
			}
		}
	case serviceNetwork:
		if !t.hasExtension("standard-attr-tag") {
			names = append(names, "tags")
		}
	}
	return names
}

// withoutHidden returns a body without the hidden attributes of the service.
func (t *tx) withoutHidden(body any) (any, error) {
	hidden := t.hiddenAttributes()
	if len(hidden) == 0 || body == nil || t.call.op.open {
		return body, nil
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, err
	}
	removeKeys(out, hidden)
	return out, nil
}

func removeKeys(body any, names []string) {
	switch v := body.(type) {
	case []any:
		for _, x := range v {
			removeKeys(x, names)
		}
	case map[string]any:
		for name := range v {
			if slices.Contains(names, name) {
				delete(v, name)
			} else {
				removeKeys(v[name], names)
			}
		}
	}
}
