package config

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

// Defaults, where they are not the zero value.
const (
	defaultLBProvider     = "amphora"
	defaultHostnameSuffix = "nip.io"
	defaultMonitorDelay   = 5 * time.Second
	defaultMonitorTimeout = 3 * time.Second
	defaultMaxRetries     = 1
	defaultMaxRetriesDown = 3
	defaultMaxSharedLB    = 2
)

// DefaultRequestTimeout limits each request, including those for tokens.
const DefaultRequestTimeout = time.Minute

// octaviaProviders returns the supported drivers. Others are accepted.
func octaviaProviders() []string {
	return []string{"amphora", "octavia", providerOVN, "f5", "amphorav2"}
}

func algorithms() []string {
	return []string{
		api.AlgorithmRoundRobin, api.AlgorithmLeastConnections, api.AlgorithmSourceIP, api.AlgorithmSourceIPPort,
	}
}

func (c *Config) validate(f *commonconfig.File) {
	c.validateCloud(f)
	c.validateTLS(f)
	if !c.Global.ReadsClouds() {
		c.Global.validateCredentials(func(key, format string, args ...any) {
			f.Errorf(sectionGlobal, key, format, args...)
		})
	}
	c.validateLoadBalancer(f)
	c.validateMonitors(f)
	c.validateNetworking(f)
}

// ReadsClouds reports whether credentials may come from a clouds.yaml file. They are complete only after that is read.
func (g Global) ReadsClouds() bool { return g.UseClouds || g.Cloud != "" }

func (c *Config) validateCloud(f *commonconfig.File) {
	g := c.Global
	if g.AuthURL != "" && !commonconfig.IsBaseURL(g.AuthURL) {
		f.Errorf(sectionGlobal, "auth-url", "must be a URL such as https://keystone.example.com:5000/v3, not %q", g.AuthURL)
	}
	if g.EndpointType != "" {
		f.RequireOneOf(sectionGlobal, "os-endpoint-type", g.Interface(), endpointPublic, endpointInternal, endpointAdmin)
	}
	if d := g.RequestTimeout.Duration; d < minTimeout || d > maxTimeout {
		section := sectionGlobal
		if !f.Has(sectionGlobal, "request-timeout") {
			section = sectionMetadata
		}
		f.Errorf(section, "request-timeout", "must be from %v to %v, but is %v", minTimeout, maxTimeout, d)
	}
	if g.CloudsFile != "" && !c.Global.ReadsClouds() {
		f.Warnf(sectionGlobal, "clouds-file", "has no effect without use-clouds = true")
	}
	if f.Has(sectionMetadata, "search-order") {
		c.validateSearchOrder(f)
	}
	if f.Has(sectionGlobal, "region") && g.Region == "" {
		f.Warnf(sectionGlobal, "region",
			"is empty: the first region in the catalog is used, and nodes get no region label")
	}
}

// validateSearchOrder checks the value as earlier managers did, although nothing uses it.
func (c *Config) validateSearchOrder(f *commonconfig.File) {
	places := strings.Split(c.Metadata.SearchOrder, ",")
	if len(places) > 2 {
		f.Errorf(sectionMetadata, "search-order", "has %d places; there are configDrive and metadataService", len(places))
	}
	for _, place := range places {
		if place = strings.TrimSpace(place); place != "configDrive" && place != "metadataService" {
			f.Errorf(sectionMetadata, "search-order", "must be of configDrive and metadataService, not %q", place)
		}
	}
}

func (c *Config) validateTLS(f *commonconfig.File) {
	g := c.Global
	if (g.CertFile == "") != (g.KeyFile == "") {
		missing, present := "key-file", "cert-file"
		if g.CertFile == "" {
			missing, present = present, missing
		}
		f.Errorf(sectionGlobal, present, "needs %s too: a client certificate is a certificate and its key", missing)
	}
	if v := g.TLSInsecure; v != "" && v != insecureTrue && v != "false" {
		f.Warnf(sectionGlobal, "tls-insecure",
			"is %q, which means false: only true, in lower case, switches the verification of certificates off", v)
	}
	if g.TLSInsecure == insecureTrue {
		f.Warnf(sectionGlobal, "tls-insecure", "lets anyone on the way read the credentials; "+
			"give the cloud's certificate authority in ca-file instead")
	}
}

