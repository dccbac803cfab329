package sim

import (
	"net/http"
	"strings"
)

// baseOf returns scheme and host of the URL of a request.
func baseOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// splitPath splits a path into the service and the rest.
func splitPath(path string) (service string, rest []string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return parts[0], parts[1:]
}
