package core

import (
	"net/http"
	"net/url"
)

// Types of the services in the catalog, which the call log and the limits of the front use as names. Each
// service responds under the path of its type, on one endpoint.
const (
	ServiceIdentity     = "identity"
	ServiceCompute      = "compute"
	ServiceNetwork      = "network"
	ServiceLoadBalancer = "load-balancer"
	ServiceKeyManager   = "key-manager"
	// ServiceImage is Glance, without any image: command-line clients query it when they list servers.
	ServiceImage = "image"
)

// ServiceTypes returns the types of all services.
func ServiceTypes() []string {
	return []string{ServiceIdentity, ServiceCompute, ServiceNetwork, ServiceLoadBalancer, ServiceKeyManager, ServiceImage}
}

// VersionOf returns the version of a service in its paths.
func VersionOf(service string) string {
	switch service {
	case ServiceIdentity:
		return "v3"
	case ServiceCompute:
		return "v2.1"
	case ServiceKeyManager:
		return "v1"
	case ServiceImage:
		return "v2"
	default:
		return "v2.0"
	}
}

// Call is a parsed request with its operation.
type Call struct {
	Service string
	Method  string
	// Params are the variable parts of the path by name.
	Params map[string]string
	Query  url.Values
	Header http.Header
	Body   []byte
	// Base has the scheme and the host of the client's URL.
	Base, Path string
	// Micro is the minor part of Nova's microversion 2.x.
	Micro int
	// Caller is nil for the console.
	Caller    *Caller
	Operation string
}

// Caller is the authenticated caller.
type Caller struct {
	User, Project string
	Admin         bool
}

// Project returns the project of the caller.
func (k *Call) Project() string {
	if k.Caller == nil {
		return ""
	}
	return k.Caller.Project
}

// Admin reports whether the caller may read and change the objects of all projects, as administrators and the console
// may.
func (k *Call) Admin() bool { return k.Caller == nil || k.Caller.Admin }

// May reports whether the caller may read and change objects of a project.
func (k *Call) May(project string) bool { return k.Admin() || k.Project() == project }
