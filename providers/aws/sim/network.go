package sim

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

var (
	vpcKind    = idKind{"vpc", "InvalidVpcID", "vpc ID"}
	subnetKind = idKind{"subnet", "InvalidSubnetID", "subnet ID"}
)

// reservedAddresses is how many addresses of each subnet AWS keeps for itself: the first four and the last.
const reservedAddresses = 5

func networkOperations() []operation {
	return []operation{
		read("DescribeVpcs", (*tx).describeVpcs),
		read("DescribeSubnets", (*tx).describeSubnets),
		read("DescribeAvailabilityZones", (*tx).describeZones),
		read("DescribeRegions", (*tx).describeRegions),
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

func (t *tx) describeVpcs(in struct {
	selection
	VpcID []string `q:"VpcId"`
}) (out struct {
	Vpcs      query.Items[vpcView] `xml:"vpcSet"`
	NextToken string               `xml:"nextToken,omitempty"`
}, err error) {
	out.Vpcs, out.NextToken, err = description[*vpc, vpcView]{vpcKind, t.vpcs, ec2Pages, vpcFields(t), t.viewVPC}.page(t,
		in.VpcID, in.selection)
	return out, err
}

func (t *tx) viewVPC(v *vpc) vpcView {
	suffix := v.id[len("vpc-"):]
	return vpcView{
		ID: v.id, Owner: t.o.Account, State: "available", CIDR: v.cidr.String(), DHCP: v.dhcp,
		CIDRs:  query.ItemsOf([]cidr{{ID: "vpc-cidr-assoc-" + suffix, V4: v.cidr.String(), State: &cidrState{"associated"}}}),
		CIDRs6: v6Association("vpc-cidr-assoc-"+suffix, v.cidr6),
		Tags:   t.tagSet(v.id), Tenancy: "default", Standard: v.isDefault,
	}
}

func vpcFields(t *tx) fields[*vpc] {
	return func(v *vpc, name string) ([]string, bool) {
		if v == nil {
			v = &vpc{}
		}
		isDefault := strconv.FormatBool(v.isDefault)
		return oneOf(name, map[string]string{
			"vpc-id": v.id, "cidr": v.cidr.String(), "cidr-block-association.cidr-block": v.cidr.String(),
			"ipv6-cidr-block-association.ipv6-cidr-block": v.cidr6.String(), "state": "available", "owner-id": t.o.Account,
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

func (t *tx) describeSubnets(in struct {
	selection
	SubnetID []string `q:"SubnetId"`
}) (out struct {
	Subnets   query.Items[subnetView] `xml:"subnetSet"`
	NextToken string                  `xml:"nextToken,omitempty"`
}, err error) {
	out.Subnets, out.NextToken, err = description[*subnet, subnetView]{subnetKind, t.subnets, ec2Pages,
		subnetFields(t), t.viewSubnet}.page(t, in.SubnetID, in.selection)
	return out, err
}

func (t *tx) viewSubnet(s *subnet) subnetView {
	v := subnetView{
		ID: s.id, ARN: t.arn("ec2", "subnet/"+s.id), State: "available", Owner: t.o.Account, VPC: s.vpc,
		CIDR: s.cidr.String(), CIDRs6: v6Association("subnet-cidr-assoc-"+s.id[len("subnet-"):], s.cidr6),
		Free: t.freeAddresses(s), Zone: s.zone, ZoneID: t.o.zoneID(s.zone), MapPublic: s.mapPublic, Assign6: s.assign6,
		Tags: t.tagSet(s.id),
	}
	v.Hostnames.Type = "ip-name"
	return v
}

// freeAddresses is how many IPv4 addresses of a subnet no network interface holds.
func (t *tx) freeAddresses(s *subnet) int {
	free := 1<<(32-s.cidr.Bits()) - reservedAddresses
	for _, n := range t.interfaces {
		if n.subnet == s.id {
			free -= len(n.private)
		}
	}
	return free
}

func subnetFields(t *tx) fields[*subnet] {
	return func(s *subnet, name string) ([]string, bool) {
		if s == nil {
			s = &subnet{}
		}
		switch name {
		case "availabilityZone":
			name = "availability-zone"
		case "cidr", "cidrBlock":
			name = "cidr-block"
		case "defaultForAz", "ipv6-native", "enable-dns64", "map-customer-owned-ip-on-launch":
			name = "default-for-az"
		}
		return oneOf(name, map[string]string{
			"subnet-id": s.id, "vpc-id": s.vpc, "availability-zone": s.zone, "availability-zone-id": t.o.zoneID(s.zone),
			"cidr-block": s.cidr.String(), "ipv6-cidr-block-association.ipv6-cidr-block": s.cidr6.String(),
			"state": "available", "owner-id": t.o.Account, "default-for-az": "false",
			"map-public-ip-on-launch": strconv.FormatBool(s.mapPublic), "subnet-arn": t.arn("ec2", "subnet/"+s.id),
		})
	}
}

// zoneIDPrefixes are the short names of regions in zone IDs; other regions get their name without dashes.
var zoneIDPrefixes = map[string]string{
	"us-east-1": "use1", "us-east-2": "use2", "us-west-1": "usw1", "us-west-2": "usw2", "eu-west-1": "euw1",
	"eu-central-1": "euc1", "ap-southeast-1": "apse1", "cn-north-1": "cnn1", "us-gov-west-1": "usgw1",
}

// zoneID returns the ID of a zone. AWS maps letters to IDs differently in each account; here in order.
func (o *Options) zoneID(zone string) string {
	prefix := zoneIDPrefixes[o.Region]
	if prefix == "" {
		prefix = o.Region
	}
	return prefix + "-az" + strconv.Itoa(1+slices.Index(o.Zones, zone))
}
