package sim

import (
	"cmp"
	"net/netip"
	"slices"

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
	Made        string                          `xml:"CreatedTime"`
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

// hostedZone is the DNS zone of load balancers' names, an ID of the simulated Route 53.
const hostedZone = "Z18D5FSROUN65G"

func (t *tx) viewBalancer(b *balancer) balancerView {
	v := balancerView{
		ARN: b.arn, DNS: t.balancerDNS(b), HostedZone: hostedZone, Made: timestamp(b.made), Name: b.name, Scheme: b.scheme,
		VPC: b.vpc, State: balancerState{"active"}, Type: "network", Zones: t.balancerZones(b), AddressType: b.addressType,
		SourceNAT: b.sourceNAT,
	}
	if t.now.Before(b.made.Add(t.o.ProvisionTime)) {
		v.State.Code = "provisioning"
	}
	if b.withGroups {
		groups := query.MembersOf(b.groups)
		v.Groups, v.PrivateLink = &groups, b.privateLink
	}
	return v
}

// balancerDNS returns the name that a load balancer's clients resolve.
func (t *tx) balancerDNS(b *balancer) string {
	return b.name + "-" + b.suffix + ".elb." + t.o.Region + "." + t.o.dnsSuffix()
}

func (t *tx) balancerZones(b *balancer) query.Members[balancerZoneView] {
	var out []balancerZoneView
	for _, m := range b.mappings {
		v := balancerZoneView{Zone: t.subnets[m.SubnetID].zone, Subnet: m.SubnetID}
		a := balancerAddressView{Allocation: m.AllocationID, Private: m.PrivateIPv4, IPv6: m.IPv6}
		if e := t.addresses[m.AllocationID]; e != nil {
			a.IP = e.ip.String()
		}
		if a != (balancerAddressView{}) {
			v.Addresses.Member = append(v.Addresses.Member, a)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b balancerZoneView) int {
		if a.Zone < b.Zone {
			return -1
		}
		return 1
	})
	return query.MembersOf(out)
}

// attachBalancer gives a load balancer a network interface in each subnet and takes it from those that it left.
func (t *tx) attachBalancer(b *balancer, mappings []subnetMapping) error {
	made := map[string]string{}
	undo := func() {
		for subnet, eni := range made {
			delete(t.interfaces, eni)
			delete(b.enis, subnet)
		}
	}
	for _, m := range mappings {
		if b.enis[m.SubnetID] == "" {
			n, err := t.newInterface(t.subnets[m.SubnetID], b.addressType == "dualstack")
			if err != nil {
				undo()
				return refuse("InvalidSubnet", "Not enough IP space available in %s. ELB requires at least 8 free IP addresses "+
					"in each subnet.", m.SubnetID)
			}
			n.description, n.requester, n.kind = "ELB net/"+b.name+"/"+b.suffix, "amazon-elb", "network_load_balancer"
			b.enis[m.SubnetID], made[m.SubnetID] = n.id, n.id
		}
		n := t.interfaces[b.enis[m.SubnetID]]
		n.groups = slices.Clone(b.groups)
		if ip, err := netip.ParseAddr(m.PrivateIPv4); err == nil {
			n.private[0] = ip
		}
		t.associate(n, m.AllocationID)
	}
	for subnet, eni := range b.enis {
		if !slices.ContainsFunc(mappings, func(m subnetMapping) bool { return m.SubnetID == subnet }) {
			t.releaseInterface(eni)
			delete(b.enis, subnet)
		}
	}
	b.mappings = mappings
	return nil
}

// associate gives an interface one Elastic IP and takes any other away; an empty ID is none.
func (t *tx) associate(n *networkInterface, allocation string) {
	for _, a := range t.addresses {
		switch {
		case a.id == allocation && a.iface != n.id:
			a.iface, a.association = n.id, t.newID("eipassoc")
		case a.id != allocation && a.iface == n.id:
			a.iface, a.association = "", ""
		}
	}
}

// releaseInterface frees a load balancer's interface, which AWS removes a while later.
func (t *tx) releaseInterface(id string) {
	n := t.interfaces[id]
	if n == nil {
		return
	}
	t.associate(n, "")
	if t.o.ReleaseTime == 0 {
		delete(t.interfaces, id)
		t.removeRecords(id)
		return
	}
	n.releaseAt = t.now.Add(t.o.ReleaseTime)
}

// setSecurityGroups replaces the groups of a load balancer that was made with any.
func (t *tx) setSecurityGroups(b *balancer, in struct {
	ofBalancer
	SecurityGroups []string
	PrivateLink    string `q:"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic"`
}) (out struct {
	Groups      query.Members[string] `xml:"SecurityGroupIds"`
	PrivateLink string                `xml:"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic"`
}, err error) {
	if !b.withGroups {
		return out, refuse("InvalidConfigurationRequest",
			"You cannot set security groups on a Network Load Balancer that was created without security groups")
	}
	if len(in.SecurityGroups) == 0 {
		return out, refuse("InvalidConfigurationRequest", "You cannot remove all security groups of a Network Load Balancer")
	}
	if err := t.balancerGroups(in.SecurityGroups, b.vpc); err != nil {
		return out, err
	}
	b.groups = slices.Clone(in.SecurityGroups)
	if in.PrivateLink != "" {
		b.privateLink = in.PrivateLink
	}
	for _, eni := range b.enis {
		t.interfaces[eni].groups = slices.Clone(b.groups)
	}
	out.Groups, out.PrivateLink = query.MembersOf(b.groups), b.privateLink
	return out, nil
}

// checkSourceNAT refuses IPv6 prefixes for source NAT where there is no IPv6.
func checkSourceNAT(sourceNAT, addressType string) error {
	switch {
	case sourceNAT != "on" && sourceNAT != "off":
		return validation("EnablePrefixForIpv6SourceNat '%s' must be 'on' or 'off'", sourceNAT)
	case sourceNAT == "on" && addressType != "dualstack":
		return refuse("InvalidConfigurationRequest", "EnablePrefixForIpv6SourceNat requires the IP address type 'dualstack'")
	}
	return nil
}

// checkReplacedSubnets rejects a subnet that replaces another of the same zone: the zone must be removed first. AWS
// describes this in "Exploring new subnet management capabilities of Network Load Balancer".
func (t *tx) checkReplacedSubnets(b *balancer, mappings []subnetMapping) error {
	for _, m := range mappings {
		zone := t.subnets[m.SubnetID].zone
		if b.enis[m.SubnetID] == "" && slices.ContainsFunc(b.mappings, func(old subnetMapping) bool {
			return t.subnets[old.SubnetID].zone == zone
		}) {
			return refuse("InvalidConfigurationRequest",
				"You cannot specify an additional subnet from an Availability Zone that "+
					"is already associated with the load balancer. The Availability Zone '%s' corresponding to the new subnet '%s' "+
					"is already associated with the load balancer.", zone, m.SubnetID)
		}
	}
	return nil
}

// setSubnets replaces the subnets.
func (t *tx) setSubnets(b *balancer, in struct {
	ofBalancer
	Subnets        []string
	SubnetMappings []subnetMapping
	IPAddressType  string `q:"IpAddressType"`
	SourceNAT      string `q:"EnablePrefixForIpv6SourceNat"`
}) (out struct {
	Zones       query.Members[balancerZoneView] `xml:"AvailabilityZones"`
	AddressType string                          `xml:"IpAddressType"`
	SourceNAT   string                          `xml:"EnablePrefixForIpv6SourceNat"`
}, err error) {
	checked := *b
	if in.IPAddressType != "" {
		checked.addressType = in.IPAddressType
	}
	checked.sourceNAT = cmp.Or(in.SourceNAT, b.sourceNAT)
	if err := checkSourceNAT(checked.sourceNAT, checked.addressType); err != nil {
		return out, err
	}
	mappings, vpc, err := t.mappings(&checked, in.Subnets, in.SubnetMappings)
	if err != nil {
		return out, err
	}
	if vpc != b.vpc {
		return out, refuse("InvalidConfigurationRequest", "The subnets must belong to VPC '%s'", b.vpc)
	}
	if err := t.checkAllFamilies(&checked); err != nil {
		return out, err
	}
	if err := t.checkReplacedSubnets(b, mappings); err != nil {
		return out, err
	}
	if err := t.attachBalancer(b, mappings); err != nil {
		return out, err
	}
	b.addressType, b.sourceNAT = checked.addressType, checked.sourceNAT
	out.Zones, out.AddressType, out.SourceNAT = t.balancerZones(b), b.addressType, b.sourceNAT
	return out, nil
}

func (t *tx) setAddressType(b *balancer, in struct {
	ofBalancer
	IPAddressType string `q:"IpAddressType"`
}) (out struct {
	AddressType string `xml:"IpAddressType"`
}, err error) {
	if in.IPAddressType != "ipv4" && in.IPAddressType != "dualstack" {
		return out, refuse("InvalidConfigurationRequest", "IpAddressType '%s' is not supported for network load balancers",
			in.IPAddressType)
	}
	checked := *b
	checked.addressType = in.IPAddressType
	for _, m := range b.mappings {
		if err := t.checkMapping(&checked, t.subnets[m.SubnetID], m); err != nil {
			return out, err
		}
	}
	if err := t.checkAllFamilies(&checked); err != nil {
		return out, err
	}
	b.addressType, out.AddressType = in.IPAddressType, in.IPAddressType
	return out, nil
}
