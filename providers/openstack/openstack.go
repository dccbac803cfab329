// Package openstack is the provider of OpenStack clouds: Nova servers as nodes, Octavia load
// balancers with Neutron floating IPs, and pod routes in a Neutron router. It finds and continues
// what earlier managers of clusters on OpenStack have made, by the names and tags of package names.
package openstack

import "github.com/unified-ccm/unified-ccm/providers/openstack/names"

// ProviderName is the registry key, the scheme of provider IDs and the metric label alike. It can
// never change.
const ProviderName = names.Scheme
