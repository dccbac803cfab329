package sim

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

var interfaceKind = idKind{"eni", "InvalidNetworkInterfaceID", "networkInterface ID"}

func interfaceOperations() []operation {
	return []operation{
		read("DescribeNetworkInterfaces", (*tx).describeInterfaces),
		write("AssignIpv6Addresses", (*tx).assignIPv6),
		write("ModifyNetworkInterfaceAttribute", (*tx).modifyInterface),
		write("UnassignIpv6Addresses", (*tx).unassignIPv6),
	}
}

type associationView struct {
	Allocation  string `xml:"allocationId,omitempty"`
	Association string `xml:"associationId,omitempty"`
	IP          string `xml:"publicIp"`
	Name        string `xml:"publicDnsName"`
	Owner       string `xml:"ipOwnerId"`
}

type privateIPView struct {
	IP          string           `xml:"privateIpAddress"`
	Name        string           `xml:"privateDnsName,omitempty"`
	Primary     bool             `xml:"primary"`
	Association *associationView `xml:"association"`
}

type ipv6View struct {
	IP      string `xml:"ipv6Address"`
	Primary bool   `xml:"isPrimaryIpv6"`
}

type prefixView struct {
	IPv6 string `xml:"ipv6Prefix"`
}

type attachmentView struct {
	ID       string `xml:"attachmentId"`
	Instance string `xml:"instanceId,omitempty"`
	Owner    string `xml:"instanceOwnerId,omitempty"`
	Device   int    `xml:"deviceIndex"`
	Card     int    `xml:"networkCardIndex"`
	Status   string `xml:"status"`
	Time     string `xml:"attachTime"`
	Delete   bool   `xml:"deleteOnTermination"`
}

// instanceInterfaceView is a network interface as a part of an instance.
type instanceInterfaceView struct {
	ID          string                     `xml:"networkInterfaceId"`
	Subnet      string                     `xml:"subnetId"`
	VPC         string                     `xml:"vpcId"`
	Description string                     `xml:"description"`
	Owner       string                     `xml:"ownerId"`
	Status      string                     `xml:"status"`
	MAC         string                     `xml:"macAddress"`
	IP          string                     `xml:"privateIpAddress"`
	Name        string                     `xml:"privateDnsName,omitempty"`
	Check       bool                       `xml:"sourceDestCheck"`
	Groups      query.Items[groupRef]      `xml:"groupSet"`
	Attachment  *attachmentView            `xml:"attachment"`
	Association *associationView           `xml:"association"`
	Private     query.Items[privateIPView] `xml:"privateIpAddressesSet"`
	IPv6        query.Items[ipv6View]      `xml:"ipv6AddressesSet"`
	Prefixes    *query.Items[prefixView]   `xml:"ipv6PrefixSet"`
	Type        string                     `xml:"interfaceType"`
}

// interfaceView is a network interface on its own.
type interfaceView struct {
	instanceInterfaceView
	Zone    string           `xml:"availabilityZone"`
	ZoneID  string           `xml:"availabilityZoneId"`
	By      string           `xml:"requesterId,omitempty"`
	Managed bool             `xml:"requesterManaged"`
	Tags    query.Items[tag] `xml:"tagSet"`
}

func (t *tx) viewAttached(n *networkInterface) instanceInterfaceView {
	v := instanceInterfaceView{
		ID: n.id, Subnet: n.subnet, VPC: n.vpc, Description: n.description, Owner: t.o.Account, Status: "in-use", MAC: n.mac,
		IP: addressText(n.primaryIP()), Name: t.privateName(n.primaryIP()), Check: n.checkTraffic,
		Groups:      t.groupRefs(n.groups),
		Association: t.associationOf(n), Type: n.kind,
	}
	if n.attachment == "" {
		v.Status = "available"
	} else {
		v.Attachment = &attachmentView{
			ID: n.attachment, Instance: n.instance, Owner: t.o.Account, Device: n.device, Status: "attached",
			Time: timestamp(n.attached), Delete: true,
		}
		if n.instance == "" {
			v.Attachment.Owner, v.Attachment.Device, v.Attachment.Delete = "amazon-aws", 1, false
		}
	}
	for at, ip := range n.private {
		p := privateIPView{IP: ip.String(), Name: t.privateName(ip), Primary: at == 0}
		if p.Primary {
			p.Association = v.Association
		}
		v.Private.Item = append(v.Private.Item, p)
	}
	for at, ip := range n.ipv6 {
		v.IPv6.Item = append(v.IPv6.Item, ipv6View{IP: ip.String(), Primary: n.primaryIPv6 && at == 0})
	}
	for _, p := range n.prefixes {
		if v.Prefixes == nil {
			v.Prefixes = &query.Items[prefixView]{}
		}
		v.Prefixes.Item = append(v.Prefixes.Item, prefixView{p.String()})
	}
	return v
}

func (t *tx) privateName(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return "ip-" + dashed(ip) + "." + t.o.internalDomain()
}

func (n *networkInterface) primaryIP() netip.Addr {
	if len(n.private) == 0 {
		return netip.Addr{}
	}
	return n.private[0]
}

