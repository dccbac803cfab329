// Package nlb simulates the second generation of Elastic Load Balancing, with network load balancers only.
package nlb

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// NewState returns the state without objects.
func NewState() *State {
	return &State{map[string]*balancer{}, map[string]*listener{}, map[string]*targetGroup{}}
}

func (n balancerRef) Object(t *Tx) (*balancer, error) { return t.findBalancer(n.LoadBalancerArn) }
func (n targetGroupRef) Object(t *Tx) (*targetGroup, error) {
	return t.findTargetGroup(n.TargetGroupArn)
}
func (n listenerRef) Object(t *Tx) (*listener, error) { return t.findListener(n.ListenerArn) }

type createBalancerInput struct {
	Name           string
	Type           string
	Scheme         string
	IPAddressType  string `q:"IpAddressType"`
	Subnets        []string
	SubnetMappings []subnetMapping
	SecurityGroups []string
	SourceNAT      string `q:"EnablePrefixForIpv6SourceNat"`
	Tags           []elb.Tag
}

type balancersOutput struct {
	Balancers  query.Members[balancerView] `xml:"LoadBalancers"`
	NextMarker string                      `xml:"NextMarker,omitempty"`
}

func (t *Tx) createBalancer(in createBalancerInput) (out balancersOutput, err error) {
	b, tags, err := t.newBalancer(in)
	if err != nil {
		return out, err
	}
	if old := t.balancerByName(in.Name); old != nil {
		if !equalBalancers(old, b) {
			return out, core.Refuse("DuplicateLoadBalancerName",
				"A load balancer with the same name '%s' exists, but with different settings", in.Name)
		}
		out.Balancers.Member = []balancerView{t.viewBalancer(old)}
		return out, nil
	}
	if len(t.balancers) >= t.Options.Quotas[core.QuotaNetworkBalancers] {
		return out, core.Refuse("TooManyLoadBalancers", "The maximum number of load balancers has been reached")
	}
	t.balancers[b.arn] = b
	t.SetTags(b.arn, tags)
	t.HideNew(b.arn)
	if err := t.attachBalancer(b, b.mappings); err != nil {
		delete(t.balancers, b.arn)
		t.RemoveRecords(b.arn)
		return out, err
	}
	t.LinkedRole = true
	out.Balancers.Member = []balancerView{t.viewBalancer(b)}
	return out, nil
}

// newBalancer checks a request and builds the load balancer.
func (t *Tx) newBalancer(in createBalancerInput) (*balancer, map[string]string, error) {
	switch {
	case in.Type != "network":
		return nil, nil, core.Validation("The simulated region has network load balancers only: type '%s' is not available",
			cmp.Or(in.Type, "application"))
	case !elb.NamePattern.MatchString(in.Name):
		return nil, nil, core.Validation("Load balancer name '%s' must be 1 to 32 letters, digits and hyphens, and cannot "+
			"begin or end with a hyphen", in.Name)
	case strings.HasPrefix(in.Name, "internal-"):
		return nil, nil, core.Validation("Load balancer name cannot begin with 'internal-'")
	}
	b := &balancer{
		name: in.Name, scheme: cmp.Or(in.Scheme, elb.SchemePublic), addressType: cmp.Or(in.IPAddressType, addressTypeIPv4),
		created: t.Now, groups: slices.Clone(in.SecurityGroups), hasGroups: len(in.SecurityGroups) > 0,
		ENIs: map[string]string{}, privateLink: "on", sourceNAT: cmp.Or(in.SourceNAT, "off"),
		attributes: balancerAttributes(),
	}
	if b.addressType != addressTypeIPv4 && b.addressType != addressTypeDualStack {
		return nil, nil, core.Validation("IpAddressType '%s' is not supported for network load balancers", b.addressType)
	}
	if err := b.checkSourceNAT(); err != nil {
		return nil, nil, err
	}
	tags, err := elb.CheckTags(in.Tags)
	if err != nil {
		return nil, nil, err
	}
	b.mappings, b.VPC, err = t.resolveMappings(b, in.Subnets, in.SubnetMappings)
	if err != nil {
		return nil, nil, err
	}
	if err := t.checkGroups(b.groups, b.VPC); err != nil {
		return nil, nil, err
	}
	b.suffix = fmt.Sprintf("%016x", t.Random.Uint64())
	b.arn = t.ARN("elasticloadbalancing", "loadbalancer/net/"+b.name+"/"+b.suffix)
	return b, tags, nil
}

