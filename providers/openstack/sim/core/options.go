package core

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// Options of a cloud. The zero value is one region with two availability zones and a project that is
// ready for a cluster, without latency, limits, faults and settle times.
type Options struct {
	// Region is RegionOne by default; Zones are Nova's availability zones, az-1 and az-2 by default.
	Region string
	Zones  []string
	// OtherRegions are in the catalog too, with unreachable endpoints.
	OtherRegions []string
	// Cluster is the name of the cluster's project: "k8s" by default. Password is the password of its user, ccm.
	Cluster, Password string

	// Private is the network of the machines, 10.0.0.0/16 by default; Public is the network of floating IPs,
	// 172.24.4.0/22 by default.
	Private, Public netip.Prefix
	// IPv6 adds an IPv6 subnet to the private network, and an address in it to every machine.
	IPv6 bool
	// PublicNodes attaches a floating IP to every machine.
	PublicNodes bool

	// Without are the types of services that are missing from the catalog: load-balancer, key-manager, network, compute.
	Without []string
	// WithoutExtensions are disabled Neutron extensions, by alias.
	WithoutExtensions []string
	// UnversionedCatalogue lists all services in the catalog by their root URLs, as most deployments do except
	// for Nova and Keystone; VersionedCatalogue lists all with their version. DevStack does neither.
	UnversionedCatalogue, VersionedCatalogue bool
	// OctaviaVersion is the newest version of Octavia's API, from 2.0 to 2.27: 2.26 by default.
	OctaviaVersion string
	// AllowFailover is a policy that lets the users of a project fail over its load balancers; by default, administrators
	// can.
	AllowFailover bool
	// TokenLife is how long a token is valid; an hour by default.
	TokenLife time.Duration
	// Providers are Octavia's providers, the default one first: amphora and ovn by default.
	Providers []string

	// Deny is the services' policy for users: it reports whether an operation such as CreateFloatingIP of the
	// service network is denied. Nil denies nothing.
	Deny func(service, operation string) bool
	// AccessRules are the access rules of the application credential of the cluster's user. Nil restricts nothing.
	AccessRules []AccessRule

	// BootTime is how long a launched server is in BUILD.
	BootTime time.Duration
	// ProvisionTime is how long a new load balancer is PENDING_CREATE. SettleTime is how long each later change,
	// including its deletion, keeps it immutable.
	ProvisionTime, SettleTime time.Duration

	// Latency of every call.
	Latency time.Duration
	// Limits are token buckets of the front, by service and class such as load-balancer/write.
	Limits map[string]kit.Bucket
	// ErrorRate is the probability with which a call fails with an internal error, from 0 to 1.
	ErrorRate float64
	// Seed makes failures, IDs and secrets repeatable.
	Seed int64
	// Quotas by name replace the default ones.
	Quotas map[string]int
	// Clock is the real one by default.
	Clock clock.WithTicker
}

// AccessRule allows the holder of an application credential to send requests to a service. In Path, * and {name} match
// one segment, and ** any characters.
type AccessRule struct {
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

// Names of quotas, as Neutron and Octavia call them.
const (
	QuotaPorts          = "port"
	QuotaFloatingIPs    = "floatingip"
	QuotaGroups         = "security_group"
	QuotaRules          = "security_group_rule"
	QuotaRoutes         = "max_routes"
	QuotaLoadBalancers  = "loadbalancer"
	QuotaListeners      = "listener"
	QuotaPools          = "pool"
	QuotaMembers        = "member"
	QuotaHealthMonitors = "healthmonitor"
)

// defaultQuotas returns high values: a simulated cluster of 5,000 nodes must fit.
func defaultQuotas() map[string]int {
	return map[string]int{
		QuotaPorts: 20_000, QuotaFloatingIPs: 5_000, QuotaGroups: 5_000, QuotaRules: 50_000, QuotaRoutes: 10_000,
		QuotaLoadBalancers: 5_000, QuotaListeners: 20_000, QuotaPools: 20_000, QuotaMembers: 1_000_000,
		QuotaHealthMonitors: 20_000,
	}
}

// WithDefaults returns the options with defaults for the unset ones.
func (o Options) WithDefaults() Options {
	o.Region = cmp.Or(o.Region, "RegionOne")
	if len(o.Zones) == 0 {
		o.Zones = []string{"az-1", "az-2"}
	}
	o.Cluster = cmp.Or(o.Cluster, "k8s")
	o.Password = cmp.Or(o.Password, DefaultPassword)
	if !o.Private.IsValid() {
		o.Private = netip.MustParsePrefix("10.0.0.0/16")
	}
	if !o.Public.IsValid() {
		o.Public = netip.MustParsePrefix("172.24.4.0/22")
	}
	o.OctaviaVersion = cmp.Or(o.OctaviaVersion, fmt.Sprintf("2.%d", DefaultOctavia))
	o.TokenLife = cmp.Or(o.TokenLife, time.Hour)
	if len(o.Providers) == 0 {
		o.Providers = []string{providerAmphora, ProviderOVN}
	}
	o.Quotas = kit.MergeQuotas(defaultQuotas(), o.Quotas)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// Validate returns all problems of the options, joined.
func (o Options) Validate() error {
	var problems kit.Problems
	for name, p := range map[string]netip.Prefix{"private": o.Private, "public": o.Public} {
		if !p.Addr().Is4() || p != p.Masked() || p.Bits() > 28 {
			problems.Addf("%s network %s is not an IPv4 network of size /28 or larger", name, p)
		}
	}
	if o.Private.Overlaps(o.Public) {
		problems.Addf("private network %s and public network %s overlap", o.Private, o.Public)
	}
	for _, s := range o.Without {
		if s == ServiceIdentity || !slices.Contains(ServiceTypes(), s) {
			problems.Addf("service %q cannot be left out: only %s can", s, strings.Join(ServiceTypes()[1:], ", "))
		}
	}
	if _, err := parseOctaviaVersion(o.OctaviaVersion); err != nil {
		problems.Addf("%w", err)
	}
	if o.UnversionedCatalogue && o.VersionedCatalogue {
		problems.Addf("the catalog cannot be both versioned and unversioned")
	}
	problems.CheckErrorRate(o.ErrorRate)
	problems.CheckQuotas(o.Quotas, defaultQuotas())
	problems.CheckDurations(o.BootTime, o.ProvisionTime, o.SettleTime, o.Latency, o.TokenLife)
	return problems.Err()
}

// Octavia's API has minor versions, which clients do not negotiate: a service has all attributes and values up to its
// newest version. octavia/api/root_controller.py lists the versions with what each of them added.
const (
	newestOctavia  = 27
	DefaultOctavia = 26 // of the release Zed
)

// parseOctaviaVersion returns the minor part of a version such as 2.5.
func parseOctaviaVersion(text string) (int, error) {
	minor, ok := strings.CutPrefix(text, "2.")
	n, err := strconv.Atoi(minor)
	if !ok || err != nil || n < 0 || n > newestOctavia {
		return 0, fmt.Errorf("version %q of Octavia's API is not one of 2.0 to 2.%d", text, newestOctavia)
	}
	return n, nil
}

// Octavia returns the minor version of Octavia's API.
func (o *Options) Octavia() int {
	n, err := parseOctaviaVersion(o.OctaviaVersion)
	if err != nil {
		return DefaultOctavia // The options were validated.
	}
	return n
}

// Octavia's providers.
const (
	providerAmphora = "amphora"
	ProviderOVN     = "ovn"
)

// DefaultPassword is the password of the manager's user unless the options have another.
const DefaultPassword = "simulated"