func (t *tx) associationOf(n *networkInterface) *associationView {
	ip := t.publicOf(n)
	if !ip.IsValid() {
		return nil
	}
	v := &associationView{IP: ip.String(), Name: t.publicName(n), Owner: "amazon"}
	for _, a := range t.addresses {
		if a.iface == n.id {
			v.Allocation, v.Association, v.Owner = a.id, a.association, t.o.Account
		}
	}
	return v
}

func (t *tx) describeInterfaces(in struct {
	selection
	NetworkInterfaceID      []string `q:"NetworkInterfaceId"`
	IncludeManagedResources bool
}) (out struct {
	Interfaces query.Items[interfaceView] `xml:"networkInterfaceSet"`
	NextToken  string                     `xml:"nextToken,omitempty"`
}, err error) {
	out.Interfaces, out.NextToken, err = description[*networkInterface, interfaceView]{interfaceKind, t.interfaces,
		ec2Pages,
		interfaceFields(t), func(n *networkInterface) interfaceView {
			return interfaceView{
				instanceInterfaceView: t.viewAttached(n), Zone: n.zone, ZoneID: t.o.zoneID(n.zone),
				By: n.requester, Managed: n.requester != "", Tags: t.tagSet(n.id),
			}
		}}.page(t, in.NetworkInterfaceID, in.selection)
	return out, err
}

func interfaceFields(t *tx) fields[*networkInterface] {
	return func(n *networkInterface, name string) ([]string, bool) {
		if n == nil {
			n = &networkInterface{}
		}
		switch name {
		case "group-id":
			return n.groups, true
		case "group-name":
			return t.groupNames(n), true
		case "addresses.private-ip-address":
			return texts(n.private), true
		case "ipv6-addresses.ipv6-address":
			return texts(n.ipv6), true
		}
		return t.attachmentFields(n, name)
	}
}

func (t *tx) attachmentFields(n *networkInterface, name string) ([]string, bool) {
	status, attached := "available", ""
	if n.attachment != "" {
		status, attached = "in-use", "attached"
	}
	return oneOf(name, map[string]string{
		"network-interface-id":     n.id,
		"vpc-id":                   n.vpc,
		"subnet-id":                n.subnet,
		"availability-zone":        n.zone,
		"description":              n.description,
		"private-ip-address":       addressText(n.primaryIP()),
		"private-dns-name":         t.privateName(n.primaryIP()),
		"mac-address":              n.mac,
		"status":                   status,
		"interface-type":           n.kind,
		"requester-id":             n.requester,
		"requester-managed":        strconv.FormatBool(n.requester != ""),
		"owner-id":                 t.o.Account,
		"attachment.instance-id":   n.instance,
		"attachment.attachment-id": n.attachment,
		"attachment.status":        attached,
		"attachment.device-index":  strconv.Itoa(n.device),
		"association.public-ip":    addressText(t.publicOf(n)),
		"source-dest-check":        strconv.FormatBool(n.checkTraffic),
	})
}

// newInterface makes a network interface with one IPv4 address in a subnet, and an IPv6 address if v6 is set.
func (t *tx) newInterface(s *subnet, v6 bool) (*networkInterface, error) {
	ip, n, err := t.allocateIP(s)
	if err != nil {
		return nil, err
	}
	v := &networkInterface{
		id: t.newID("eni"), subnet: s.id, vpc: s.vpc, zone: s.zone, attachment: t.newID("eni-attach"), attached: t.now,
		kind: "interface", private: []netip.Addr{ip}, checkTraffic: true,
		// The second bit marks an address that is administered locally.
		mac: fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", n>>32&0xff, n>>24&0xff, ip.As4()[1], ip.As4()[2], ip.As4()[3]),
	}
	if v6 && s.cidr6.IsValid() {
		host := s.cidr6.Addr().As16()
		host[13], host[14], host[15] = byte(n>>16), byte(n>>8), byte(n)
		v.ipv6 = []netip.Addr{netip.AddrFrom16(host)}
	}
	t.interfaces[v.id] = v
	t.hideNew(v.id)
	return v, nil
}

// allocateIP gives out the addresses of a subnet in order, and when all were given out once, those that are free again.
func (t *tx) allocateIP(s *subnet) (netip.Addr, int, error) {
	size := 1<<(32-s.cidr.Bits()) - reservedAddresses
	used := map[netip.Addr]bool{}
	if t.allocated[s.id] >= size {
		for _, n := range t.interfaces {
			for _, ip := range n.private {
				used[ip] = true
			}
		}
	}
	for range size {
		n := t.allocated[s.id]
		t.allocated[s.id]++
		if ip := hostOf(s.cidr, n%size+reservedAddresses-1); !used[ip] {
			return ip, n + reservedAddresses - 1, nil
		}
	}
	return netip.Addr{}, 0, refuse("InsufficientFreeAddressesInSubnet",
		"There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", s.id)
}

// hostOf returns the nth address of an IPv4 network.
func hostOf(p netip.Prefix, n int) netip.Addr {
	b := p.Addr().As4()
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	v += uint32(n)
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}
