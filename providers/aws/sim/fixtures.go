package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// The tags by which a cluster's objects are known, and the roles of its subnets.
const (
	tagClusterPrefix = "kubernetes.io/cluster/"
	tagPublicRole    = "kubernetes.io/role/elb"
	tagInternalRole  = "kubernetes.io/role/internal-elb"
	tagName          = "Name"
)

// createFixtures builds the VPC: in each zone a public and a private subnet, a public route table, the
// main one, which is the cluster's, and the security group of the nodes.
func (t *tx) createFixtures() error {
	cluster := tagClusterPrefix + t.o.Cluster
	v := &vpc{id: t.newID("vpc"), cidr: t.o.VPC, cidr6: t.o.VPC6, dhcp: t.newID("dopt"), gatewayID: t.newID("igw"),
		natGateway: t.newID("nat")}
	t.vpcs[v.id] = v
	t.setTags(v.id, map[string]string{tagName: t.o.Cluster, cluster: "shared"})
	public, private := t.newTable(v, false), t.newTable(v, true)
	public.routes = append(public.routes,
		&route{destination: netip.MustParsePrefix("0.0.0.0/0"), gateway: v.gatewayID, origin: "CreateRoute"},
		&route{destination: netip.MustParsePrefix("::/0"), gateway: v.gatewayID, origin: "CreateRoute"})
	private.routes = append(private.routes,
		&route{destination: netip.MustParsePrefix("0.0.0.0/0"), nat: v.natGateway, origin: "CreateRoute"})
	t.setTags(public.id, map[string]string{tagName: t.o.Cluster + "-public"})
	t.setTags(private.id, map[string]string{tagName: t.o.Cluster + "-private", cluster: "owned"})
	for n, zone := range t.o.Zones {
		p := t.newSubnet(v, zone, netip.PrefixFrom(hostOf(v.cidr, n<<12), 20), n)
		p.mapPublic = true
		public.subnets = append(public.subnets, p.id)
		t.setTags(p.id, map[string]string{tagName: t.o.Cluster + "-public-" + zone, cluster: "shared", tagPublicRole: "1"})
		i := t.newSubnet(v, zone, netip.PrefixFrom(hostOf(v.cidr, (n+1)<<14), 18), n+len(t.o.Zones))
		private.subnets = append(private.subnets, i.id)
		t.setTags(i.id, map[string]string{tagName: t.o.Cluster + "-private-" + zone, cluster: "shared", tagInternalRole: "1"})
	}
	standard := t.newGroup(v, "default", "default VPC security group")
	standard.ingress = []*rule{{id: t.newID("sgr"), protocol: allProtocols, from: -1, to: -1, group: standard.id}}
	nodes := t.newGroup(v, "nodes."+t.o.Cluster, "Security group for nodes")
	nodes.ingress = []*rule{{id: t.newID("sgr"), protocol: allProtocols, from: -1, to: -1, group: nodes.id}}
	t.setTags(nodes.id, map[string]string{tagName: nodes.name, cluster: "owned"})
	return nil
}

func (t *tx) newTable(v *vpc, main bool) *routeTable {
	r := &routeTable{id: t.newID("rtb"), vpc: v.id, main: main, routes: []*route{
		{destination: v.cidr, gateway: "local", origin: "CreateRouteTable"},
		{destination: v.cidr6, gateway: "local", origin: "CreateRouteTable"},
	}}
	t.tables[r.id] = r
	return r
}

// newSubnet makes a subnet; its IPv6 network is the nth of the VPC's.
func (t *tx) newSubnet(v *vpc, zone string, p netip.Prefix, n int) *subnet {
	six := v.cidr6.Addr().As16()
	six[7] |= byte(n)
	s := &subnet{id: t.newID("subnet"), vpc: v.id, zone: zone, cidr: p, cidr6: netip.PrefixFrom(netip.AddrFrom16(six), 64),
		assign6: t.o.IPv6}
	t.subnets[s.id] = s
	return s
}

