package core

import (
	"cmp"
	"net/netip"
	"strings"
	"time"

	"k8s.io/utils/clock"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// Options of a cloud. The zero value is one region with three zones and a VPC that is ready for a
// cluster, without latency, limits, faults and settle times.
type Options struct {
	// Region is us-west-2 by default, and Zones are the region's name with a, b and c appended. At most three.
	Region string
	Zones  []string
	// Account is 123456789012 by default.
	Account string
	// Cluster is the cluster's ID in the tags of the VPC's objects and of launched instances: "sim" by default.
	Cluster string
	// VPC is 10.0.0.0/16 by default. It must be a /16.
	VPC netip.Prefix
	// VPC6 is the VPC's IPv6 network, a /56: 2001:db8:1234:1a00::/56 by default.
	VPC6 netip.Prefix
	// IPv6 gives launched instances an IPv6 address too; PublicNodes a public IPv4 address, in a public subnet.
	IPv6, PublicNodes bool
	// PrimaryIPv6 makes the IPv6 address of launched instances their primary one, which target groups of instances need.
	PrimaryIPv6 bool
	// AccessKeys are valid; without any, every key is.
	AccessKeys []string
	// Secret is the secret of all AccessKeys. If it is set, signatures are checked, also those of sessions.
	Secret string
	// Skew is how far the cloud's clock is ahead of Clock, or behind if negative, in the dates of responses and
	// for signatures. With Skew or Secret, requests that are more than five minutes off are rejected.
	Skew time.Duration
	// Policy is an IAM policy document, in JSON, for all callers; unsupported elements are errors.
	// Empty allows all.
	Policy []byte
	// Allow reports in addition to Policy whether an action such as ec2:DescribeInstances is allowed. Nil allows all.
	Allow func(action string) bool

	// Certificates are the ARNs of all certificates that exist; without any, every well-formed ARN does.
	Certificates []string

	// FixedProtocols lets ModifyListener refuse to change listeners to and from UDP on all load balancers: AWS documents
	// that only for dual-stack ones.
	FixedProtocols bool

	// BootTime is how long a launched instance is pending.
	BootTime time.Duration
	// TerminatedTime is how long terminated instances stay visible; an hour by default, negative means not at
	// all.
	TerminatedTime time.Duration
	// SettleTime is how long a new object stays invisible to reads.
	SettleTime time.Duration
	// ProvisionTime is how long a new load balancer stays in provisioning.
	ProvisionTime time.Duration
	// HealthTime is how long a new target stays initial, DrainTime the maximum time that a removed one is
	// draining, within its group's deregistration delay.
	HealthTime, DrainTime time.Duration
	// ReleaseTime is how long a deleted load balancer's network interfaces hold its subnets and security groups.
	ReleaseTime time.Duration

	// Latency of every call.
	Latency time.Duration
	// Limits are token buckets of the front; see PublishedLimits.
	Limits map[string]kit.Bucket
	// ErrorRate is the probability with which a call fails with an internal error, from 0 to 1.
	ErrorRate float64
	// Seed makes failures, IDs and random names repeatable.
	Seed int64
	// Quotas by name replace the default ones.
	Quotas map[string]int
	// Clock is the real one by default.
	Clock clock.WithTicker
}

// Names of quotas.
const (
	QuotaRulesPerGroup      = "rules-per-security-group"
	QuotaGroupsPerInterface = "security-groups-per-interface"
	QuotaGroups             = "security-groups"
	QuotaRoutesPerTable     = "routes-per-route-table"
	QuotaAddresses          = "elastic-ips"
	QuotaNetworkBalancers   = "network-load-balancers"
	QuotaClassicBalancers   = "classic-load-balancers"
	QuotaTargetGroups       = "target-groups"
	QuotaListeners          = "listeners-per-load-balancer"
	QuotaTargetsPerBalancer = "targets-per-zone-per-load-balancer"
	QuotaTargetsPerGroup    = "targets-per-target-group"
	QuotaCertificates       = "certificates-per-listener"
)

// defaultQuotas returns the published defaults for rules and groups of a network interface, listeners and certificates:
// the pages "Amazon VPC quotas" and "Quotas for your Network Load Balancers". Quotas that grow with a cluster are above
// their defaults, as AWS raises them on request: a simulated cluster of 5,000 nodes must fit.
func defaultQuotas() map[string]int {
	return map[string]int{
		QuotaRulesPerGroup:      60,
		QuotaGroupsPerInterface: 5,
		QuotaGroups:             10_000,
		QuotaRoutesPerTable:     10_000,
		QuotaAddresses:          1_000,
		QuotaNetworkBalancers:   2_000,
		QuotaClassicBalancers:   2_000,
		QuotaTargetGroups:       6_000,
		QuotaListeners:          50,
		QuotaTargetsPerBalancer: 10_000,
		QuotaTargetsPerGroup:    5_000,
		QuotaCertificates:       25,
	}
}

// PublishedLimits returns the token buckets that AWS publishes: for EC2 the buckets of most actions, in the chapter on
// request throttling of its developer guide (AWS applies them to each action, the simulator to all together); for both
// generations of Elastic Load Balancing the buckets in the same chapter of its user guide, without the one for all
// actions of an account.
func PublishedLimits() map[string]kit.Bucket {
	limits := map[string]kit.Bucket{
		ServiceEC2 + "/" + kit.ClassRead:              {Rate: 20, Burst: 100},
		ServiceEC2 + "/" + kit.ClassWrite:             {Rate: 5, Burst: 50},
		ServiceEC2 + "/DescribeInstanceTopology":      {Rate: 1, Burst: 1},
		ServiceEC2 + "/CreateTags":                    {Rate: 10, Burst: 100},
		ServiceEC2 + "/DeleteTags":                    {Rate: 10, Burst: 100},
		ServiceELBv2 + "/SetSubnets":                  {Rate: 0.2, Burst: 10},
		ServiceELBv2 + "/RegisterTargets":             {Rate: 4, Burst: 20},
		ServiceELBv2 + "/DeregisterTargets":           {Rate: 4, Burst: 20},
		ServiceELB + "/AttachLoadBalancerToSubnets":   {Rate: 0.2, Burst: 10},
		ServiceELB + "/DetachLoadBalancerFromSubnets": {Rate: 0.2, Burst: 10},

		ServiceELB + "/RegisterInstancesWithLoadBalancer":   {Rate: 4, Burst: 20},
		ServiceELB + "/DeregisterInstancesFromLoadBalancer": {Rate: 4, Burst: 20},
	}
	for _, service := range []string{ServiceELB, ServiceELBv2} {
		limits[service+"/"+kit.ClassRead] = kit.Bucket{Rate: 10, Burst: 40}
		limits[service+"/"+kit.ClassWrite] = kit.Bucket{Rate: 3, Burst: 20}
		limits[service+"/CreateLoadBalancer"] = kit.Bucket{Rate: 0.2, Burst: 10}
	}
	return limits
}

// WithDefaults returns the options with defaults for the unset ones.
func (o Options) WithDefaults() Options {
	o.Region = cmp.Or(o.Region, "us-west-2")
	if len(o.Zones) == 0 {
		o.Zones = []string{o.Region + "a", o.Region + "b", o.Region + "c"}
	}
	o.Account = cmp.Or(o.Account, "123456789012")
	o.Cluster = cmp.Or(o.Cluster, "sim")
	if !o.VPC.IsValid() {
		o.VPC = netip.MustParsePrefix("10.0.0.0/16")
	}
	if !o.VPC6.IsValid() {
		o.VPC6 = netip.MustParsePrefix("2001:db8:1234:1a00::/56")
	}
	o.TerminatedTime = cmp.Or(o.TerminatedTime, time.Hour)
	o.Quotas = kit.MergeQuotas(defaultQuotas(), o.Quotas)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// Validate returns all problems of the options, joined.
func (o Options) Validate() error {
	var problems kit.Problems
	if len(o.Zones) > 3 {
		problems.Addf("%d zones: at most 3 are possible", len(o.Zones))
	}
	for _, z := range o.Zones {
		if len(z) != len(o.Region)+1 || !strings.HasPrefix(z, o.Region) {
			problems.Addf("zone %q is not region %q and a letter", z, o.Region)
		}
	}
	if !o.VPC.Addr().Is4() || o.VPC.Bits() != 16 || o.VPC != o.VPC.Masked() {
		problems.Addf("VPC %s is not an IPv4 network of size /16", o.VPC)
	}
	if !o.VPC6.Addr().Is6() || o.VPC6.Bits() != 56 || o.VPC6 != o.VPC6.Masked() {
		problems.Addf("VPC6 %s is not an IPv6 network of size /56", o.VPC6)
	}
	problems.CheckErrorRate(o.ErrorRate)
	problems.CheckQuotas(o.Quotas, defaultQuotas())
	problems.CheckDurations(o.BootTime, o.SettleTime, o.ProvisionTime, o.HealthTime, o.DrainTime, o.ReleaseTime, o.Latency)
	return problems.Err()
}
