package sim

import "fmt"

// CloudConfig returns the gce.conf of a manager for this cloud, reached at endpoint, a URL.
func (c *Cloud) CloudConfig(endpoint string) string {
	o, p := c.options, c.Places()
	out := fmt.Sprintf(`[global]
project-id = %s
local-zone = %s
multizone = true
network-name = %s
subnetwork-name = %s
api-endpoint = %s/compute/v1/
`, o.Project, o.Zones[0], p.Network, p.Subnetwork, endpoint)
	if o.NetworkProject != o.Project {
		out += "network-project-id = " + o.NetworkProject + "\n"
	}
	for _, tag := range o.Tags {
		out += "node-tags = " + tag + "\n"
	}
	return out
}
