package core

import (
	"regexp"
	"strings"
)

// Canonical is the prefix of all URLs in responses, whatever endpoint a client uses.
const Canonical = "https://www.googleapis.com/compute/v1/"

// ScopeGlobal is the scope of global resources. Those of regions and zones are regions/NAME and zones/NAME.
const ScopeGlobal = "global"

// Ref identifies a resource. Projects, regions and zones have no scope; a project has no collection either.
type Ref struct{ Project, Scope, Collection, Name string }

// String returns the path of a resource below the version: projects/p/regions/r/addresses/a.
func (r Ref) String() string {
	parts := []string{"projects", r.Project}
	for _, p := range []string{r.Scope, r.Collection, r.Name} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

// URL returns the canonical URL of a resource.
func (r Ref) URL() string { return Canonical + r.String() }

// Zone returns the name of the zone, "" for other scopes.
func (r Ref) Zone() string { return partOf(r.Scope, "zones/") }

// Region returns the name of the region, also for a zone, "" for global resources.
func (r Ref) Region() string {
	if zone := r.Zone(); zone != "" {
		return RegionOf(zone)
	}
	return partOf(r.Scope, "regions/")
}

// RegionOf returns the region of a zone.
func RegionOf(zone string) string {
	if i := strings.LastIndexByte(zone, '-'); i > 0 {
		return zone[:i]
	}
	return zone
}

func partOf(scope, prefix string) string {
	if name, ok := strings.CutPrefix(scope, prefix); ok {
		return name
	}
	return ""
}

// ParseURL parses a canonical URL, which this cloud has made.
func ParseURL(url string) Ref {
	r, _ := parsePath(strings.TrimPrefix(url, Canonical), "")
	return r
}

// parsePath parses a path that begins with a project, or with a scope in the given project.
func parsePath(path, project string) (Ref, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) > 2 && parts[0] == "projects" {
		project, parts = parts[1], parts[2:]
	}
	switch {
	case len(parts) == 3 && parts[0] == ScopeGlobal:
		return Ref{project, ScopeGlobal, parts[1], parts[2]}, parts[2] != ""
	case len(parts) == 4 && (parts[0] == "regions" || parts[0] == "zones"):
		return Ref{project, parts[0] + "/" + parts[1], parts[2], parts[3]}, parts[3] != ""
	case len(parts) == 2 && (parts[0] == "regions" || parts[0] == "zones"):
		return Ref{project, "", parts[0], parts[1]}, parts[1] != ""
	}
	return Ref{}, false
}

// beforeProjects is the part of a full URL before the path. The host may differ from the canonical one.
var beforeProjects = regexp.MustCompile(`^https?://[^/]+/(?:compute/[a-z0-9]+/)?(projects/.+)$`)

const namePattern = `[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?`

var validName = regexp.MustCompile(`^` + namePattern + `$`)
