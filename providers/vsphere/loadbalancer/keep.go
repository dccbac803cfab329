package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// keep returns the desired objects with the existing values of some differences.
func keep(want Desired, have Observed, differences []plan.Difference) Desired {
	want.KeptPorts = slices.Clone(want.KeptPorts)
	want.Ports = keepMonitors(want.Ports, have, differences)
	for _, d := range differences {
		switch {
		case d.Field == fieldAddress:
			keepAddress(&want, have)
		case d.Field == fieldProfile:
			keepProfile(&want, have, d.Object)
		case d.Kind == kindGroup || d.Field == fieldAccess:
			keepRanges(&want, have, d.Object)
		case d.Kind == kindServer && d.Field == "":
			want.KeptPorts = append(want.KeptPorts, d.Object)
		}
	}
	return want
}

// keepMonitors returns the ports with the existing values of their monitors.
func keepMonitors(ports []Port, have Observed, differences []plan.Difference) []Port {
	ports = slices.Clone(ports)
	for i, port := range ports {
		if port.Monitor == nil {
			continue
		}
		want := *port.Monitor
		want.Tags = setTags(nil, map[string]string{names.TagPort: port.Name}) // its key has the port
		kept := rows.Keep(&monitorKind.Kind, []api.LBMonitor{want}, have.Monitors, differences)[0]
		kept.Tags = port.Monitor.Tags
		ports[i].Monitor = &kept
	}
	return ports
}

// keepAddress keeps the address of the virtual servers, with the pool and the class that it is from.
func keepAddress(want *Desired, have Observed) {
	if len(have.Servers) == 0 {
		return
	}
	server := have.Servers[0]
	if class := server.Tag(names.TagClass); class != "" {
		want.Class = class
	}
	for _, a := range have.Allocations {
		if a.Address == server.IPAddress {
			want.Pool, want.IP = a.Pool, a.Address
			return
		}
	}
	want.KeptAddress = server.IPAddress
	if pool := server.Tag(names.TagPool); pool != "" {
		want.Pool = pool
	}
}

// keepProfile keeps the application profile of a port.
func keepProfile(want *Desired, have Observed, port string) {
	for _, server := range have.Servers {
		if server.Tag(names.TagPort) == port {
			want.Ports = withPort(want.Ports, port, func(p Port) Port { p.Profile = server.ApplicationProfilePath; return p })
			return
		}
	}
}

// keepRanges keeps the ranges of clients that may connect to a port: all, if its virtual server has no group of ours.
func keepRanges(want *Desired, have Observed, port string) {
	var ranges []string
	for _, server := range have.Servers {
		if server.Tag(names.TagPort) != port || server.AccessListControl == nil {
			continue
		}
		i := slices.IndexFunc(have.Groups, func(g api.Group) bool { return g.Path == server.AccessListControl.GroupPath })
		if i < 0 {
			continue
		}
		for _, expression := range have.Groups[i].Expression {
			ranges = append(ranges, expression.IPAddresses...)
		}
	}
	want.Ports = withPort(want.Ports, port, func(p Port) Port { p.Ranges = ranges; return p })
}

// withPort returns the ports with another one of a name.
func withPort(ports []Port, name string, change func(Port) Port) []Port {
	ports = slices.Clone(ports)
	for i, port := range ports {
		if port.Name == name {
			ports[i] = change(port)
		}
	}
	return ports
}
