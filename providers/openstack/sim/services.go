package sim

import (
	"net/http"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/barbican"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/keystone"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/octavia"
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

// tx is one operation on the state. It holds the cloud's lock.
type tx struct {
	*octavia.Tx
	keystone *keystone.Tx
	nova     *nova.Tx
	neutron  *neutron.Tx
	barbican *barbican.Tx
}
