package ec2

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// The tags of a cluster's objects, and the roles of its subnets.
const (
	TagClusterPrefix = "kubernetes.io/cluster/"
	TagPublicRole    = "kubernetes.io/role/elb"
	TagInternalRole  = "kubernetes.io/role/internal-elb"
	tagName          = "Name"
)

// CreateFixtures builds the VPC: in each zone a public and a private subnet, a public route table, the
// cluster's main route table, and the security group of the nodes.
func (t *Tx) CreateFixtures() {
	cluster := TagClusterPrefix + t.Options.Cluster
	v := &VPC{ID: t.NewID("vpc"), CIDR: t.Options.VPC, CIDR6: t.Options.VPC6, dhcp: t.NewID("dopt"),
		GatewayID: t.NewID("igw"), natGateway: t.NewID("nat")}
	t.VPCs[v.ID] = v
	t.SetTags(v.ID, map[string]string{tagName: t.Options.Cluster, cluster: "shared"})
	public, private := t.newTable(v, false), t.newTable(v, true)
	public.Routes = append(public.Routes,
		&Route{Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: v.GatewayID, Origin: "CreateRoute"},
		&Route{Destination: netip.MustParsePrefix("::/0"), Gateway: v.GatewayID, Origin: "CreateRoute"})
	private.Routes = append(private.Routes,
		&Route{Destination: netip.MustParsePrefix("0.0.0.0/0"), nat: v.natGateway, Origin: "CreateRoute"})
	t.SetTags(public.id, map[string]string{tagName: t.Options.Cluster + "-public"})
	t.SetTags(private.id, map[string]string{tagName: t.Options.Cluster + "-private", cluster: "owned"})
	for n, zone := range t.Options.Zones {
		p := t.NewSubnet(v, zone, netip.PrefixFrom(hostOf(v.CIDR, n<<12), 20), n)
		p.MapPublic = true
		public.Subnets = append(public.Subnets, p.ID)
		t.SetTags(p.ID, map[string]string{tagName: t.Options.Cluster + "-public-" + zone, cluster: "shared",
			TagPublicRole: "1"})
		i := t.NewSubnet(v, zone, netip.PrefixFrom(hostOf(v.CIDR, (n+1)<<14), 18), n+len(t.Options.Zones))
		private.Subnets = append(private.Subnets, i.ID)
		t.SetTags(i.ID, map[string]string{tagName: t.Options.Cluster + "-private-" + zone, cluster: "shared",
			TagInternalRole: "1"})
	}
	defaultGroup := t.NewGroup(v.ID, "default", "default VPC security group")
	defaultGroup.Ingress = []*Rule{t.allTraffic(Rule{Group: defaultGroup.ID})}
	nodes := t.NewGroup(v.ID, "nodes."+t.Options.Cluster, "Security group for nodes")
	nodes.Ingress = []*Rule{t.allTraffic(Rule{Group: nodes.ID})}
	t.SetTags(nodes.ID, map[string]string{tagName: nodes.Name, cluster: "owned"})
}

func (t *Tx) newTable(v *VPC, main bool) *RouteTable {
	r := &RouteTable{id: t.NewID("rtb"), VPC: v.ID, Main: main, Routes: []*Route{
		{Destination: v.CIDR, Gateway: "local", Origin: "CreateRouteTable"},
		{Destination: v.CIDR6, Gateway: "local", Origin: "CreateRouteTable"},
	}}
	t.Tables[r.id] = r
	return r
}

// NewSubnet creates a subnet; its IPv6 network is the nth of the VPC's.
func (t *Tx) NewSubnet(v *VPC, zone string, p netip.Prefix, n int) *Subnet {
	six := v.CIDR6.Addr().As16()
	six[7] |= byte(n)
	s := &Subnet{ID: t.NewID("subnet"), VPC: v.ID, Zone: zone, CIDR: p, CIDR6: netip.PrefixFrom(netip.AddrFrom16(six), 64),
		assign6: t.Options.IPv6}
	t.Subnets[s.ID] = s
	return s
}

// NewGroup creates a security group that allows all egress.
func (t *Tx) NewGroup(vpc, name, description string) *SecurityGroup {
	g := &SecurityGroup{ID: t.NewID("sg"), Name: name, description: description, VPC: vpc}
	g.Egress = []*Rule{t.allTraffic(Rule{CIDR4: "0.0.0.0/0"})}
	t.Groups[g.ID] = g
	return g
}