func (c *Config) validateLoadBalancer(f *commonconfig.File) {
	lb := c.LoadBalancer
	if lb.Version != "" && lb.Version != lbVersion {
		f.Errorf(sectionLoadBalancer, "lb-version", "must be %s (Octavia) or unset, not %q", lbVersion, lb.Version)
	}
	if !slices.Contains(octaviaProviders(), lb.Provider) {
		f.Warnf(sectionLoadBalancer, "lb-provider", "%q is none of %s: it is used unchanged, and treated like amphora",
			lb.Provider, strings.Join(octaviaProviders(), ", "))
	}
	f.RequireOneOf(sectionLoadBalancer, "lb-method", lb.Method, algorithms()...)
	if lb.Provider == providerOVN && lb.Method != api.AlgorithmSourceIPPort {
		f.Errorf(sectionLoadBalancer, "lb-method", "must be %s with lb-provider = ovn, which supports no other, not %q",
			api.AlgorithmSourceIPPort, lb.Method)
	}
	if lb.ContainerStore != storeBarbican && lb.ContainerStore != storeExternal {
		f.Warnf(sectionLoadBalancer, "container-store", "%q is neither %s nor %s, and is treated as %s",
			lb.ContainerStore, storeBarbican, storeExternal, storeExternal)
	}
	if lb.MaxSharedLB < 0 {
		f.Errorf(sectionLoadBalancer, "max-shared-lb", "must be at least 0, but is %d", lb.MaxSharedLB)
	}
	if lb.EnableIngressHostname && strings.Trim(lb.IngressHostnameSuffix, ".") == "" {
		f.Errorf(sectionLoadBalancer, "ingress-hostname-suffix", "must be a domain such as %s", defaultHostnameSuffix)
	}
	if _, err := annotation.ParseNodeLabels(lb.NodeSelector); err != nil {
		f.Errorf(sectionLoadBalancer, "node-selector", "is %q: %v", lb.NodeSelector, err)
	}
	validateFloatingSubnet(f, sectionLoadBalancer, lb.FloatingSubnet, lb.FloatingSubnetTags)
	for name, class := range c.LoadBalancerClass {
		validateFloatingSubnet(f, commonconfig.Section(sectionClass, name), class.FloatingSubnet, class.FloatingSubnetTags)
	}
}

func validateFloatingSubnet(f *commonconfig.File, section, pattern, tags string) {
	if _, err := annotation.ParsePattern(pattern); err != nil {
		f.Errorf(section, "floating-subnet", "is %q: %v", pattern, err)
	}
	if tags != "" && strings.Trim(tags, "!&, ") == "" {
		f.Errorf(section, "floating-subnet-tags", "%q contains no tag; write a list such as a,b, "+
			"with & in front for all of them and ! in front for subnets without them", tags)
	}
}

// validateMonitors rejects settings that Octavia would reject.
func (c *Config) validateMonitors(f *commonconfig.File) {
	lb := c.LoadBalancer
	for key, d := range map[string]time.Duration{
		"monitor-delay": lb.MonitorDelay.Duration, "monitor-timeout": lb.MonitorTimeout.Duration,
	} {
		if d < time.Second {
			f.Errorf(sectionLoadBalancer, key, "must be at least 1s, but is %v: Octavia counts whole seconds", d)
		} else if d%time.Second != 0 {
			f.Warnf(sectionLoadBalancer, key, "is %v and becomes %v: Octavia counts whole seconds", d, d.Truncate(time.Second))
		}
	}
	if lb.MonitorTimeout.Duration > lb.MonitorDelay.Duration {
		key := "monitor-timeout"
		if !f.Has(sectionLoadBalancer, key) {
			key = "monitor-delay"
		}
		f.Warnf(sectionLoadBalancer, key, "the timeout of a check, %v, is longer than the time between two, %v: a check may "+
			"start before the one before it has ended", lb.MonitorTimeout.Duration, lb.MonitorDelay.Duration)
	}
	for key, n := range map[string]uint{
		"monitor-max-retries": lb.MonitorMaxRetries, "monitor-max-retries-down": lb.MonitorMaxRetriesDown,
	} {
		if n < 1 || n > maxRetries {
			f.Errorf(sectionLoadBalancer, key, "must be from 1 to %d, but is %d", maxRetries, n)
		}
	}
}

func (c *Config) validateNetworking(f *commonconfig.File) {
	for _, item := range splitList(c.Networking.AddressSortOrder) {
		if _, err := netip.ParsePrefix(item); err != nil {
			f.Warnf(sectionNetworking, "address-sort-order", "%q is not a CIDR such as 10.0.0.0/8, and is ignored", item)
		}
	}
	for _, name := range c.Networking.PublicNetworkNames {
		if slices.Contains(c.Networking.InternalNetworkNames, name) {
			f.Warnf(sectionNetworking, "internal-network-name", "%q is a public-network-name too, which takes precedence", name)
		}
	}
}

// splitList splits a list at commas and white space.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

// SortOrder returns the ranges of address-sort-order. Validation has warned about invalid items.
func (n Networking) SortOrder() []netip.Prefix {
	var order []netip.Prefix
	for _, item := range splitList(n.AddressSortOrder) {
		if p, err := netip.ParsePrefix(item); err == nil {
			order = append(order, p)
		}
	}
	return order
}
