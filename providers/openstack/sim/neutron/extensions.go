package neutron

import (
	"net/http"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// extensions returns the names of the extensions that a client may check, by alias.
func extensions() map[string]string {
	return map[string]string{
		"address-scope": "Address scope", "allowed-address-pairs": "Allowed Address Pairs",
		"availability_zone": "Availability Zone",
		"extraroute":        "Neutron Extra Route", "extraroute-atomic": "Atomically add/remove extra routes",
		"external-net": "Neutron external network", "filter-validation": "Filter parameters validation",
		"pagination":    "Pagination support",
		"port-security": "Port Security", "quotas": "Quota management support",
		"revision-if-match": "If-Match constraints based on revision_number",
		"router":            "Neutron L3 Router", "security-group": "security-group", "sorting": "Sorting support",
		"standard-attr-description": "standard-attr-description",
		"standard-attr-revisions":   "Resource revision numbers",
		"standard-attr-tag": "Tag support for resources with standard attribute: subnet, trunk, " +
			"network_segment_range, router, network, policy, subnetpool, port, security_group, floatingip",
		"standard-attr-timestamp": "Resource timestamps", "trunk": "Trunk Extension", "trunk-details": "Trunk port details",
		"binding": "Port Binding",
	}
}

// HasExtension reports whether an extension is known and enabled.
func (t *Tx) HasExtension(alias string) bool {
	_, known := extensions()[alias]
	return known && !slices.Contains(t.Options.WithoutExtensions, alias)
}

func extensionView(alias string) any {
	return map[string]any{"alias": alias, "name": extensions()[alias], "description": extensions()[alias] + ".",
		"updated": "2013-02-01T10:00:00-00:00", "links": []any{}}
}

func (t *Tx) listExtensions() (any, error) {
	out := []any{}
	for _, alias := range core.SortedKeys(extensions()) {
		if t.HasExtension(alias) {
			out = append(out, extensionView(alias))
		}
	}
	return map[string]any{"extensions": out}, nil
}

func (t *Tx) showExtension() (any, error) {
	alias := t.Call.Params["id"]
	if !t.HasExtension(alias) {
		return nil, core.Refuse(http.StatusNotFound, "ExtensionNotFound", "Extension with alias %s does not exist", alias)
	}
	return map[string]any{"extension": extensionView(alias)}, nil
}
