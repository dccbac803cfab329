package octavia

import (
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// LBFlavor is one of Octavia's flavors.
type LBFlavor struct {
	core.Object
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	Profile     string `json:"flavor_profile_id"`
}

type lbZone struct {
	core.Object
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	Profile     string `json:"availability_zone_profile_id"`
}
