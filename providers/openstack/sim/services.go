package sim

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Types of the services in the catalogue, by which the call log and the limits of the front call them.
// Each answers at the path that is its type, on one endpoint.
const (
	serviceIdentity     = "identity"
	serviceCompute      = "compute"
	serviceNetwork      = "network"
	serviceLoadBalancer = "load-balancer"
	serviceKeyManager   = "key-manager"
	// serviceImage is Glance, without any image: command lines query it when they list servers.
	serviceImage = "image"
)

func serviceTypes() []string {
	return []string{serviceIdentity, serviceCompute, serviceNetwork, serviceLoadBalancer, serviceKeyManager, serviceImage}
}

// serviceNames returns the names in the catalogue, by type.
func serviceNames() map[string]string {
	return map[string]string{
		serviceIdentity: "keystone", serviceCompute: "nova", serviceNetwork: "neutron",
		serviceLoadBalancer: "octavia", serviceKeyManager: "barbican", serviceImage: "glance",
	}
}

// versionOf returns the part of a service's paths that names its version.
func versionOf(service string) string {
	switch service {
	case serviceIdentity:
		return "v3"
	case serviceCompute:
		return "v2.1"
	case serviceKeyManager:
		return "v1"
	case serviceImage:
		return "v2"
	default:
		return "v2.0"
	}
}

// call is a parsed request with its operation.
type call struct {
	service string
	op      *operation
	params  map[string]string
	query   url.Values
	header  http.Header
	body    []byte
	// base is scheme and host at which the client reached the cloud, and path the path of the request.
	base, path string
	// micro is the minor part of Nova's microversion 2.x.
	micro int
	token *token
}

// project returns the project of the caller.
func (k *call) project() string {
	if k.token == nil {
		return ""
	}
	return k.token.project
}

// admin callers see and change the objects of all projects. So does the console.
func (k *call) admin() bool { return k.token == nil || k.token.admin }

// may reports whether the caller may read and change objects of a project.
func (k *call) may(project string) bool { return k.admin() || k.project() == project }

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

// endpoint returns a service's URL in the catalogue.
func (t *tx) endpoint(base, service string) string {
	root := base + "/" + service
	versioned := service == serviceCompute || service == serviceIdentity
	if t.o.VersionedCatalogue || versioned && !t.o.UnversionedCatalogue {
		return root + "/" + versionOf(service)
	}
	return root
}

// Nova's microversions are those of its release Zed.
const (
	minMicro = 1
	maxMicro = 93
)

// microOf reads the requested microversion, in the newer or the older header.
func microOf(h http.Header) (int, error) {
	text := h.Get("X-OpenStack-Nova-API-Version")
	for _, line := range h.Values("OpenStack-API-Version") {
		for one := range strings.SplitSeq(line, ",") {
			if service, version, ok := strings.Cut(strings.TrimSpace(one), " "); ok && service == serviceCompute {
				text = strings.TrimSpace(version)
			}
		}
	}
	switch text {
	case "":
		return minMicro, nil
	case "latest":
		return maxMicro, nil
	}
	major, minor, _ := strings.Cut(text, ".")
	n, err := strconv.Atoi(minor)
	if _, bad := strconv.Atoi(major); err != nil || bad != nil {
		return 0, refuse(http.StatusBadRequest, "badRequest",
			"API Version String %s is of invalid format. Must be of format MajorNum.MinorNum.", text)
	}
	if major != "2" || n < minMicro || n > maxMicro {
		return 0, refuse(http.StatusNotAcceptable, "computeFault",
			"Version %s is not supported by the API. Minimum is 2.%d and maximum is 2.%d.", text, minMicro, maxMicro)
	}
	return n, nil
}