func (t *tx) newGroup(v *vpc, name, description string) *securityGroup {
	g := &securityGroup{id: t.newID("sg"), name: name, description: description, vpc: v.id}
	g.egress = []*rule{{id: t.newID("sgr"), protocol: allProtocols, from: -1, to: -1, cidr4: "0.0.0.0/0"}}
	t.groups[g.id] = g
	return g
}

// nodeGroup returns the security group of the nodes.
func (t *tx) nodeGroup() (*securityGroup, error) {
	for _, g := range t.groups {
		if g.name == "nodes."+t.o.Cluster {
			return g, nil
		}
	}
	return nil, fmt.Errorf("the security group of the nodes was deleted")
}

// subnetFor returns the subnet in which instances of a zone are launched.
func (t *tx) subnetFor(zone string) (*subnet, error) {
	for _, id := range sortedIDs(t.subnets) {
		if s := t.subnets[id]; s.zone == zone && s.mapPublic == t.o.PublicNodes {
			return s, nil
		}
	}
	return nil, fmt.Errorf("zone %q has no subnet for instances: zones are %v", zone, t.o.Zones)
}

// Defaults of machines.
const (
	defaultType  = "m5.large"
	defaultImage = "ami-0123456789abcdef0"
)

// launch starts the instance of a node. The name of a machine, if set, is its private DNS name,
// because that is how a node finds its instance.
func (t *tx) launch(m world.Machine) (*instance, error) {
	if m.Name != "" && t.byNodeName(m.Name) != nil {
		return nil, fmt.Errorf("machine %q exists", m.Name)
	}
	s, err := t.subnetFor(cmp.Or(m.Zone, t.o.Zones[t.made%len(t.o.Zones)]))
	if err != nil {
		return nil, err
	}
	g, err := t.nodeGroup()
	if err != nil {
		return nil, err
	}
	i, err := t.boot(s, bootOptions{name: m.Name, kind: m.Type, groups: []string{g.id}, public: t.o.PublicNodes})
	if err != nil {
		return nil, err
	}
	i.podCIDRs = slices.Clone(m.PodCIDRs)
	t.setTags(i.id, map[string]string{tagName: i.nodeName, tagClusterPrefix + t.o.Cluster: "owned"})
	return i, nil
}

// bootOptions say what instance to start. Empty fields have defaults.
type bootOptions struct {
	// name is the private DNS name and thereby the node's; the one of its address by default.
	name, kind, image, reservation string
	groups                         []string
	// public gives it a public IPv4 address.
	public bool
	// primaryIPv6 makes its IPv6 address the primary one.
	primaryIPv6 bool
}

// boot starts an instance in a subnet.
func (t *tx) boot(s *subnet, o bootOptions) (*instance, error) {
	n, err := t.newInterface(s, s.assign6)
	if err != nil {
		return nil, err
	}
	i := &instance{
		id: t.newID("i"), reservation: cmp.Or(o.reservation, t.newID("r")), image: cmp.Or(o.image, defaultImage),
		kind:  cmp.Or(o.kind, defaultType),
		order: t.made, subnet: s.id, vpc: s.vpc, zone: s.zone, dnsName: cmp.Or(o.name, t.privateName(n.primaryIP())),
		enis:  []string{n.id},
		state: stateRunning, launched: t.now, checkTraffic: true, profile: "nodes." + t.o.Cluster,
	}
	i.nodeName = i.dnsName
	n.instance, n.groups, n.primaryIPv6 = i.id, slices.Clone(o.groups), len(n.ipv6) > 0 &&
		(t.o.PrimaryIPv6 || o.primaryIPv6)
	if o.public {
		n.publicIP = t.publicAddress()
	}
	t.made++
	t.instances[i.id] = i
	return i, nil
}

// byNodeName finds a machine that was not terminated.
func (t *tx) byNodeName(name string) *instance {
	for _, i := range t.instances {
		if i.nodeName == name && i.state != stateTerminated {
			return i
		}
	}
	return nil
}

func (t *tx) machine(name string) (*instance, error) {
	if i := t.byNodeName(name); i != nil {
		return i, nil
	}
	return nil, fmt.Errorf("no machine is called %q", name)
}
