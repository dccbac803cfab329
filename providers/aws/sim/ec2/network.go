package ec2

import (
	"net/netip"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

var (
	vpcKind    = core.IDKind{Prefix: "vpc", Code: "InvalidVpcID", Noun: "vpc ID"}
	subnetKind = core.IDKind{Prefix: "subnet", Code: "InvalidSubnetID", Noun: "subnet ID"}
)

// reservedAddresses is how many addresses of each subnet AWS keeps for itself: the first four and the last.
const reservedAddresses = 5

func networkOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeVpcs", (*Tx).describeVpcs),
		core.Read("DescribeSubnets", (*Tx).describeSubnets),
		core.Read("DescribeAvailabilityZones", (*Tx).describeZones),
		core.Read("DescribeRegions", (*Tx).describeRegions),
	}
}

type cidrState struct {
	State string `xml:"state"`
}

type vpcView struct {
	ID       string            `xml:"vpcId"`
	Owner    string            `xml:"ownerId"`
	State    string            `xml:"state"`
	CIDR     string            `xml:"cidrBlock"`
	CIDRs    query.Items[cidr] `xml:"cidrBlockAssociationSet"`
	CIDRs6   query.Items[cidr] `xml:"ipv6CidrBlockAssociationSet"`
	DHCP     string            `xml:"dhcpOptionsId"`
	Tags     query.Items[tag]  `xml:"tagSet"`
	Tenancy  string            `xml:"instanceTenancy"`
	Standard bool              `xml:"isDefault"`
}

// cidr is a network's association with a VPC or a subnet.
type cidr struct {
	ID     string     `xml:"associationId"`
	V4     string     `xml:"cidrBlock,omitempty"`
	V6     string     `xml:"ipv6CidrBlock,omitempty"`
	State  *cidrState `xml:"cidrBlockState"`
	State6 *cidrState `xml:"ipv6CidrBlockState"`
}

func v6Association(id string, p netip.Prefix) query.Items[cidr] {
	if !p.IsValid() {
		return query.Items[cidr]{}
	}
	return query.ItemsOf([]cidr{{ID: id, V6: p.String(), State6: &cidrState{"associated"}}})
}

func (t *Tx) describeVpcs(in struct {
	core.Selection
	VpcID []string `q:"VpcId"`
}) (out struct {
	Vpcs      query.Items[vpcView] `xml:"vpcSet"`
	NextToken string               `xml:"nextToken,omitempty"`
}, err error) {
	out.Vpcs, out.NextToken, err = core.Description[*VPC, vpcView]{
		Kind:   vpcKind,
		All:    t.VPCs,
		Rule:   core.Ec2Pages,
		Values: vpcFields(t),
		View:   t.viewVPC,
	}.Page(t.Tx,
		in.VpcID, in.Selection)
	return out, err
}

func (t *Tx) viewVPC(v *VPC) vpcView {
	suffix := v.ID[len("vpc-"):]
	return vpcView{
		ID: v.ID, Owner: t.Options.Account, State: "available", CIDR: v.CIDR.String(), DHCP: v.dhcp,
		CIDRs:  query.ItemsOf([]cidr{{ID: "vpc-cidr-assoc-" + suffix, V4: v.CIDR.String(), State: &cidrState{"associated"}}}),
		CIDRs6: v6Association("vpc-cidr-assoc-"+suffix, v.CIDR6),
		Tags:   t.tagSet(v.ID), Tenancy: "default", Standard: v.isDefault,
	}
}

func vpcFields(t *Tx) core.Fields[*VPC] {
	return func(v *VPC, name string) ([]string, bool) {
		if v == nil {
			v = &VPC{}
		}
		isDefault := strconv.FormatBool(v.isDefault)
		return core.OneOf(name, map[string]string{
			"vpc-id": v.ID, "cidr": v.CIDR.String(), "cidr-block-association.cidr-block": v.CIDR.String(),
			"ipv6-cidr-block-association.ipv6-cidr-block": v.CIDR6.String(), "state": "available", "owner-id": t.Options.Account,
			"is-default": isDefault, "isDefault": isDefault, "dhcp-options-id": v.dhcp,
		})
	}
}

