package annotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// entry is one annotation: its documentation, and how a value gets into the options. The value is
// trimmed; an error says what to write instead.
type entry struct {
	doc  provider.Annotation
	read func(o *Options, value string) error
}

// Documentation of every annotation of the provider's own, in the order in which Read reports problems.
func Documentation() []provider.Annotation {
	var docs []provider.Annotation
	for _, e := range table() {
		docs = append(docs, e.doc)
	}
	return docs
}

// TypeOf says which kind of load balancer the annotations ask for. It compares exactly, as Services rely on.
func TypeOf(annotations map[string]string) Type {
	switch annotations[KeyType] {
	case "nlb":
		return Network
	case "nlb-ip", "external":
		return Elsewhere
	default:
		return Classic
	}
}

// Read reads the provider's own annotations of a Service, and joins what its portable ones ask for.
// The error, of class cloudapi.Invalid, names every problem.
func Read(in intent.Service) (Options, error) {
	o, problems := readOwn(in)
	o.portable(in, &problems)
	o.together(in, &problems)
	return o, problems.Err("Service " + in.Namespace + "/" + in.Name)
}

// Validate is the error of Read for a Service whose portable annotations, or whose spec, could not
// be read: it is about the provider's own annotations alone.
func Validate(in intent.Service) error {
	o, problems := readOwn(in)
	o.together(in, &problems)
	return problems.Err("Service " + in.Namespace + "/" + in.Name)
}

func readOwn(in intent.Service) (o Options, problems intent.Problems) {
	o.Type = TypeOf(in.Annotations)
	for _, e := range table() {
		value, ok := in.Annotations[e.doc.Key]
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if value == "" && strings.HasPrefix(e.doc.Key, Prefix) {
			continue // what templates leave behind: it has always meant "not set"
		}
		if value == "" {
			problems.Addf(e.doc.Key, "", "the value is empty: write for example %s, or remove the annotation", e.doc.Example)
			continue
		}
		if err := e.read(&o, value); err != nil {
			problems.Add(e.doc.Key, value, err.Error())
		}
	}
	return o, problems
}

// portable adds what the portable annotations ask for. Where both kinds speak and differ, the owner has to decide.
func (o *Options) portable(in intent.Service, problems *intent.Problems) {
	both := func(portable, own string) {
		problems.Addf(portable, in.Annotations[portable], "%s is set too and asks for something else: remove one of them", own)
	}
	if _, set := in.Annotations[intent.KeyScheme]; set {
		if _, own := in.Annotations[KeyInternal]; own && o.Internal != (in.Scheme == intent.Internal) {
			both(intent.KeyScheme, KeyInternal)
		}
		o.Internal = in.Scheme == intent.Internal
	}
	if len(in.Subnets) > 0 {
		if o.Subnets != nil && !slices.Equal(o.Subnets, in.Subnets) {
			both(intent.KeySubnets, KeySubnets)
		}
		o.Subnets = in.Subnets
	}
	if in.IdleTimeout > 0 {
		if o.IdleTimeout > 0 && o.IdleTimeout != in.IdleTimeout && o.Type == Classic {
			both(intent.KeyIdleTimeout, KeyIdleTimeout)
		}
		o.IdleTimeout = in.IdleTimeout
	}
	for key, value := range in.Tags {
		if have, twice := o.Tags[key]; twice && have != value {
			problems.Addf(intent.KeyTags, key+"="+value, "%s gives this key another value: remove one of them", KeyTags)
		}
		if o.Tags == nil {
			o.Tags = map[string]string{}
		}
		o.Tags[key] = value
	}
	o.portableHealthCheck(in, problems)
	o.portableAddresses(in, problems)
	o.portableProxy(in, problems)
}

// portableHealthCheck fills in what the AWS annotations leave open. With externalTrafficPolicy:
// Local, the Service's own probe is what intent says, and the AWS annotations still win over it.
func (o *Options) portableHealthCheck(in intent.Service, problems *intent.Problems) {
	h, p := &o.HealthCheck, in.HealthCheck
	clash := func(portable, own string, differs bool) {
		if _, set := in.Annotations[portable]; set && differs && !in.LocalTraffic {
			problems.Addf(portable, in.Annotations[portable], "%s is set too and asks for something else: remove one of them", own)
		}
	}
	port := ""
	if p.Port > 0 {
		port = fmt.Sprint(p.Port)
	}
	clash(intent.KeyHealthCheckProtocol, KeyHealthCheckProtocol, fill(&h.Protocol, string(p.Protocol)))
	clash(intent.KeyHealthCheckPort, KeyHealthCheckPort, fill(&h.Port, port))
	clash(intent.KeyHealthCheckPath, KeyHealthCheckPath, fill(&h.Path, p.Path))
	clash(intent.KeyHealthCheckInterval, KeyHealthCheckInterval, fill(&h.Interval, p.Interval))
	clash(intent.KeyHealthCheckTimeout, KeyHealthCheckTimeout, fill(&h.Timeout, p.Timeout))
	clash(intent.KeyHealthCheckHealthyThreshold, KeyHealthCheckHealthy, fill(&h.Healthy, p.HealthyThreshold))
	clash(intent.KeyHealthCheckUnhealthyThreshold, KeyHealthCheckUnhealthy, fill(&h.Unhealthy, p.UnhealthyThreshold))
}

