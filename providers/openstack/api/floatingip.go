package api

import (
	"encoding/json"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
)

// FloatingIP is an address of an external network that is attached to a port, or of which Neutron forwards single
// ports.
type FloatingIP struct {
	floatingIP
	// Forwards is set if it has port forwardings. Neutron attaches it to no port then.
	Forwards bool
}

// floatingIP has another name than the field of its address, which the name of an embedded type would hide.
type floatingIP = floatingips.FloatingIP

// UnmarshalJSON implements json.Unmarshaler.
func (f *FloatingIP) UnmarshalJSON(data []byte) error {
	var more struct {
		Forwardings []json.RawMessage `json:"port_forwardings"`
	}
	if err := json.Unmarshal(data, &more); err != nil {
		return err
	}
	f.Forwards = len(more.Forwardings) > 0
	return f.floatingIP.UnmarshalJSON(data)
}
