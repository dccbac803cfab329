package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// Schemes of load balancers, of both generations.
const (
	schemePublic   = "internet-facing"
	schemeInternal = "internal"
)

// balancer is a load balancer of the second generation. Only network load balancers can be made.
type balancer struct {
	arn, name, suffix string
	scheme, vpc       string
	addressType       string
	mappings          []subnetMapping
	groups            []string
	// withGroups is decided when it is made and can never change: one made without security groups cannot get any.
	withGroups  bool
	privateLink string
	// sourceNAT is on or off: whether UDP of IPv6 clients reaches IPv4 targets.
	sourceNAT  string
	attributes map[string]string
	made       time.Time
	// enis are the network interfaces by subnet.
	enis map[string]string
}

type subnetMapping struct {
	SubnetID           string `q:"SubnetId"`
	AllocationID       string `q:"AllocationId"`
	PrivateIPv4        string `q:"PrivateIPv4Address"`
	IPv6               string `q:"IPv6Address"`
	SourceNatIPv6Range string `q:"SourceNatIpv6Prefix"`
}

func v2BalancerOperations() []operation {
	return []operation{
		read("DescribeLoadBalancers", (*tx).describeBalancers),
		write("CreateLoadBalancer", (*tx).createBalancer),
		write("DeleteLoadBalancer", (*tx).deleteBalancer),
		write("SetSecurityGroups", on((*tx).setSecurityGroups)),
		write("SetSubnets", on((*tx).setSubnets)),
		write("SetIpAddressType", on((*tx).setAddressType)),
		read("DescribeLoadBalancerAttributes", on((*tx).describeBalancerAttributes)),
		write("ModifyLoadBalancerAttributes", on((*tx).modifyBalancerAttributes)),
	}
}

// elbTag is a tag as Elastic Load Balancing writes it.
type elbTag struct {
	Key   string
	Value string
}

// checkELBTags refuses tags that Elastic Load Balancing does not allow.
func checkELBTags(tags []elbTag) (map[string]string, error) {
	out := map[string]string{}
	for _, tag := range tags {
		if tag.Key == "" || len([]rune(tag.Key)) > maxTagKey || len([]rune(tag.Value)) > maxTagValue {
			return nil, validation("Tag '%s' is not valid: keys have 1 to %d characters and values up to %d", tag.Key, maxTagKey,
				maxTagValue)
		}
		if strings.HasPrefix(strings.ToLower(tag.Key), "aws:") {
			return nil, validation("Tag keys cannot start with 'aws:'")
		}
		if has(out, tag.Key) {
			return nil, refuse("DuplicateTagKeys", "Duplicate tag key '%s' specified", tag.Key)
		}
		out[tag.Key] = tag.Value
	}
	if len(out) > maxTags {
		return nil, refuse("TooManyTags", "The maximum number of tags has been reached")
	}
	return out, nil
}