// fill sets what is not set, and says whether what is set differs.
func fill[T comparable](have *T, value T) (differs bool) {
	var zero T
	if *have == zero {
		*have = value
		return false
	}
	return value != zero && *have != value
}

// portableAddresses sorts static addresses by their form.
func (o *Options) portableAddresses(in intent.Service, problems *intent.Problems) {
	all := strings.Join(in.StaticAddresses, ",")
	if o.Type != Network && all != "" {
		problems.Add(intent.KeyStaticAddresses, all, "classic load balancers have no static addresses: set "+KeyType+" to nlb on a new Service, or remove it")
		return
	}
	var allocations, ipv4, ipv6 []string
	for _, item := range in.StaticAddresses {
		switch {
		case strings.HasPrefix(item, "eipalloc-"):
			allocations = append(allocations, item)
		case isIPv6(item):
			ipv6 = append(ipv6, item)
		case isIPv4(item) && o.Internal:
			ipv4 = append(ipv4, item)
		case isIPv4(item):
			problems.Add(intent.KeyStaticAddresses, item, "a public address is named by its allocation: write its ID, eipalloc-…")
		default:
			problems.Add(intent.KeyStaticAddresses, item, "write an Elastic IP's allocation ID, eipalloc-…, or an address of the subnet")
		}
	}
	for _, kind := range []struct {
		key  string
		own  *[]string
		here []string
	}{{KeyAllocations, &o.Allocations, allocations}, {KeyPrivateIPv4, &o.PrivateIPv4, ipv4}, {KeyIPv6, &o.IPv6, ipv6}} {
		switch {
		case len(kind.here) == 0:
		case len(*kind.own) == 0:
			*kind.own = kind.here
		case !slices.Equal(*kind.own, kind.here):
			problems.Addf(intent.KeyStaticAddresses, all, "%s is set too and asks for something else: remove one of them", kind.key)
		}
	}
}

// portableProxy maps the portable PROXY protocol: classic load balancers speak version 1, network load balancers version 2.
func (o *Options) portableProxy(in intent.Service, problems *intent.Problems) {
	value, set := in.Annotations[intent.KeyProxyProtocol]
	switch {
	case !set:
	case o.Type == Classic && in.ProxyProtocol == 2:
		problems.Add(intent.KeyProxyProtocol, value, "classic load balancers speak version 1 only: write v1")
	case o.Type == Network && in.ProxyProtocol == 1:
		problems.Add(intent.KeyProxyProtocol, value, "network load balancers speak version 2 only: write v2")
	case o.Type == Classic:
		o.ProxyProtocol = o.ProxyProtocol || in.ProxyProtocol == 1
	default:
		want := fmt.Sprint(in.ProxyProtocol == 2)
		if have := o.GroupAttributes[AttributeProxyProtocol]; have != "" && have != want {
			problems.Addf(intent.KeyProxyProtocol, value, "%s says %s=%s: remove one of them", KeyGroupAttributes, AttributeProxyProtocol, have)
		}
		if o.GroupAttributes == nil {
			o.GroupAttributes = map[string]string{}
		}
		o.GroupAttributes[AttributeProxyProtocol] = want
	}
}

