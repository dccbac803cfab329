package ec2

import (
	"net/netip"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// reservedAddresses is the number of addresses that AWS reserves in each subnet: the first four and the last.
const reservedAddresses = 5

// associationState is the state of an association with a VPC or a route table.
type associationState struct {
	State string `xml:"state"`
}

type vpcView struct {
	ID       string            `xml:"vpcId" filter:"vpc-id"`
	Owner    string            `xml:"ownerId" filter:"owner-id"`
	State    string            `xml:"state" filter:"state"`
	CIDR     string            `xml:"cidrBlock" filter:"cidr,cidr-block-association.cidr-block"`
	CIDRs    query.Items[cidr] `xml:"cidrBlockAssociationSet"`
	CIDRs6   query.Items[cidr] `xml:"ipv6CidrBlockAssociationSet" filter:"ipv6-cidr-block-association."`
	DHCP     string            `xml:"dhcpOptionsId" filter:"dhcp-options-id"`
	Tags     query.Items[tag]  `xml:"tagSet"`
	Tenancy  string            `xml:"instanceTenancy"`
	Standard bool              `xml:"isDefault" filter:"is-default,isDefault"`
}

// cidr is a network's association with a VPC or a subnet.
type cidr struct {
	ID     string            `xml:"associationId"`
	V4     string            `xml:"cidrBlock,omitempty"`
	V6     string            `xml:"ipv6CidrBlock,omitempty" filter:"ipv6-cidr-block"`
	State  *associationState `xml:"cidrBlockState"`
	State6 *associationState `xml:"ipv6CidrBlockState"`
}

func v6Association(id string, p netip.Prefix) query.Items[cidr] {
	if !p.IsValid() {
		return query.Items[cidr]{}
	}
	return query.ItemsOf([]cidr{{ID: id, V6: p.String(), State6: &associationState{"associated"}}})
}

func (t *Tx) viewVPC(v *VPC) vpcView {
	suffix := v.ID[len("vpc-"):]
	return vpcView{
		ID: v.ID, Owner: t.Options.Account, State: "available", CIDR: v.CIDR.String(), DHCP: v.dhcp,
		CIDRs: query.ItemsOf([]cidr{
			{ID: "vpc-cidr-assoc-" + suffix, V4: v.CIDR.String(), State: &associationState{"associated"}},
		}),
		CIDRs6: v6Association("vpc-cidr-assoc-"+suffix, v.CIDR6),
		Tags:   t.tagSet(v.ID), Tenancy: "default", Standard: v.isDefault,
	}
}

type subnetView struct {
	ID        string            `xml:"subnetId" filter:"subnet-id"`
	ARN       string            `xml:"subnetArn" filter:"subnet-arn"`
	State     string            `xml:"state" filter:"state"`
	Owner     string            `xml:"ownerId" filter:"owner-id"`
	VPC       string            `xml:"vpcId" filter:"vpc-id"`
	CIDR      string            `xml:"cidrBlock" filter:"cidr-block,cidr,cidrBlock"`
	CIDRs6    query.Items[cidr] `xml:"ipv6CidrBlockAssociationSet" filter:"ipv6-cidr-block-association."`
	Free      int               `xml:"availableIpAddressCount"`
	Zone      string            `xml:"availabilityZone" filter:"availability-zone,availabilityZone"`
	ZoneID    string            `xml:"availabilityZoneId" filter:"availability-zone-id"`
	Default   bool              `xml:"defaultForAz" filter:"default-for-az,defaultForAz"`
	MapPublic bool              `xml:"mapPublicIpOnLaunch" filter:"map-public-ip-on-launch"`
	Assign6   bool              `xml:"assignIpv6AddressOnCreation"`
	MapOwned  bool              `xml:"mapCustomerOwnedIpOnLaunch" filter:"map-customer-owned-ip-on-launch"`
	DNS64     bool              `xml:"enableDns64" filter:"enable-dns64"`
	Native6   bool              `xml:"ipv6Native" filter:"ipv6-native"`
	Hostnames hostnamesView     `xml:"privateDnsNameOptionsOnLaunch"`
	Tags      query.Items[tag]  `xml:"tagSet"`
}

func (t *Tx) viewSubnet(s *Subnet) subnetView {
	return subnetView{
		ID: s.ID, ARN: t.ARN("ec2", "subnet/"+s.ID), State: "available", Owner: t.Options.Account, VPC: s.VPC,
		CIDR: s.CIDR.String(), CIDRs6: v6Association("subnet-cidr-assoc-"+s.ID[len("subnet-"):], s.CIDR6),
		Free: t.freeAddresses(s), Zone: s.Zone, ZoneID: t.Options.ZoneID(s.Zone), MapPublic: s.MapPublic, Assign6: s.assign6,
		Hostnames: hostnamesView{Type: "ip-name"}, Tags: t.tagSet(s.ID),
	}
}

// freeAddresses returns the number of free IPv4 addresses of a subnet.
func (t *Tx) freeAddresses(s *Subnet) int {
	free := 1<<(32-s.CIDR.Bits()) - reservedAddresses
	for _, n := range t.Interfaces {
		if n.Subnet == s.ID {
			free -= len(n.Private)
		}
	}
	return free
}
