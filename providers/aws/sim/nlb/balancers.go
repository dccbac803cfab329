// Package nlb simulates the second generation of Elastic Load Balancing, with network load balancers only.
package nlb

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// State has all objects by ARN.
type State struct {
	balancers    map[string]*balancer
	listeners    map[string]*listener
	targetGroups map[string]*targetGroup
}

// NewState returns the state without objects.
func NewState() *State {
	return &State{map[string]*balancer{}, map[string]*listener{}, map[string]*targetGroup{}}
}

// Tx is one operation on the state.
type Tx struct {
	*elb.Tx
	*State
}

// balancer is a load balancer of the second generation. Only network load balancers are supported.
type balancer struct {
	arn, name, suffix string
	scheme, VPC       string
	addressType       string
	mappings          []subnetMapping
	groups            []string
	// hasGroups is set at creation and can never change: one created without security groups cannot get any.
	hasGroups   bool
	privateLink string
	// sourceNAT is on or off: whether UDP of IPv6 clients reaches IPv4 targets.
	sourceNAT  string
	attributes map[string]string
	created    time.Time
	// ENIs are the network interfaces by subnet.
	ENIs map[string]string
}

// IP address types of load balancers and target groups. Target groups have addressTypeIPv6 and addressTypeIPv4.
const (
	addressTypeIPv4      = "ipv4"
	addressTypeIPv6      = "ipv6"
	addressTypeDualStack = "dualstack"
)

type subnetMapping struct {
	SubnetID           string `q:"SubnetId"`
	AllocationID       string `q:"AllocationId"`
	PrivateIPv4        string `q:"PrivateIPv4Address"`
	IPv6               string `q:"IPv6Address"`
	SourceNatIPv6Range string `q:"SourceNatIpv6Prefix"`
}

// The parts of requests that name an object.
type (
	balancerRef    struct{ LoadBalancerArn string }
	targetGroupRef struct{ TargetGroupArn string }
	listenerRef    struct{ ListenerArn string }
)

func (n balancerRef) Object(t *Tx) (*balancer, error) { return t.findBalancer(n.LoadBalancerArn) }
func (n targetGroupRef) Object(t *Tx) (*targetGroup, error) {
	return t.findTargetGroup(n.TargetGroupArn)
}
func (n listenerRef) Object(t *Tx) (*listener, error) { return t.findListener(n.ListenerArn) }

func balancerOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeLoadBalancers", (*Tx).describeBalancers),
		core.Write("CreateLoadBalancer", (*Tx).createBalancer),
		core.Write("DeleteLoadBalancer", (*Tx).deleteBalancer),
		core.Write("SetSecurityGroups", core.On((*Tx).setSecurityGroups)),
		core.Write("SetSubnets", core.On((*Tx).setSubnets)),
		core.Write("SetIpAddressType", core.On((*Tx).setAddressType)),
		core.Read("DescribeLoadBalancerAttributes", core.On((*Tx).describeBalancerAttributes)),
		core.Write("ModifyLoadBalancerAttributes", core.On((*Tx).modifyBalancerAttributes)),
	}
}

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

// find returns the object that a request names. kind is its type in ARNs, and noun in errors.
func find[T any](all map[string]*T, arn, kind, noun string, errMissing error) (*T, error) {
	if x := all[arn]; x != nil {
		return x, nil
	}
	if err := checkARN(arn, kind, noun); err != nil {
		return nil, err
	}
	return nil, errMissing
}

func checkARN(arn, kind, noun string) error {
	if !strings.Contains(arn, ":"+kind+"/") {
		return core.Validation("'%s' is not a valid %s ARN", arn, noun)
	}
	return nil
}

func (t *Tx) findBalancer(arn string) (*balancer, error) {
	return find(t.balancers, arn, "loadbalancer", "load balancer",
		core.Refuse("LoadBalancerNotFound", "Load balancer '%s' not found", arn))
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

// refuseConfiguration returns the error for an invalid configuration.
func refuseConfiguration(format string, args ...any) error {
	return core.Refuse("InvalidConfigurationRequest", format, args...)
}

// Operations returns the operations of the second generation of Elastic Load Balancing.
func Operations() []core.Operation[*Tx] {
	return slices.Concat(balancerOperations(), listenerOperations(), targetGroupOperations(), targetOperations(),
		tagOperations())
}