// equalBalancers reports whether a request for b creates the existing load balancer a again: AWS then returns a.
func equalBalancers(a, b *balancer) bool {
	subnets := func(b *balancer) []string {
		var out []string
		for _, m := range b.mappings {
			out = append(out, m.SubnetID)
		}
		slices.Sort(out)
		return out
	}
	return a.scheme == b.scheme && a.addressType == b.addressType && slices.Equal(subnets(a), subnets(b)) &&
		slices.Equal(slices.Sorted(slices.Values(a.groups)), slices.Sorted(slices.Values(b.groups)))
}

func (t *Tx) balancerByName(name string) *balancer {
	for _, b := range t.balancers {
		if b.name == name {
			return b
		}
	}
	return nil
}

// setSubnets replaces the subnets.
func (t *Tx) setSubnets(b *balancer, in struct {
	balancerRef
	Subnets        []string
	SubnetMappings []subnetMapping
	IPAddressType  string `q:"IpAddressType"`
	SourceNAT      string `q:"EnablePrefixForIpv6SourceNat"`
}) (out struct {
	Zones       query.Members[balancerZoneView] `xml:"AvailabilityZones"`
	AddressType string                          `xml:"IpAddressType"`
	SourceNAT   string                          `xml:"EnablePrefixForIpv6SourceNat"`
}, err error) {
	changed := *b
	changed.addressType = cmp.Or(in.IPAddressType, b.addressType)
	changed.sourceNAT = cmp.Or(in.SourceNAT, b.sourceNAT)
	if err := changed.checkSourceNAT(); err != nil {
		return out, err
	}
	mappings, vpc, err := t.resolveMappings(&changed, in.Subnets, in.SubnetMappings)
	if err != nil {
		return out, err
	}
	if vpc != b.VPC {
		return out, refuseConfiguration("The subnets must belong to VPC '%s'", b.VPC)
	}
	if err := t.checkAddressType(&changed); err != nil {
		return out, err
	}
	if err := t.checkReplacedSubnets(b, mappings); err != nil {
		return out, err
	}
	if err := t.attachBalancer(b, mappings); err != nil {
		return out, err
	}
	b.addressType, b.sourceNAT = changed.addressType, changed.sourceNAT
	out.Zones, out.AddressType, out.SourceNAT = t.balancerZones(b), b.addressType, b.sourceNAT
	return out, nil
}

// resolveMappings returns the mappings of a request, and the VPC of their subnets: one subnet for each zone.
func (t *Tx) resolveMappings(
	b *balancer, subnets []string, mappings []subnetMapping,
) (resolved []subnetMapping, vpc string, err error) {
	if (len(subnets) == 0) == (len(mappings) == 0) {
		return nil, "", core.Validation("You must specify either subnets or subnet mappings")
	}
	resolved = slices.Clone(mappings)
	for _, id := range subnets {
		resolved = append(resolved, subnetMapping{SubnetID: id})
	}
	zones := map[string]bool{}
	for _, m := range resolved {
		s := t.Subnets[m.SubnetID]
		if s == nil {
			return nil, "", core.Refuse("SubnetNotFound", "The subnet ID '%s' does not exist", m.SubnetID)
		}
		if vpc = cmp.Or(vpc, s.VPC); vpc != s.VPC {
			return nil, "", refuseConfiguration("All subnets must belong to the same VPC")
		}
		if zones[s.Zone] {
			return nil, "", refuseConfiguration(
				"A load balancer cannot be attached to multiple subnets in the same Availability Zone")
		}
		zones[s.Zone] = true
		if err := t.checkMapping(b, s, m); err != nil {
			return nil, "", err
		}
	}
	// AWS requires no more than this of a public load balancer: its subnets may have no route to the gateway.
	if b.scheme == elb.SchemePublic && t.VPCs[vpc].GatewayID == "" {
		return nil, "", core.Refuse("InvalidSubnet", "VPC %s has no internet gateway", vpc)
	}
	return resolved, vpc, nil
}