type subnetView struct {
	ID        string            `xml:"subnetId"`
	ARN       string            `xml:"subnetArn"`
	State     string            `xml:"state"`
	Owner     string            `xml:"ownerId"`
	VPC       string            `xml:"vpcId"`
	CIDR      string            `xml:"cidrBlock"`
	CIDRs6    query.Items[cidr] `xml:"ipv6CidrBlockAssociationSet"`
	Free      int               `xml:"availableIpAddressCount"`
	Zone      string            `xml:"availabilityZone"`
	ZoneID    string            `xml:"availabilityZoneId"`
	Default   bool              `xml:"defaultForAz"`
	MapPublic bool              `xml:"mapPublicIpOnLaunch"`
	Assign6   bool              `xml:"assignIpv6AddressOnCreation"`
	MapOwned  bool              `xml:"mapCustomerOwnedIpOnLaunch"`
	DNS64     bool              `xml:"enableDns64"`
	Native6   bool              `xml:"ipv6Native"`
	Hostnames struct {
		Type string `xml:"hostnameType"`
		A    bool   `xml:"enableResourceNameDnsARecord"`
		AAAA bool   `xml:"enableResourceNameDnsAAAARecord"`
	} `xml:"privateDnsNameOptionsOnLaunch"`
	Tags query.Items[tag] `xml:"tagSet"`
}

func (t *Tx) describeSubnets(in struct {
	core.Selection
	SubnetID []string `q:"SubnetId"`
}) (out struct {
	Subnets   query.Items[subnetView] `xml:"subnetSet"`
	NextToken string                  `xml:"nextToken,omitempty"`
}, err error) {
	out.Subnets, out.NextToken, err = core.Description[*Subnet, subnetView]{
		Kind:   subnetKind,
		All:    t.Subnets,
		Rule:   core.Ec2Pages,
		Values: subnetFields(t),
		View:   t.viewSubnet,
	}.Page(t.Tx, in.SubnetID, in.Selection)
	return out, err
}

func (t *Tx) viewSubnet(s *Subnet) subnetView {
	v := subnetView{
		ID: s.ID, ARN: t.ARN("ec2", "subnet/"+s.ID), State: "available", Owner: t.Options.Account, VPC: s.VPC,
		CIDR: s.CIDR.String(), CIDRs6: v6Association("subnet-cidr-assoc-"+s.ID[len("subnet-"):], s.CIDR6),
		Free: t.freeAddresses(s), Zone: s.Zone, ZoneID: t.Options.ZoneID(s.Zone), MapPublic: s.MapPublic, Assign6: s.assign6,
		Tags: t.tagSet(s.ID),
	}
	v.Hostnames.Type = "ip-name"
	return v
}

// freeAddresses is how many IPv4 addresses of a subnet no network interface holds.
func (t *Tx) freeAddresses(s *Subnet) int {
	free := 1<<(32-s.CIDR.Bits()) - reservedAddresses
	for _, n := range t.Interfaces {
		if n.Subnet == s.ID {
			free -= len(n.Private)
		}
	}
	return free
}

func subnetFields(t *Tx) core.Fields[*Subnet] {
	return func(s *Subnet, name string) ([]string, bool) {
		if s == nil {
			s = &Subnet{}
		}
		switch name {
		case "availabilityZone":
			name = "availability-zone"
		case "cidr", "cidrBlock":
			name = "cidr-block"
		case "defaultForAz", "ipv6-native", "enable-dns64", "map-customer-owned-ip-on-launch":
			name = "default-for-az"
		}
		return core.OneOf(name, map[string]string{
			"subnet-id": s.ID, "vpc-id": s.VPC, "availability-zone": s.Zone, "availability-zone-id": t.Options.ZoneID(s.Zone),
			"cidr-block": s.CIDR.String(), "ipv6-cidr-block-association.ipv6-cidr-block": s.CIDR6.String(),
			"state": "available", "owner-id": t.Options.Account, "default-for-az": "false",
			"map-public-ip-on-launch": strconv.FormatBool(s.MapPublic), "subnet-arn": t.ARN("ec2", "subnet/"+s.ID),
		})
	}
}
