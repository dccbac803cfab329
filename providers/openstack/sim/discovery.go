package sim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
)

// discoveryOperation returns the operation for a version document: at the root of a service, or of one of its
// versions. It returns nil for other paths.
func discoveryOperation(service string, rest []string) *operation {
	if len(rest) > 1 || !slices.Contains(core.ServiceTypes(), service) {
		return nil
	}
	o := &operation{service: service}
	o.Name, o.Open, o.Do = "ListVersions", true, (*tx).listVersions
	if len(rest) == 1 {
		if !slices.Contains(versionsOf(service), rest[0]) {
			return nil
		}
		o.Name, o.Do = "ShowVersion", (*tx).showVersion
		// Neutron's version document, unlike the others, is behind authentication; Octavia has none.
		o.Open = service != core.ServiceNetwork
	}
	return o
}

// versionsOf returns the versions of a service in its paths.
func versionsOf(service string) []string {
	switch service {
	case core.ServiceLoadBalancer:
		return []string{"v2.0", "v2"}
	case core.ServiceCompute:
		return []string{"v2.1", "v2"}
	}
	return []string{core.VersionOf(service)}
}

func (t *tx) versionView(id, status, path string, details map[string]any) map[string]any {
	out := map[string]any{"id": id, "status": status,
		"links": []core.Link{{Rel: "self", HRef: t.Call.Base + "/" + t.Call.Service + "/" + path}}}
	maps.Copy(out, details)
	return out
}

func (t *tx) versions() []any {
	switch t.Call.Service {
	case core.ServiceIdentity:
		return []any{t.versionView("v3.14", "stable", "v3/", map[string]any{
			"updated": "2020-04-07T00:00:00Z",
			"media-types": []any{map[string]any{"base": "application/json",
				"type": "application/vnd.openstack.identity-v3+json"}},
		})}
	case core.ServiceCompute:
		return []any{
			t.versionView("v2.0", "SUPPORTED", "v2/",
				map[string]any{"version": "", "min_version": "", "updated": "2011-01-21T11:33:21Z"}),
			t.versionView("v2.1", "CURRENT", "v2.1/", map[string]any{
				"version": fmt.Sprintf("2.%d", nova.MaxMicro), "min_version": "2.1", "updated": "2013-07-23T11:33:21Z"}),
		}
	case core.ServiceNetwork:
		return []any{t.versionView("v2.0", "CURRENT", "v2.0/", nil)}
	case core.ServiceImage:
		return []any{t.versionView("v2.15", "CURRENT", "v2/", nil)}
	case core.ServiceKeyManager:
		return []any{t.versionView("v1", "stable", "v1/", map[string]any{
			"updated": "2015-04-28T00:00:00Z",
			"media-types": []any{map[string]any{"base": "application/json",
				"type": "application/vnd.openstack.key-manager-v1+json"}},
		})}
	}
	var out []any
	for minor := range t.Options.Octavia() + 1 {
		status := "SUPPORTED"
		if minor == t.Options.Octavia() {
			status = "CURRENT"
		}
		out = append(out, t.versionView(fmt.Sprintf("v2.%d", minor), status, "v2",
			map[string]any{"updated": "2016-12-11T00:00:00Z"}))
	}
	return out
}

// listVersions responds at the root of a service. Keystone, Barbican and Glance respond with 300.
func (t *tx) listVersions() (core.Response, error) {
	versions := t.versions()
	r := core.Response{Status: http.StatusOK, Body: map[string]any{"versions": versions}}
	switch t.Call.Service {
	case core.ServiceIdentity, core.ServiceKeyManager:
		r.Status, r.Body = http.StatusMultipleChoices, map[string]any{"versions": map[string]any{"values": versions}}
	case core.ServiceImage:
		r.Status = http.StatusMultipleChoices
	}
	return r, nil
}

func (t *tx) showVersion() (core.Response, error) {
	switch t.Call.Service {
	case core.ServiceNetwork:
		return core.Response{Status: http.StatusOK, Body: map[string]any{"resources": []any{}}}, nil
	case core.ServiceLoadBalancer, core.ServiceImage:
		return core.Response{}, core.ErrNoResource()
	}
	versions := t.versions()
	return core.Response{Status: http.StatusOK, Body: map[string]any{"version": versions[len(versions)-1]}}, nil
}