var balancerName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$`)

type createBalancerInput struct {
	Name           string
	Type           string
	Scheme         string
	IPAddressType  string `q:"IpAddressType"`
	Subnets        []string
	SubnetMappings []subnetMapping
	SecurityGroups []string
	SourceNAT      string `q:"EnablePrefixForIpv6SourceNat"`
	Tags           []elbTag
}

type balancersOutput struct {
	Balancers  query.Members[balancerView] `xml:"LoadBalancers"`
	NextMarker string                      `xml:"NextMarker,omitempty"`
}

func (t *tx) createBalancer(in createBalancerInput) (out balancersOutput, err error) {
	b, tags, err := t.newBalancer(in)
	if err != nil {
		return out, err
	}
	if old := t.balancerByName(in.Name); old != nil {
		if !sameBalancer(old, b) {
			return out, refuse("DuplicateLoadBalancerName",
				"A load balancer with the same name '%s' exists, but with different settings", in.Name)
		}
		out.Balancers.Member = []balancerView{t.viewBalancer(old)}
		return out, nil
	}
	if len(t.balancers) >= t.o.Quotas[QuotaNetworkBalancers] {
		return out, refuse("TooManyLoadBalancers", "The maximum number of load balancers has been reached")
	}
	t.balancers[b.arn] = b
	t.setTags(b.arn, tags)
	t.hideNew(b.arn)
	if err := t.attachBalancer(b, b.mappings); err != nil {
		delete(t.balancers, b.arn)
		t.removeRecords(b.arn)
		return out, err
	}
	t.linkedRole = true
	out.Balancers.Member = []balancerView{t.viewBalancer(b)}
	return out, nil
}

// newBalancer checks a request and builds the load balancer.
func (t *tx) newBalancer(in createBalancerInput) (*balancer, map[string]string, error) {
	switch {
	case in.Type != "network":
		return nil, nil, validation("The simulated region has network load balancers only: type '%s' is not available",
			cmp.Or(in.Type, "application"))
	case !balancerName.MatchString(in.Name):
		return nil, nil, validation("Load balancer name '%s' must be 1 to 32 letters, digits and hyphens, and cannot "+
			"begin or end with a hyphen", in.Name)
	case strings.HasPrefix(in.Name, "internal-"):
		return nil, nil, validation("Load balancer name cannot begin with 'internal-'")
	}
	b := &balancer{
		name: in.Name, scheme: cmp.Or(in.Scheme, schemePublic), addressType: cmp.Or(in.IPAddressType, "ipv4"), made: t.now,
		groups: slices.Clone(in.SecurityGroups), withGroups: len(in.SecurityGroups) > 0, enis: map[string]string{},
		privateLink: "on",
		sourceNAT:   cmp.Or(in.SourceNAT, "off"), attributes: balancerAttributes(),
	}
	if err := checkSourceNAT(b.sourceNAT, b.addressType); err != nil {
		return nil, nil, err
	}
	if b.scheme != schemePublic && b.scheme != schemeInternal {
		return nil, nil, validation("Scheme '%s' must be 'internal' or 'internet-facing'", b.scheme)
	}
	if b.addressType != "ipv4" && b.addressType != "dualstack" {
		return nil, nil, validation("IpAddressType '%s' is not supported for network load balancers", b.addressType)
	}
	tags, err := checkELBTags(in.Tags)
	if err != nil {
		return nil, nil, err
	}
	b.mappings, b.vpc, err = t.mappings(b, in.Subnets, in.SubnetMappings)
	if err != nil {
		return nil, nil, err
	}
	if err := t.balancerGroups(b.groups, b.vpc); err != nil {
		return nil, nil, err
	}
	b.suffix = fmt.Sprintf("%016x", t.cloud.random.Uint64())
	b.arn = t.arn("elasticloadbalancing", "loadbalancer/net/"+b.name+"/"+b.suffix)
	return b, tags, nil
}

func sameBalancer(a, b *balancer) bool {
	subnets := func(x *balancer) []string {
		var out []string
		for _, m := range x.mappings {
			out = append(out, m.SubnetID)
		}
		slices.Sort(out)
		return out
	}
	return a.scheme == b.scheme && a.addressType == b.addressType && slices.Equal(subnets(a), subnets(b)) &&
		slices.Equal(slices.Sorted(slices.Values(a.groups)), slices.Sorted(slices.Values(b.groups)))
}

func (t *tx) balancerByName(name string) *balancer {
	for _, b := range t.balancers {
		if b.name == name {
			return b
		}
	}
	return nil
}

// mappings checks the subnets of a load balancer: one for each zone, all of one VPC.
func (t *tx) mappings(b *balancer, subnets []string, given []subnetMapping) ([]subnetMapping, string, error) {
	if (len(subnets) == 0) == (len(given) == 0) {
		return nil, "", validation("You must specify either subnets or subnet mappings")
	}
	given = slices.Clone(given)
	for _, id := range subnets {
		given = append(given, subnetMapping{SubnetID: id})
	}
	zones := map[string]string{}
	vpc := ""
	for _, m := range given {
		s := t.subnets[m.SubnetID]
		if s == nil {
			return nil, "", refuse("SubnetNotFound", "The subnet ID '%s' does not exist", m.SubnetID)
		}
		if vpc = cmp.Or(vpc, s.vpc); vpc != s.vpc {
			return nil, "", refuse("InvalidConfigurationRequest", "All subnets must belong to the same VPC")
		}
		if has(zones, s.zone) {
			return nil, "", refuse("InvalidConfigurationRequest",
				"A load balancer cannot be attached to multiple subnets in the same Availability Zone")
		}
		zones[s.zone] = s.id
		if err := t.checkMapping(b, s, m); err != nil {
			return nil, "", err
		}
	}
	// AWS requires no more than this of a public load balancer: its subnets may have no route to the gateway.
	if b.scheme == schemePublic && t.vpcs[vpc].gatewayID == "" {
		return nil, "", refuse("InvalidSubnet", "VPC %s has no internet gateway", vpc)
	}
	return given, vpc, nil
}

func (t *tx) checkMapping(b *balancer, s *subnet, m subnetMapping) error {
	if m.AllocationID != "" {
		a := t.addresses[m.AllocationID]
		switch {
		case b.scheme != schemePublic:
			return refuse("InvalidConfigurationRequest", "Allocation IDs cannot be specified for internal load balancers")
		case a == nil:
			return refuse("AllocationIdNotFound", "The allocation ID '%s' does not exist", m.AllocationID)
		case a.iface != "" && a.iface != b.enis[s.id]:
			return refuse("ResourceInUse", "The allocation ID '%s' is already in use", m.AllocationID)
		}
	}
	if m.PrivateIPv4 != "" {
		ip, err := netip.ParseAddr(m.PrivateIPv4)
		if b.scheme != schemeInternal {
			return refuse("InvalidConfigurationRequest",
				"Private IPv4 addresses can be specified for internal load balancers only")
		}
		if err != nil || !s.cidr.Contains(ip) {
			return refuse("InvalidConfigurationRequest", "Private IPv4 address '%s' is not in the range of subnet '%s'",
				m.PrivateIPv4, s.id)
		}
	}
	if b.addressType == "dualstack" && !s.cidr6.IsValid() {
		return refuse("InvalidSubnet", "Subnet '%s' has no IPv6 CIDR block, which dualstack requires", s.id)
	}
	if m.IPv6 != "" && b.addressType != "dualstack" {
		return refuse("InvalidConfigurationRequest", "IPv6 addresses can be specified for dualstack load balancers only")
	}
	return nil
}

func (t *tx) balancerGroups(groups []string, vpc string) error {
	for _, id := range groups {
		if g := t.groups[id]; g == nil || g.vpc != vpc {
			return refuse("InvalidSecurityGroup", "Security group '%s' does not exist in VPC '%s'", id, vpc)
		}
	}
	if limit := t.o.Quotas[QuotaGroupsPerInterface]; len(groups) > limit {
		return refuse("InvalidConfigurationRequest", "The maximum number of security groups is %d", limit)
	}
	return nil
}

// balancerOf finds a load balancer that a request names.
func (t *tx) balancerOf(arn string) (*balancer, error) {
	if b := t.balancers[arn]; b != nil {
		return b, nil
	}
	if !strings.Contains(arn, ":loadbalancer/") {
		return nil, validation("'%s' is not a valid load balancer ARN", arn)
	}
	return nil, refuse("LoadBalancerNotFound", "Load balancer '%s' not found", arn)
}

type describeBalancersInput struct {
	elbPage
	LoadBalancerArns []string
	Names            []string
}

func (t *tx) describeBalancers(in describeBalancersInput) (out balancersOutput, err error) {
	if len(in.LoadBalancerArns) > maxDescribeV2 || len(in.Names) > maxDescribeV2 {
		return out, validation("No more than %d load balancers can be described at once", maxDescribeV2)
	}
	var found []*balancer
	for _, arn := range in.LoadBalancerArns {
		b := t.balancers[arn]
		if b == nil || !t.visible(arn) {
			return out, refuse("LoadBalancerNotFound", "One or more load balancers not found")
		}
		found = append(found, b)
	}
	for _, name := range in.Names {
		b := t.balancerByName(name)
		if b == nil || !t.visible(b.arn) {
			return out, refuse("LoadBalancerNotFound", "Load balancers '[%s]' not found", strings.Join(in.Names, ", "))
		}
		found = append(found, b)
	}
	if len(in.LoadBalancerArns)+len(in.Names) == 0 {
		for _, arn := range sortedIDs(t.balancers) {
			if t.visible(arn) {
				found = append(found, t.balancers[arn])
			}
		}
	}
	out.Balancers, out.NextMarker, err = elbCut(found, in.elbPage, func(b *balancer) string { return b.arn },
		t.viewBalancer)
	return out, err
}

// deleteBalancer is no error when there is nothing to delete, as AWS documents. Its listeners go with it, its target
// groups stay.
func (t *tx) deleteBalancer(in struct{ LoadBalancerArn string }) (nothing, error) {
	b := t.balancers[in.LoadBalancerArn]
	switch {
	case b == nil && !strings.Contains(in.LoadBalancerArn, ":loadbalancer/"):
		return nothing{}, validation("'%s' is not a valid load balancer ARN", in.LoadBalancerArn)
	case b == nil:
		return nothing{}, nil
	case b.attributes["deletion_protection.enabled"] == "true":
		return nothing{}, refuse("OperationNotPermitted",
			"Load balancer '%s' cannot be deleted because deletion protection is enabled", b.arn)
	}
	t.removeBalancer(b)
	return nothing{}, nil
}

func (t *tx) removeBalancer(b *balancer) {
	for arn, l := range t.listeners {
		if l.balancer == b.arn {
			delete(t.listeners, arn)
			t.removeRecords(arn)
		}
	}
	for _, eni := range b.enis {
		t.releaseInterface(eni)
	}
	delete(t.balancers, b.arn)
	t.removeRecords(b.arn)
}