func (t *Tx) setAddressType(b *balancer, in struct {
	balancerRef
	IPAddressType string `q:"IpAddressType"`
}) (out struct {
	AddressType string `xml:"IpAddressType"`
}, err error) {
	changed := *b
	changed.addressType = in.IPAddressType
	for _, m := range b.mappings {
		if err := t.checkMapping(&changed, t.Subnets[m.SubnetID], m); err != nil {
			return out, err
		}
	}
	if err := t.checkAddressType(&changed); err != nil {
		return out, err
	}
	b.addressType, out.AddressType = in.IPAddressType, in.IPAddressType
	return out, nil
}

func (t *Tx) checkMapping(b *balancer, s *ec2.Subnet, m subnetMapping) error {
	if m.AllocationID != "" {
		a := t.Addresses[m.AllocationID]
		switch {
		case b.scheme != elb.SchemePublic:
			return refuseConfiguration("Allocation IDs cannot be specified for internal load balancers")
		case a == nil:
			return core.Refuse("AllocationIdNotFound", "The allocation ID '%s' does not exist", m.AllocationID)
		case a.Iface != "" && a.Iface != b.ENIs[s.ID]:
			return core.Refuse("ResourceInUse", "The allocation ID '%s' is already in use", m.AllocationID)
		}
	}
	if m.PrivateIPv4 != "" {
		ip, err := netip.ParseAddr(m.PrivateIPv4)
		if b.scheme != elb.SchemeInternal {
			return refuseConfiguration("Private IPv4 addresses can be specified for internal load balancers only")
		}
		if err != nil || !s.CIDR.Contains(ip) {
			return refuseConfiguration("Private IPv4 address '%s' is not in the range of subnet '%s'",
				m.PrivateIPv4, s.ID)
		}
	}
	if b.addressType == addressTypeDualStack && !s.CIDR6.IsValid() {
		return core.Refuse("InvalidSubnet", "Subnet '%s' has no IPv6 CIDR block, which dualstack requires", s.ID)
	}
	if m.IPv6 != "" && b.addressType != addressTypeDualStack {
		return refuseConfiguration("IPv6 addresses can be specified for dualstack load balancers only")
	}
	return nil
}

type describeBalancersInput struct {
	elb.Page
	LoadBalancerArns []string
	Names            []string
}

func (t *Tx) describeBalancers(in describeBalancersInput) (out balancersOutput, err error) {
	if len(in.LoadBalancerArns) > elb.MaxDescribeV2 || len(in.Names) > elb.MaxDescribeV2 {
		return out, core.Validation("No more than %d load balancers can be described at once", elb.MaxDescribeV2)
	}
	var found []*balancer
	for _, arn := range in.LoadBalancerArns {
		b := t.balancers[arn]
		if b == nil || !t.Visible(arn) {
			return out, core.Refuse("LoadBalancerNotFound", "One or more load balancers not found")
		}
		found = append(found, b)
	}
	for _, name := range in.Names {
		b := t.balancerByName(name)
		if b == nil || !t.Visible(b.arn) {
			return out, core.Refuse("LoadBalancerNotFound", "Load balancers '[%s]' not found", strings.Join(in.Names, ", "))
		}
		found = append(found, b)
	}
	if len(in.LoadBalancerArns)+len(in.Names) == 0 {
		for _, arn := range core.VisibleIDs(t.Base(), t.balancers) {
			found = append(found, t.balancers[arn])
		}
	}
	out.Balancers, out.NextMarker, err = elb.Cut(found, in.Page, func(b *balancer) string { return b.arn },
		t.viewBalancer)
	return out, err
}

// deleteBalancer succeeds for a missing load balancer, as AWS documents. It deletes its listeners; its target
// groups stay.
func (t *Tx) deleteBalancer(in struct{ LoadBalancerArn string }) (core.Nothing, error) {
	b := t.balancers[in.LoadBalancerArn]
	switch {
	case b == nil:
		return core.Nothing{}, checkARN(in.LoadBalancerArn, "loadbalancer", "load balancer")
	case b.attributes["deletion_protection.enabled"] == "true":
		return core.Nothing{}, core.Refuse("OperationNotPermitted",
			"Load balancer '%s' cannot be deleted because deletion protection is enabled", b.arn)
	}
	t.removeBalancer(b)
	return core.Nothing{}, nil
}

func (t *Tx) removeBalancer(b *balancer) {
	for _, l := range t.listenersOf(b.arn) {
		t.removeListener(l)
	}
	for _, eni := range b.ENIs {
		t.ReleaseInterface(eni)
	}
	delete(t.balancers, b.arn)
	t.RemoveRecords(b.arn)
}
