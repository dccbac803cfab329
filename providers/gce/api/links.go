package api

import (
	"slices"
	"strings"
)

// Requests and responses name objects by URLs, of several hosts and lengths. What counts is the part behind the
// project.

// Last returns the last part of a URL, which is the name of the object.
func Last(link string) string { return link[strings.LastIndex(link, "/")+1:] }

// ZoneOf returns the zone in the URL of an object; "" without one.
func ZoneOf(link string) string { return after(link, "zones") }

// after returns the part of a URL behind the last one with a name.
func after(link, name string) string {
	parts := strings.Split(link, "/")
	for i, part := range slices.Backward(parts[:max(0, len(parts)-1)]) {
		if part == name {
			return parts[i+1]
		}
	}
	return ""
}

// Path returns the part of a URL behind the project: regions/r/targetPools/p. A name alone stays.
func Path(link string) string {
	if _, path, ok := strings.Cut(link, "projects/"); ok {
		_, path, _ = strings.Cut(path, "/")
		return path
	}
	return strings.TrimPrefix(link, "/")
}

// ProjectOf returns the project in a URL; "" without one.
func ProjectOf(link string) string {
	_, path, ok := strings.Cut(link, "projects/")
	if !ok {
		return ""
	}
	project, _, _ := strings.Cut(path, "/")
	return project
}

// SameLink reports whether two URLs name the same object. Those without a project are of the same one.
func SameLink(a, b string) bool {
	if a == b {
		return true
	}
	p, q := ProjectOf(a), ProjectOf(b)
	return Path(a) == Path(b) && (p == "" || q == "" || p == q)
}

// InstanceID returns the zone and name in the URL of an instance, as ZONE/NAME.
func InstanceID(link string) string { return ZoneOf(link) + "/" + Last(link) }

// ZonalInstance returns the short URL of an instance, from its ZONE/NAME.
func ZonalInstance(id string) string {
	zone, name, _ := strings.Cut(id, "/")
	return "/zones/" + zone + "/instances/" + name
}
