package sim

import (
	"net/http"
	"strings"
)

// baseOf returns where a client reached the cloud.
func baseOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// serviceOf splits a path into the service and the rest.
func serviceOf(path string) (service string, rest []string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return parts[0], parts[1:]
}