// allTraffic returns a new rule for all traffic with the peer of r.
func (t *Tx) allTraffic(r Rule) *Rule {
	r.id, r.protocol, r.from, r.to = t.NewID("sgr"), allProtocols, -1, -1
	return &r
}

// NodeGroup returns the security group of the nodes.
func (t *Tx) NodeGroup() (*SecurityGroup, error) {
	for _, g := range t.Groups {
		if g.Name == "nodes."+t.Options.Cluster {
			return g, nil
		}
	}
	return nil, fmt.Errorf("the security group of the nodes was deleted")
}

// SubnetFor returns the subnet in which instances of a zone are launched.
func (t *Tx) SubnetFor(zone string) (*Subnet, error) {
	for _, id := range core.SortedIDs(t.Subnets) {
		if s := t.Subnets[id]; s.Zone == zone && s.MapPublic == t.Options.PublicNodes {
			return s, nil
		}
	}
	return nil, fmt.Errorf("zone %q has no subnet for instances: zones are %v", zone, t.Options.Zones)
}

// Defaults of machines.
const (
	defaultType  = "m5.large"
	defaultImage = "ami-0123456789abcdef0"
)

// Launch starts the instance of a node. The name of a machine, if set, is its private DNS name, which
// identifies the instance of a node.
func (t *Tx) Launch(m world.Machine) (*Instance, error) {
	if m.Name != "" && t.ByNodeName(m.Name) != nil {
		return nil, fmt.Errorf("machine %q exists", m.Name)
	}
	s, err := t.SubnetFor(cmp.Or(m.Zone, t.Options.Zones[t.launched%len(t.Options.Zones)]))
	if err != nil {
		return nil, err
	}
	g, err := t.NodeGroup()
	if err != nil {
		return nil, err
	}
	i, err := t.boot(s, bootOptions{name: m.Name, kind: m.Type, groups: []string{g.ID}, public: t.Options.PublicNodes})
	if err != nil {
		return nil, err
	}
	i.PodCIDRs = slices.Clone(m.PodCIDRs)
	t.SetTags(i.ID, map[string]string{tagName: i.NodeName, TagClusterPrefix + t.Options.Cluster: "owned"})
	return i, nil
}

// bootOptions configure an instance. Empty fields have defaults.
type bootOptions struct {
	// name is the private DNS name and thereby the node's; the default derives from its address.
	name, kind, image, reservation string
	groups                         []string
	// public gives it a public IPv4 address.
	public bool
	// primaryIPv6 makes its IPv6 address the primary one.
	primaryIPv6 bool
}

// boot starts an instance in a subnet.
func (t *Tx) boot(s *Subnet, o bootOptions) (*Instance, error) {
	n, err := t.NewInterface(s, s.assign6)
	if err != nil {
		return nil, err
	}
	i := &Instance{
		ID: t.NewID("i"), Reservation: cmp.Or(o.reservation, t.NewID("r")), Image: cmp.Or(o.image, defaultImage),
		Kind: cmp.Or(o.kind, defaultType), Order: t.launched, Subnet: s.ID, VPC: s.VPC, Zone: s.Zone,
		DNSName: cmp.Or(o.name, t.PrivateName(n.PrimaryIP())), ENIs: []string{n.ID}, State: StateRunning,
		Launched: t.Now, checkTraffic: true, Profile: "nodes." + t.Options.Cluster,
	}
	i.NodeName = i.DNSName
	n.Instance, n.Groups = i.ID, slices.Clone(o.groups)
	n.PrimaryIPv6 = len(n.IPv6) > 0 && (t.Options.PrimaryIPv6 || o.primaryIPv6)
	if o.public {
		n.publicIP = t.publicAddress()
	}
	t.launched++
	t.Instances[i.ID] = i
	return i, nil
}

// ByNodeName finds a machine that is not terminated.
func (t *Tx) ByNodeName(name string) *Instance {
	for _, i := range t.Instances {
		if i.NodeName == name && i.State != StateTerminated {
			return i
		}
	}
	return nil
}

// Machine returns the instance of a node.
func (t *Tx) Machine(name string) (*Instance, error) {
	if i := t.ByNodeName(name); i != nil {
		return i, nil
	}
	return nil, fmt.Errorf("no machine is called %q", name)
}
