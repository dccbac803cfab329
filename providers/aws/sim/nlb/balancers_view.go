package nlb

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type balancerState struct {
	Code string `xml:"Code"`
}

type balancerAddressView struct {
	IP         string `xml:"IpAddress,omitempty"`
	Allocation string `xml:"AllocationId,omitempty"`
	Private    string `xml:"PrivateIPv4Address,omitempty"`
	IPv6       string `xml:"IPv6Address,omitempty"`
}

type balancerZoneView struct {
	Zone      string                             `xml:"ZoneName"`
	Subnet    string                             `xml:"SubnetId"`
	Addresses query.Members[balancerAddressView] `xml:"LoadBalancerAddresses"`
}

type balancerView struct {
	ARN         string                          `xml:"LoadBalancerArn"`
	DNS         string                          `xml:"DNSName"`
	HostedZone  string                          `xml:"CanonicalHostedZoneId"`
	Created     string                          `xml:"CreatedTime"`
	Name        string                          `xml:"LoadBalancerName"`
	Scheme      string                          `xml:"Scheme"`
	VPC         string                          `xml:"VpcId"`
	State       balancerState                   `xml:"State"`
	Type        string                          `xml:"Type"`
	Zones       query.Members[balancerZoneView] `xml:"AvailabilityZones"`
	Groups      *query.Members[string]          `xml:"SecurityGroups"`
	AddressType string                          `xml:"IpAddressType"`
	PrivateLink string                          `xml:"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic,omitempty"`
	SourceNAT   string                          `xml:"EnablePrefixForIpv6SourceNat"`
}

func (t *Tx) viewBalancer(b *balancer) balancerView {
	v := balancerView{
		ARN: b.arn, DNS: t.balancerDNS(b), HostedZone: elb.HostedZone, Created: ec2.Timestamp(b.created), Name: b.name,
		Scheme: b.scheme, VPC: b.VPC, State: balancerState{"active"}, Type: "network", Zones: t.balancerZones(b),
		AddressType: b.addressType, SourceNAT: b.sourceNAT,
	}
	if t.Now.Before(b.created.Add(t.Options.ProvisionTime)) {
		v.State.Code = "provisioning"
	}
	if b.hasGroups {
		groups := query.MembersOf(b.groups)
		v.Groups, v.PrivateLink = &groups, b.privateLink
	}
	return v
}

// balancerDNS returns the name that a load balancer's clients resolve.
func (t *Tx) balancerDNS(b *balancer) string {
	return b.name + "-" + b.suffix + ".elb." + t.Options.Region + "." + t.Options.DNSSuffix()
}

func (t *Tx) balancerZones(b *balancer) query.Members[balancerZoneView] {
	var out []balancerZoneView
	for _, m := range b.mappings {
		v := balancerZoneView{Zone: t.Subnets[m.SubnetID].Zone, Subnet: m.SubnetID}
		a := balancerAddressView{Allocation: m.AllocationID, Private: m.PrivateIPv4, IPv6: m.IPv6}
		if e := t.Addresses[m.AllocationID]; e != nil {
			a.IP = e.IP.String()
		}
		if a != (balancerAddressView{}) {
			v.Addresses.Member = append(v.Addresses.Member, a)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b balancerZoneView) int { return cmp.Compare(a.Zone, b.Zone) })
	return query.MembersOf(out)
}

// attachBalancer creates a network interface of the load balancer in each subnet, and deletes those in other
// subnets.
func (t *Tx) attachBalancer(b *balancer, mappings []subnetMapping) error {
	created, subnets := map[string]string{}, make([]string, 0, len(mappings))
	for _, m := range mappings {
		n, added, err := t.Attach(b.ENIs, m.SubnetID, b.addressType == addressTypeDualStack)
		if err != nil {
			for subnet, eni := range created {
				delete(t.Interfaces, eni)
				delete(b.ENIs, subnet)
			}
			return err
		}
		if added {
			n.Description, n.Kind = "ELB net/"+b.name+"/"+b.suffix, "network_load_balancer"
			created[m.SubnetID] = n.ID
		}
		n.Groups = slices.Clone(b.groups)
		if ip, err := netip.ParseAddr(m.PrivateIPv4); err == nil {
			n.Private[0] = ip
		}
		t.Associate(n, m.AllocationID)
		subnets = append(subnets, m.SubnetID)
	}
	t.DetachOthers(b.ENIs, subnets)
	b.mappings = mappings
	return nil
}

// setSecurityGroups replaces the groups of a load balancer that was created with any.
func (t *Tx) setSecurityGroups(b *balancer, in struct {
	balancerRef
	SecurityGroups []string
	PrivateLink    string `q:"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic"`
}) (out struct {
	Groups      query.Members[string] `xml:"SecurityGroupIds"`
	PrivateLink string                `xml:"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic"`
}, err error) {
	if !b.hasGroups {
		return out, refuseConfiguration(
			"You cannot set security groups on a Network Load Balancer that was created without security groups")
	}
	if len(in.SecurityGroups) == 0 {
		return out, refuseConfiguration("You cannot remove all security groups of a Network Load Balancer")
	}
	if err := t.checkGroups(in.SecurityGroups, b.VPC); err != nil {
		return out, err
	}
	b.groups = slices.Clone(in.SecurityGroups)
	if in.PrivateLink != "" {
		b.privateLink = in.PrivateLink
	}
	t.SetGroups(b.ENIs, b.groups)
	out.Groups, out.PrivateLink = query.MembersOf(b.groups), b.privateLink
	return out, nil
}

func (t *Tx) checkGroups(groups []string, vpc string) error {
	for _, id := range groups {
		if g := t.Groups[id]; g == nil || g.VPC != vpc {
			return core.Refuse("InvalidSecurityGroup", "Security group '%s' does not exist in VPC '%s'", id, vpc)
		}
	}
	if limit := t.Options.Quotas[core.QuotaGroupsPerInterface]; len(groups) > limit {
		return refuseConfiguration("The maximum number of security groups is %d", limit)
	}
	return nil
}

// checkSourceNAT rejects IPv6 prefixes for source NAT on IPv4 load balancers.
func (b *balancer) checkSourceNAT() error {
	if b.sourceNAT == "on" && b.addressType != addressTypeDualStack {
		return refuseConfiguration("EnablePrefixForIpv6SourceNat requires the IP address type 'dualstack'")
	}
	return nil
}

// checkAddressType rejects a change to another IP address type that the load balancer cannot have.
func (t *Tx) checkAddressType(b *balancer) error {
	if b.addressType != addressTypeIPv4 && b.addressType != addressTypeDualStack {
		return refuseConfiguration("IpAddressType '%s' is not supported for network load balancers", b.addressType)
	}
	return t.checkAllFamilies(b)
}

// checkReplacedSubnets rejects a subnet that replaces another of the same zone: the zone must be removed first. AWS
// describes this in "Exploring new subnet management capabilities of Network Load Balancer".
func (t *Tx) checkReplacedSubnets(b *balancer, mappings []subnetMapping) error {
	for _, m := range mappings {
		zone := t.Subnets[m.SubnetID].Zone
		if b.ENIs[m.SubnetID] == "" && slices.ContainsFunc(b.mappings, func(old subnetMapping) bool {
			return t.Subnets[old.SubnetID].Zone == zone
		}) {
			return refuseConfiguration("You cannot specify an additional subnet from an Availability Zone that "+
				"is already associated with the load balancer. The Availability Zone '%s' corresponding to the new subnet '%s' "+
				"is already associated with the load balancer.", zone, m.SubnetID)
		}
	}
	return nil
}
