package core

import (
	"cmp"
	"encoding/binary"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// Options of a cloud. The zero value is a project with one region of three zones that is ready for a cluster, without
// latency, limits, faults and settle times.
type Options struct {
	// Project is the ID of the cluster's project, "simulated" by default. Other projects are in OtherProjects.
	Project       string
	OtherProjects []string
	// NetworkProject is the host project of a shared VPC, which has the network, its firewall rules and its routes.
	NetworkProject string
	// Region is europe-west1 by default; Zones are its zones, three by default. OtherRegions have two zones each.
	Region       string
	Zones        []string
	OtherRegions []string
	// Network is the name of the cluster's network, "default" by default. AutoSubnets gives it a subnet in each region;
	// otherwise the network is in custom mode, with one subnet of the name of the network in each region too.
	Network     string
	AutoSubnets bool

	// Machines is the range of the subnet in Region, 10.132.0.0/18 by default. Public is the range of external addresses
	// in the premium tier, and Standard in the standard tier.
	Machines, Public, Standard netip.Prefix
	// Pods is the secondary range of the subnet from which each machine gets an alias range of 256 addresses. Without it
	// machines have none.
	Pods netip.Prefix
	// IPv6 gives each machine an internal IPv6 address.
	IPv6 bool
	// PublicNodes gives each machine an external address.
	PublicNodes bool
	// Tags are the network tags of machines; "nodes" by default.
	Tags []string

	// Deny reports whether a permission such as compute.firewalls.create is denied in a project. Nil denies nothing.
	Deny func(permission, project string) bool
	// TokenLife is how long a token is valid; an hour by default.
	TokenLife time.Duration
	// KeepUsedAddresses refuses the deletion of addresses in use. By default their users keep them as ephemeral ones.
	KeepUsedAddresses bool
	// LateErrors reports exceeded quotas, references, conflicts and taken names in operations instead of responses,
	// because Compute Engine does either.
	LateErrors bool

	// BootTime is how long a launched instance is STAGING.
	BootTime time.Duration
	// SettleTime is how long each operation takes, SettleTimes by method: forwardingRules.insert.
	SettleTime  time.Duration
	SettleTimes map[string]time.Duration

	// Latency of every call.
	Latency time.Duration
	// Limits are token buckets of the front, by service and class such as compute/write.
	Limits map[string]kit.Bucket
	// ErrorRate is the probability with which a call fails with an internal error, from 0 to 1.
	ErrorRate float64
	// Seed makes failures, IDs and secrets repeatable.
	Seed int64
	// Quotas by metric replace the default ones.
	Quotas map[string]int
	// Clock is the real one by default.
	Clock clock.WithTicker
}

// Names of quotas, as the metrics of projects and regions.
const (
	QuotaForwardingRules = "FORWARDING_RULES"
	QuotaTargetPools     = "TARGET_POOLS"
	QuotaAddresses       = "STATIC_ADDRESSES"
	QuotaInternal        = "INTERNAL_ADDRESSES"
	QuotaBackendServices = "BACKEND_SERVICES"
	QuotaHealthChecks    = "HEALTH_CHECKS"
	QuotaFirewalls       = "FIREWALLS"
	QuotaRoutes          = "ROUTES"
	QuotaInstanceGroups  = "INSTANCE_GROUPS"
)

// defaultQuotas returns high values: a simulated cluster of 5,000 nodes must fit.
func defaultQuotas() map[string]int {
	return map[string]int{QuotaForwardingRules: 5_000, QuotaTargetPools: 5_000, QuotaAddresses: 5_000,
		QuotaInternal: 5_000, QuotaBackendServices: 5_000, QuotaHealthChecks: 5_000, QuotaFirewalls: 10_000,
		QuotaRoutes: 10_000, QuotaInstanceGroups: 5_000}
}

// WithDefaults returns the options with defaults for the unset ones.
func (o Options) WithDefaults() Options {
	o.Project = cmp.Or(o.Project, "simulated")
	o.NetworkProject = cmp.Or(o.NetworkProject, o.Project)
	o.Region = cmp.Or(o.Region, "europe-west1")
	if len(o.Zones) == 0 {
		o.Zones = []string{o.Region + "-b", o.Region + "-c", o.Region + "-d"}
	}
	o.Network = cmp.Or(o.Network, "default")
	setPrefix(&o.Machines, "10.132.0.0/18")
	setPrefix(&o.Public, "198.18.0.0/16")
	setPrefix(&o.Standard, "198.19.0.0/16")
	if o.Tags == nil {
		o.Tags = []string{"nodes"}
	}
	o.TokenLife = cmp.Or(o.TokenLife, time.Hour)
	o.Quotas = kit.MergeQuotas(defaultQuotas(), o.Quotas)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

func setPrefix(p *netip.Prefix, text string) {
	if !p.IsValid() {
		*p = netip.MustParsePrefix(text)
	}
}

var validProject = regexp.MustCompile(`^[a-z][-a-z0-9]{4,28}[a-z0-9]$`)

// Validate returns all problems of the options, joined.
func (o Options) Validate() error {
	var problems kit.Problems
	for _, p := range slices.Concat([]string{o.Project, o.NetworkProject}, o.OtherProjects) {
		if !validProject.MatchString(p) {
			problems.Addf("project %q is not an ID: use 6 to 30 lowercase letters, digits and dashes", p)
		}
	}
	for _, zone := range o.Zones {
		if RegionOf(zone) != o.Region {
			problems.Addf("zone %q is not in region %s", zone, o.Region)
		}
	}
	ranges := map[string]netip.Prefix{"machines": o.Machines, "public": o.Public, "standard": o.Standard}
	if o.Pods.IsValid() {
		ranges["pods"] = o.Pods
	}
	for _, name := range slices.Sorted(maps.Keys(ranges)) {
		if p := ranges[name]; !p.Addr().Is4() || p != p.Masked() || p.Bits() > 28 {
			problems.Addf("range %s of %s is not an IPv4 network of size /28 or larger", p, name)
		}
	}
	problems.CheckErrorRate(o.ErrorRate)
	problems.CheckQuotas(o.Quotas, defaultQuotas())
	problems.CheckDurations(o.BootTime, o.SettleTime, o.Latency, o.TokenLife)
	return problems.Err()
}

// Shifted returns the i-th range after a range, of its size.
func Shifted(p netip.Prefix, i int) netip.Prefix {
	v4 := p.Addr().As4()
	n := binary.BigEndian.Uint32(v4[:]) + uint32(i)<<(32-p.Bits()) //nolint:gosec // ranges are few
	binary.BigEndian.PutUint32(v4[:], n)
	return netip.PrefixFrom(netip.AddrFrom4(v4), p.Bits())
}

// User is the service account of the manager.
func (o *Options) User() string { return "ccm@" + o.Project + ".iam.gserviceaccount.com" }

// Projects returns the IDs of all projects, the cluster's first.
func (o *Options) Projects() []string {
	out := []string{o.Project}
	for _, p := range append([]string{o.NetworkProject}, o.OtherProjects...) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// AllZones returns the zones of all regions.
func (o *Options) AllZones() []string {
	out := slices.Clone(o.Zones)
	for _, r := range o.OtherRegions {
		out = append(out, r+"-a", r+"-b")
	}
	return out
}

// Regions returns the names of all regions, the cluster's first.
func (o *Options) Regions() []string { return append([]string{o.Region}, o.OtherRegions...) }

// Number returns the number of a project, which stands for its ID in URLs.
func (o *Options) Number(project string) string {
	return strconv.Itoa(100_000_000_001 + slices.Index(o.Projects(), project))
}

// ProjectID returns the ID of a project that is named by its ID or its number, "" for an unknown one.
func (o *Options) ProjectID(name string) string {
	for _, p := range o.Projects() {
		if name == p || name == o.Number(p) {
			return p
		}
	}
	return ""
}
