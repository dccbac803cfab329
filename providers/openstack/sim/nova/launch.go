package nova

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
)

// DefaultFlavor is the flavor of machines without one.
const DefaultFlavor = "m1.small"

// Launch starts a server in the cluster's project, with the name of the machine if it has one.
func (t *Tx) Launch(m world.Machine) (*Server, error) {
	if m.Name != "" && t.ByNodeName(m.Name) != nil {
		return nil, fmt.Errorf("machine %q exists", m.Name)
	}
	zone := cmp.Or(m.Zone, t.Options.Zones[t.launched%len(t.Options.Zones)])
	if !slices.Contains(t.Options.Zones, zone) {
		return nil, fmt.Errorf("availability zone %q is unknown: zones are %v", zone, t.Options.Zones)
	}
	flavor, err := t.FlavorNamed(cmp.Or(m.Type, DefaultFlavor))
	if err != nil {
		return nil, err
	}
	p, err := t.NewPort(t.Cluster.Project, "", t.Networks[t.Cluster.Network], nil)
	if err != nil {
		return nil, err
	}
	t.launched++
	s := &Server{
		Object: t.NewObject(t.NewID()), Name: cmp.Or(m.Name, fmt.Sprintf("%s-node-%d", t.Options.Cluster, t.launched)),
		Project: t.Cluster.Project, Status: statusBuild, Zone: zone, User: t.Cluster.User, Host: t.NewHex(),
		Flavor: flavor.ID, Metadata: map[string]string{}, PodCIDRs: slices.Clone(m.PodCIDRs),
		created: t.Now, updated: t.Now, ready: t.Now.Add(t.Options.BootTime),
	}
	p.DeviceID, p.DeviceOwner, p.Groups = s.ID, neutron.OwnerCompute+zone, []string{t.DefaultGroup(t.Cluster.Project).ID}
	t.Servers[s.ID] = s
	t.FinishBuilds()
	if !t.Options.PublicNodes {
		return s, nil
	}
	f, err := t.Allocate(s.Project, t.External(), "", "")
	if err != nil {
		return nil, err
	}
	t.Attach(f, p, "")
	return s, nil
}

// ByNodeName finds a server of the cluster's project by its name.
func (t *Tx) ByNodeName(name string) *Server {
	for _, s := range t.Servers {
		if s.Name == name && s.Project == t.Cluster.Project {
			return s
		}
	}
	return nil
}

// Machine returns the server of a node.
func (t *Tx) Machine(name string) (*Server, error) {
	if s := t.ByNodeName(name); s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("no machine is called %q", name)
}

// NodeNames returns the names of the cluster's servers by their addresses.
func (t *Tx) NodeNames() map[string]string {
	out := map[string]string{}
	for _, p := range t.Ports {
		if s := t.Servers[p.DeviceID]; s != nil && s.Project == t.Cluster.Project {
			for _, f := range p.FixedIPs {
				out[f.Address] = s.Name
			}
		}
	}
	return out
}
