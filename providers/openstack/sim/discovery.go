package sim

import (
	"fmt"
	"net/http"
)

// discovery finds the version document of a path: the root of a service, or one version of it.
func discovery(service string, rest []string) *operation {
	if len(rest) > 1 || !contains(serviceTypes(), service) {
		return nil
	}
	o := &operation{service: service, name: "ListVersions", open: true, do: (*tx).listVersions}
	if len(rest) == 1 {
		if !contains(versionsOf(service), rest[0]) {
			return nil
		}
		o.name, o.do = "ShowVersion", (*tx).showVersion
		// Neutron's version document, unlike the others, is behind authentication; Octavia has none.
		o.open = service != serviceNetwork
	}
	return o
}

type versionLink struct {
	HRef string `json:"href"`
	Rel  string `json:"rel"`
}

func (t *tx) versionView(id, status, path string, more map[string]any) map[string]any {
	out := map[string]any{"id": id, "status": status,
		"links": []versionLink{{HRef: t.call.base + "/" + t.call.service + "/" + path, Rel: "self"}}}
	for k, v := range more {
		out[k] = v
	}
	return out
}

func (t *tx) versions() []any {
	switch t.call.service {
	case serviceIdentity:
		return []any{t.versionView("v3.14", "stable", "v3/", map[string]any{
			"updated": "2020-04-07T00:00:00Z",
			"media-types": []any{map[string]any{"base": "application/json",
				"type": "application/vnd.openstack.identity-v3+json"}},
		})}
	case serviceCompute:
		return []any{
			t.versionView("v2.0", "SUPPORTED", "v2/",
				map[string]any{"version": "", "min_version": "", "updated": "2011-01-21T11:33:21Z"}),
			t.versionView("v2.1", "CURRENT", "v2.1/", map[string]any{
				"version": fmt.Sprintf("2.%d", maxMicro), "min_version": "2.1", "updated": "2013-07-23T11:33:21Z"}),
		}
	case serviceNetwork:
		return []any{t.versionView("v2.0", "CURRENT", "v2.0/", nil)}
	case serviceImage:
		return []any{t.versionView("v2.15", "CURRENT", "v2/", nil)}
	case serviceKeyManager:
		return []any{t.versionView("v1", "stable", "v1/", map[string]any{
			"updated": "2015-04-28T00:00:00Z",
			"media-types": []any{map[string]any{"base": "application/json",
				"type": "application/vnd.openstack.key-manager-v1+json"}},
		})}
	}
	var out []any
	for minor := range t.o.octavia() + 1 {
		status := "SUPPORTED"
		if minor == t.o.octavia() {
			status = "CURRENT"
		}
		out = append(out, t.versionView(fmt.Sprintf("v2.%d", minor), status, "v2",
			map[string]any{"updated": "2016-12-11T00:00:00Z"}))
	}
	return out
}

// listVersions answers at the root of a service. Keystone, Nova's newest code aside, and Barbican say 300.
func (t *tx) listVersions() (answer, error) {
	versions := t.versions()
	switch t.call.service {
	case serviceIdentity, serviceKeyManager:
		return answer{status: http.StatusMultipleChoices,
			body: map[string]any{"versions": map[string]any{"values": versions}}}, nil
	}
	status := http.StatusOK
	if t.call.service == serviceImage {
		status = http.StatusMultipleChoices
	}
	return answer{status: status, body: map[string]any{"versions": versions}}, nil
}

func (t *tx) showVersion() (answer, error) {
	versions := t.versions()
	one := versions[len(versions)-1]
	switch t.call.service {
	case serviceNetwork:
		return answer{status: http.StatusOK, body: map[string]any{"resources": []any{}}}, nil
	case serviceLoadBalancer, serviceImage:
		return answer{}, errNoResource()
	}
	return answer{status: http.StatusOK, body: map[string]any{"version": one}}, nil
}
