package ec2

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type associationView struct {
	Allocation  string `xml:"allocationId,omitempty"`
	Association string `xml:"associationId,omitempty"`
	IP          string `xml:"publicIp" filter:"public-ip"`
	Name        string `xml:"publicDnsName"`
	Owner       string `xml:"ipOwnerId"`
}

type privateIPView struct {
	IP          string           `xml:"privateIpAddress" filter:"private-ip-address"`
	Name        string           `xml:"privateDnsName,omitempty"`
	Primary     bool             `xml:"primary"`
	Association *associationView `xml:"association"`
}

type ipv6View struct {
	IP      string `xml:"ipv6Address" filter:"ipv6-address"`
	Primary bool   `xml:"isPrimaryIpv6"`
}

type prefixView struct {
	IPv6 string `xml:"ipv6Prefix"`
}

type attachmentView struct {
	ID       string `xml:"attachmentId" filter:"attachment-id"`
	Instance string `xml:"instanceId,omitempty" filter:"instance-id"`
	Owner    string `xml:"instanceOwnerId,omitempty"`
	Device   int    `xml:"deviceIndex" filter:"device-index"`
	Card     int    `xml:"networkCardIndex"`
	Status   string `xml:"status" filter:"status"`
	Time     string `xml:"attachTime"`
	Delete   bool   `xml:"deleteOnTermination"`
}

// instanceInterfaceView is a network interface as a part of an instance.
type instanceInterfaceView struct {
	ID          string                     `xml:"networkInterfaceId" filter:"network-interface-id"`
	Subnet      string                     `xml:"subnetId" filter:"subnet-id"`
	VPC         string                     `xml:"vpcId" filter:"vpc-id"`
	Description string                     `xml:"description" filter:"description"`
	Owner       string                     `xml:"ownerId" filter:"owner-id"`
	Status      string                     `xml:"status" filter:"status"`
	MAC         string                     `xml:"macAddress" filter:"mac-address"`
	IP          string                     `xml:"privateIpAddress" filter:"private-ip-address"`
	Name        string                     `xml:"privateDnsName,omitempty" filter:"private-dns-name"`
	Check       bool                       `xml:"sourceDestCheck" filter:"source-dest-check"`
	Groups      query.Items[groupRef]      `xml:"groupSet" filter:""`
	Attachment  *attachmentView            `xml:"attachment" filter:"attachment."`
	Association *associationView           `xml:"association" filter:"association."`
	Private     query.Items[privateIPView] `xml:"privateIpAddressesSet" filter:"addresses."`
	IPv6        query.Items[ipv6View]      `xml:"ipv6AddressesSet" filter:"ipv6-addresses."`
	Prefixes    *query.Items[prefixView]   `xml:"ipv6PrefixSet"`
	Type        string                     `xml:"interfaceType" filter:"interface-type"`
}