// together checks what the options mean to each other.
func (o *Options) together(in intent.Service, problems *intent.Problems) {
	h := o.HealthCheck
	if h.Timeout > 0 && h.Interval > 0 && h.Timeout > h.Interval {
		problems.Addf(KeyHealthCheckTimeout, fmt.Sprint(int(h.Timeout.Seconds())), "it exceeds the interval of %s: write at most that", h.Interval)
	}
	if o.AccessLog.Enabled && o.AccessLog.Bucket == "" {
		problems.Add(KeyAccessLog, "true", "access logs need a bucket: set "+KeyAccessLogBucket+" as well")
	}
	o.impossible(in.Annotations, problems)
	if in.ClientIPAffinity > 0 {
		problems.Add("spec.sessionAffinity", "ClientIP", "load balancers of AWS don't keep it: write None; on a network load balancer, "+KeyGroupAttributes+": stickiness.enabled=true comes close")
	}
	for _, p := range o.TLSPorts {
		if !slices.ContainsFunc(in.Ports, func(port intent.Port) bool { return matchesPort([]string{p}, port.Name, port.Port) }) {
			o.warnf(KeyTLSPorts, "the Service has no port %s, so it has no effect; write a port's number or name", intent.Quote(p))
		}
	}
	o.idle(in.Annotations, len(o.Certificates) > 0, KeyCertificates, KeyTLSPorts, KeyTLSPolicy)
	logs := []string{KeyAccessLogBucket, KeyAccessLogPrefix}
	if o.Type == Classic {
		logs = append(logs, KeyAccessLogInterval) // OnlyClassic speaks of it otherwise
		o.idle(in.Annotations, o.DrainConnections, KeyDraining+": \"true\"", KeyDrainTimeout)
	}
	o.idle(in.Annotations, o.AccessLog.Enabled, KeyAccessLog+": \"true\"", logs...)
	if value, ok := in.Annotations[KeyType]; ok && o.Type == Classic && value != "" {
		o.warnf(KeyType, "%s is no type, so the load balancer is a classic one; for a network load balancer write nlb, which must be done before it is created", intent.Quote(value))
	}
}

// impossible refuses what the other generation of load balancers has and what this one would need.
func (o *Options) impossible(annotations map[string]string, problems *intent.Problems) {
	switch {
	case o.Type == Network && len(o.ExtraSecurityGroups) > 0:
		problems.Addf(KeyExtraSecurityGroups, annotations[KeyExtraSecurityGroups],
			"only classic load balancers have extra security groups: list all of them in %s, or remove it", KeySecurityGroups)
	case o.Type == Classic && len(annotations[KeyGroupAttributes]) > 0 && len(o.GroupAttributes) > 0:
		problems.Addf(KeyGroupAttributes, annotations[KeyGroupAttributes], "classic load balancers have no target groups: remove it, or set %s to nlb on a new Service", KeyType)
	}
	if o.Type == Classic && len(o.Certificates) > 1 {
		problems.Addf(KeyCertificates, strings.Join(o.Certificates, ","), "a listener of a classic load balancer has one certificate: list one, or set %s to nlb on a new Service", KeyType)
	}
}

// idle warns about annotations that have no effect without another one.
func (o *Options) idle(annotations map[string]string, met bool, other string, keys ...string) {
	for _, key := range keys {
		if value, set := annotations[key]; set && !met && strings.TrimSpace(value) != "" {
			o.warnf(key, "it has no effect without %s; set that, or remove it", other)
		}
	}
}

// NoPath warns about the path of a probe that asks for none.
func (o *Options) NoPath(annotations map[string]string) {
	o.idle(annotations, false, KeyHealthCheckProtocol+": http or https", KeyHealthCheckPath)
}

// OnlyClassic warns about annotations that a network load balancer ignores.
func (o *Options) OnlyClassic(annotations map[string]string) {
	advice := map[string]string{
		KeyProxyProtocol: "write " + KeyGroupAttributes + ": proxy_protocol_v2.enabled=true",
		KeyIdleTimeout:   "write " + intent.KeyIdleTimeout + " with a unit, such as 350s",
		KeyDrainTimeout:  "write " + KeyGroupAttributes + ": deregistration_delay.timeout_seconds=…",
	}
	for _, key := range []string{KeyProxyProtocol, KeyAccessLogInterval, KeyDraining, KeyDrainTimeout, KeyIdleTimeout} {
		if _, set := annotations[key]; !set {
			continue
		}
		fix := advice[key]
		if fix == "" {
			fix = "remove it"
		}
		o.warnf(key, "network load balancers have no such setting, so it has no effect; %s", fix)
	}
}

// OnlyNetwork warns about annotations that a classic load balancer ignores.
func (o *Options) OnlyNetwork(annotations map[string]string) {
	for _, key := range []string{KeyAllocations, KeyPrivateIPv4, KeyIPv6, KeyName, KeyTargetType} {
		if _, set := annotations[key]; set {
			o.warnf(key, "classic load balancers have no such setting, so it has no effect; remove it, or set %s to nlb on a new Service", KeyType)
		}
	}
}

func (o *Options) warnf(key, format string, args ...any) {
	o.Warnings = append(o.Warnings, key+": "+fmt.Sprintf(format, args...))
}
