package client

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// computeMicroversion is the first in which a server contains the name of its flavor.
const computeMicroversion = "2.47"

// serviceForm describes a service in the catalog: its types, and the version that is added to an endpoint without one.
// Discovering the versions of each service would be a request at every start,
// which can fail, for an answer that has not changed in ten years.
type serviceForm struct {
	types   []string
	version string
	// keepPath keeps the path of a versioned endpoint.
	keepPath bool
}

func serviceForms() map[string]serviceForm {
	return map[string]serviceForm{
		api.Compute:       {[]string{"compute"}, "v2.1", true},
		api.Network:       {[]string{"network"}, "v2.0", false},
		api.LoadBalancing: {[]string{"load-balancer", "octavia"}, "v2.0", false},
		api.KeyManager:    {[]string{"key-manager", "keymanager"}, "v1", false},
	}
}

// checkService returns an error if the catalog lacks a service. It names the keys to check.
func (s *session) checkService(service string) error {
	if s.endpoint(serviceForms()[service].types) != "" {
		return nil
	}
	region := ""
	if s.region != "" {
		region = " in region " + s.region
	}
	return fmt.Errorf("the catalog has no %s endpoint of the service %s%s: check region and os-endpoint-type "+
		"in section [Global], or whether the cloud has this service", s.availability, service, region)
}

// service returns a client of the request's service at its endpoint in the catalog.
func (s *session) service(r cloudapi.Request) (*gophercloud.ServiceClient, error) {
	form, ok := serviceForms()[r.Service]
	if !ok {
		return nil, fmt.Errorf("%s: there is no service %q", r.Operation, r.Service)
	}
	if err := s.checkService(r.Service); err != nil {
		return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: r.Operation, Err: err}
	}
	root, base := splitEndpoint(s.endpoint(form.types), form)
	client := &gophercloud.ServiceClient{ProviderClient: s.provider, Endpoint: root, ResourceBase: base, Type: r.Service}
	if r.Service == api.Compute && !s.noMicroversion.Load() {
		client.Microversion = computeMicroversion
	}
	return client, nil
}

// endpoint returns the first endpoint in the catalog of one of the types, in our region and interface, or "".
func (s *session) endpoint(types []string) string {
	for _, entry := range s.catalog.Entries {
		if !slices.Contains(types, entry.Type) {
			continue
		}
		for _, e := range entry.Endpoints {
			inRegion := s.region == "" || e.Region == s.region || e.RegionID == s.region
			if inRegion && e.Interface == string(s.availability) {
				return e.URL
			}
		}
	}
	return ""
}

// versionInPath matches the version in an endpoint and the rest of its path.
var versionInPath = regexp.MustCompile(`/(v[0-9]+(\.[0-9]+)?)(/.*)?\z`)

// splitEndpoint returns the root of a service and the base of its resources, both with a trailing slash.
func splitEndpoint(endpoint string, form serviceForm) (root, base string) {
	endpoint = strings.TrimRight(endpoint, "/")
	match := versionInPath.FindStringIndex(endpoint)
	if match == nil {
		return endpoint + "/", endpoint + "/" + form.version + "/"
	}
	root = endpoint[:match[0]] + "/"
	if form.keepPath {
		return root, endpoint + "/"
	}
	return root, root + form.version + "/"
}

// disableMicroversion stops sending the microversion, and reports whether it was sent until now: only then a retry of
// the call can succeed.
func (s *session) disableMicroversion() bool { return s.noMicroversion.CompareAndSwap(false, true) }
