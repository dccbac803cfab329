package apply

import "github.com/unified-ccm/unified-ccm/providers/openstack/api"

// API has the calls to OpenStack for changes.
type API interface {
	api.LoadBalancingAPI
	api.NetworkAPI
	api.KeyManagerAPI
}