// interfaceView is a network interface on its own.
type interfaceView struct {
	instanceInterfaceView
	Zone      string           `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID    string           `xml:"availabilityZoneId"`
	Requester string           `xml:"requesterId,omitempty" filter:"requester-id"`
	Managed   bool             `xml:"requesterManaged" filter:"requester-managed"`
	Tags      query.Items[tag] `xml:"tagSet"`
}

func (t *Tx) viewAttached(n *NetworkInterface) instanceInterfaceView {
	v := instanceInterfaceView{
		ID: n.ID, Subnet: n.Subnet, VPC: n.VPC, Description: n.Description, Owner: t.Options.Account, Status: "in-use",
		MAC: n.MAC, IP: AddressText(n.PrimaryIP()), Name: t.PrivateName(n.PrimaryIP()), Check: n.checkTraffic,
		Groups: t.groupRefs(n.Groups), Association: t.viewAssociation(n), Type: n.Kind,
	}
	if n.attachment == "" {
		v.Status = "available"
	} else {
		v.Attachment = &attachmentView{
			ID: n.attachment, Instance: n.Instance, Owner: t.Options.Account, Device: n.Device, Status: "attached",
			Time: Timestamp(n.attached), Delete: true,
		}
		if n.Instance == "" {
			v.Attachment.Owner, v.Attachment.Device, v.Attachment.Delete = "amazon-aws", 1, false
		}
	}
	for i, ip := range n.Private {
		p := privateIPView{IP: ip.String(), Name: t.PrivateName(ip), Primary: i == 0}
		if p.Primary {
			p.Association = v.Association
		}
		v.Private.Item = append(v.Private.Item, p)
	}
	for i, ip := range n.IPv6 {
		v.IPv6.Item = append(v.IPv6.Item, ipv6View{IP: ip.String(), Primary: n.PrimaryIPv6 && i == 0})
	}
	for _, p := range n.Prefixes {
		if v.Prefixes == nil {
			v.Prefixes = &query.Items[prefixView]{}
		}
		v.Prefixes.Item = append(v.Prefixes.Item, prefixView{p.String()})
	}
	return v
}

func (t *Tx) viewInterface(n *NetworkInterface) interfaceView {
	return interfaceView{
		instanceInterfaceView: t.viewAttached(n), Zone: n.Zone, ZoneID: t.Options.ZoneID(n.Zone), Requester: n.Requester,
		Managed: n.Requester != "", Tags: t.tagSet(n.ID),
	}
}

// PrivateName returns the DNS name of a private address, empty for an invalid one.
func (t *Tx) PrivateName(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return "ip-" + dashed(ip) + "." + t.Options.InternalDomain()
}

// PrimaryIP returns the first private address, an invalid one if there is none.
func (n *NetworkInterface) PrimaryIP() netip.Addr {
	if len(n.Private) == 0 {
		return netip.Addr{}
	}
	return n.Private[0]
}

func (t *Tx) viewAssociation(n *NetworkInterface) *associationView {
	ip := t.PublicOf(n)
	if !ip.IsValid() {
		return nil
	}
	v := &associationView{IP: ip.String(), Name: t.PublicName(n), Owner: "amazon"}
	for _, a := range t.Addresses {
		if a.Iface == n.ID {
			v.Allocation, v.Association, v.Owner = a.ID, a.Association, t.Options.Account
		}
	}
	return v
}

// NewInterface creates a network interface with one IPv4 address in a subnet, and an IPv6 address if v6 is set.
func (t *Tx) NewInterface(s *Subnet, v6 bool) (*NetworkInterface, error) {
	ip, n, err := t.AllocateIP(s)
	if err != nil {
		return nil, err
	}
	v := &NetworkInterface{
		ID: t.NewID("eni"), Subnet: s.ID, VPC: s.VPC, Zone: s.Zone, attachment: t.NewID("eni-attach"), attached: t.Now,
		Kind: "interface", Private: []netip.Addr{ip}, checkTraffic: true,
		// The second bit marks an address that is administered locally.
		MAC: fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", n>>32&0xff, n>>24&0xff, ip.As4()[1], ip.As4()[2], ip.As4()[3]),
	}
	if v6 && s.CIDR6.IsValid() {
		host := s.CIDR6.Addr().As16()
		host[13], host[14], host[15] = byte(n>>16), byte(n>>8), byte(n)
		v.IPv6 = []netip.Addr{netip.AddrFrom16(host)}
	}
	t.Interfaces[v.ID] = v
	t.HideNew(v.ID)
	return v, nil
}

// AllocateIP allocates the addresses of a subnet in order, and after all were used once, those that are free again. It
// returns the number of the address too.
func (t *Tx) AllocateIP(s *Subnet) (netip.Addr, int, error) {
	size := 1<<(32-s.CIDR.Bits()) - reservedAddresses
	used := map[netip.Addr]bool{}
	if t.allocated[s.ID] >= size {
		for _, n := range t.Interfaces {
			for _, ip := range n.Private {
				used[ip] = true
			}
		}
	}
	for range size {
		n := t.allocated[s.ID]
		t.allocated[s.ID]++
		if ip := hostOf(s.CIDR, n%size+reservedAddresses-1); !used[ip] {
			return ip, n + reservedAddresses - 1, nil
		}
	}
	return netip.Addr{}, 0, errSubnetFull(s)
}

func errSubnetFull(s *Subnet) error {
	return core.Refuse("InsufficientFreeAddressesInSubnet",
		"There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", s.ID)
}

// hostOf returns the nth address of an IPv4 network.
func hostOf(p netip.Prefix, n int) netip.Addr {
	b := p.Addr().As4()
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	v += uint32(n)
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

// InterfaceOf returns the network interface of an instance, by its ID or by any of its addresses.
func (t *Tx) InterfaceOf(id string) *NetworkInterface {
	if i := t.Instances[id]; i != nil {
		return t.Primary(i)
	}
	ip, err := netip.ParseAddr(id)
	if err != nil {
		return nil
	}
	if t.byAddress == nil {
		t.byAddress = map[netip.Addr]*NetworkInterface{}
		for _, n := range t.Interfaces {
			for _, address := range slices.Concat(n.Private, n.IPv6) {
				t.byAddress[address] = n
			}
		}
	}
	return t.byAddress[ip]
}

// NodeOf returns the node with an instance's ID or one of its addresses; it returns other addresses
// unchanged.
func (t *Tx) NodeOf(id string) string {
	if i := t.Instances[id]; i != nil {
		return i.NodeName
	}
	if n := t.InterfaceOf(id); n != nil && t.Instances[n.Instance] != nil {
		return t.Instances[n.Instance].NodeName
	}
	return id
}

// GroupNames returns the names of the security groups of an interface.
func (t *Tx) GroupNames(n *NetworkInterface) []string {
	var out []string
	for _, g := range t.groupRefs(n.Groups).Item {
		out = append(out, g.Name)
	}
	return out
}
