package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// TypeOf returns the kind of load balancer that the annotations select. It compares exactly:
// existing Services rely on it.
func TypeOf(annotations map[string]string) Type {
	switch annotations[KeyType] {
	case "nlb":
		return Network
	case "nlb-ip", "external":
		return External
	default:
		return Classic
	}
}

// Read parses the provider's own annotations of a Service and merges the portable settings.
// The error, of class cloudapi.Invalid, names every problem.
func Read(in intent.Service) (Options, error) {
	o, problems := readAnnotations(in)
	o.mergePortable(in, &problems)
	o.check(in, &problems)
	o.Sources = problems.Sources
	return o, problems.Err(in.Subject())
}

// Validate returns the error of Read without the portable settings, for a Service with invalid portable
// annotations or an invalid spec.
func Validate(in intent.Service) error {
	o, problems := readAnnotations(in)
	o.check(in, &problems)
	return problems.Err(in.Subject())
}

func readAnnotations(in intent.Service) (Options, intent.Problems) {
	o, problems := Options{Type: TypeOf(in.Annotations)}, in.NewProblems()
	table(&o).Read(in.Annotations, &problems)
	return o, problems
}

// mergePortable adds the portable settings. Different values in a portable and an own annotation are a problem.
func (o *Options) mergePortable(in intent.Service, problems *intent.Problems) {
	if _, set := in.Annotations[intent.KeyScheme]; set {
		if _, exists := in.Annotations[KeyInternal]; exists && o.Internal != (in.Scheme == intent.Internal) {
			problems.Conflict(intent.KeyScheme, KeyInternal)
		}
		o.Internal = in.Scheme == intent.Internal
		problems.Override(KeyInternal, intent.KeyScheme)
	}
	intent.Merge(problems, &o.Subnets, in.Subnets, intent.KeySubnets, KeySubnets)
	intent.Merge(problems, &o.IdleTimeout, in.IdleTimeout, intent.KeyIdleTimeout, KeyIdleTimeout)
	for _, key := range slices.Sorted(maps.Keys(in.Tags)) {
		value := in.Tags[key]
		if existing, ok := o.Tags[key]; ok && existing != value {
			problems.Addf(intent.KeyTags, key+"="+value, "%s gives this key another value: remove one of them", KeyTags)
		}
		if o.Tags == nil {
			o.Tags = map[string]string{}
			problems.Override(KeyTags, intent.KeyTags)
		}
		o.Tags[key] = value
	}
	o.mergeHealthCheck(in, problems)
	o.mergeAddresses(in, problems)
	o.mergeProxyProtocol(in, problems)
	o.mergeTLS(in, problems)
	o.mergeForwardedHeaders(in, problems)
	o.mergeDraining(in, problems)
}

// mergeHealthCheck adds the portable settings of probes. With externalTrafficPolicy: Local they are
// those of the Service's health check node port, and the AWS annotations override them.
func (o *Options) mergeHealthCheck(in intent.Service, problems *intent.Problems) {
	h, p, port := &o.HealthCheck, in.HealthCheck, ""
	if p.Port > 0 {
		port = strconv.Itoa(int(p.Port))
	}
	conflicts := problems
	if in.LocalTraffic {
		conflicts = &intent.Problems{Sources: problems.Sources} // dropped
	}
	intent.Merge(conflicts, &h.Protocol, string(p.Protocol), intent.KeyHealthCheckProtocol, KeyHealthCheckProtocol)
	intent.Merge(conflicts, &h.Port, port, intent.KeyHealthCheckPort, KeyHealthCheckPort)
	intent.Merge(conflicts, &h.Path, p.Path, intent.KeyHealthCheckPath, KeyHealthCheckPath)
	intent.Merge(conflicts, &h.Interval, p.Interval, intent.KeyHealthCheckInterval, KeyHealthCheckInterval)
	intent.Merge(conflicts, &h.Timeout, p.Timeout, intent.KeyHealthCheckTimeout, KeyHealthCheckTimeout)
	intent.Merge(conflicts, &h.Healthy, p.HealthyThreshold, intent.KeyHealthCheckHealthyThreshold, KeyHealthCheckHealthy)
	intent.Merge(conflicts, &h.Unhealthy, p.UnhealthyThreshold,
		intent.KeyHealthCheckUnhealthyThreshold, KeyHealthCheckUnhealthy)
}

// mergeAddresses adds the static addresses, each to the option for its form.
func (o *Options) mergeAddresses(in intent.Service, problems *intent.Problems) {
	if all := strings.Join(in.StaticAddresses, ","); o.Type != Network && all != "" {
		problems.Addf(intent.KeyStaticAddresses, all,
			"classic load balancers have no static addresses: set %s to nlb on a new Service, or remove it", KeyType)
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
			problems.Add(intent.KeyStaticAddresses, item, "a public address is named by its allocation: write its ID, "+
				"eipalloc-…")
		default:
			problems.Add(intent.KeyStaticAddresses, item,
				"write an Elastic IP's allocation ID, eipalloc-…, or an address of the subnet")
		}
	}
	intent.Merge(problems, &o.Allocations, allocations, intent.KeyStaticAddresses, KeyAllocations)
	intent.Merge(problems, &o.PrivateIPv4, ipv4, intent.KeyStaticAddresses, KeyPrivateIPv4)
	intent.Merge(problems, &o.IPv6, ipv6, intent.KeyStaticAddresses, KeyIPv6)
}

// mergeProxyProtocol adds the portable PROXY protocol: classic load balancers have version 1,
// network load balancers version 2.
func (o *Options) mergeProxyProtocol(in intent.Service, problems *intent.Problems) {
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
		o.mergeAttribute(problems, AttributeProxyProtocol, strconv.FormatBool(in.ProxyProtocol == 2), value,
			intent.KeyProxyProtocol)
	}
}

// mergeAttribute sets an attribute of target groups to that of a portable annotation with this value.
func (o *Options) mergeAttribute(problems *intent.Problems, attribute, want, value, key string) {
	if have := o.GroupAttributes[attribute]; have != "" && have != want {
		problems.Addf(key, value, "%s sets %s=%s: remove one of them", KeyGroupAttributes, attribute, have)
	}
	if o.GroupAttributes == nil {
		o.GroupAttributes = map[string]string{}
	}
	o.GroupAttributes[attribute] = want
}

// mergeTLS adds the portable certificate and its ports.
func (o *Options) mergeTLS(in intent.Service, problems *intent.Problems) {
	var certificates []string
	if ref := in.TLS.Certificate; ref != "" {
		certificates = []string{ref}
		if !arn.MatchString(ref) {
			problems.Add(intent.KeyTLSCertificate, ref, "AWS needs the ARN of a certificate: copy it from ACM or IAM, such as "+
				"arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012")
		}
	}
	intent.Merge(problems, &o.Certificates, certificates, intent.KeyTLSCertificate, KeyCertificates)
	intent.Merge(problems, &o.TLSPorts, foldPorts(in.TLS.Ports), intent.KeyTLSPorts, KeyTLSPorts)
}

// mergeForwardedHeaders checks the ports with X-Forwarded headers, which HTTP listeners of classic load balancers add.
func (o *Options) mergeForwardedHeaders(in intent.Service, problems *intent.Problems) {
	value := in.Annotations[intent.KeyForwardedHeaders]
	switch {
	case o.Type == Network && value != "": // A port that does not exist is a second problem, not the first of two edits.
		problems.Add(intent.KeyForwardedHeaders, value, "network load balancers forward bytes and keep the client's "+
			"address: remove it")
	case !in.AddsForwardedHeaders():
	case o.BackendProtocol != "" && o.BackendProtocol != "http":
		problems.Conflict(intent.KeyForwardedHeaders, KeyBackendProtocol)
	case in.ProxyProtocol == 0 && o.ProxyProtocol:
		problems.Conflict(intent.KeyForwardedHeaders, KeyProxyProtocol)
	}
}

// mergeDraining adds the portable timeout of connections to leaving nodes.
func (o *Options) mergeDraining(in intent.Service, problems *intent.Problems) {
	if in.DrainingTimeout == nil {
		return
	}
	timeout, value := *in.DrainingTimeout, in.Annotations[intent.KeyConnectionDrainingTimeout]
	if o.Type == Network {
		o.mergeAttribute(problems, attributeDraining, strconv.Itoa(int(timeout/time.Second)), value,
			intent.KeyConnectionDrainingTimeout)
		return
	}
	if in.Annotations[KeyDraining] != "" && o.DrainConnections != (timeout > 0) {
		problems.Conflict(intent.KeyConnectionDrainingTimeout, KeyDraining)
	}
	o.DrainConnections = timeout > 0
	intent.Merge(problems, &o.DrainTimeout, timeout, intent.KeyConnectionDrainingTimeout, KeyDrainTimeout)
}

// check finds options that contradict each other or have no effect.
func (o *Options) check(in intent.Service, problems *intent.Problems) {
	o.checkIgnored(in.Annotations, problems)
	if o.AccessLog.Enabled && o.AccessLog.Bucket == "" {
		problems.Add(KeyAccessLog, "true", "access logs need a bucket: set "+KeyAccessLogBucket+" as well")
	}
	o.checkType(in.Annotations, problems)
	if in.ClientIPAffinity > 0 {
		problems.Add("spec.sessionAffinity", "ClientIP", "load balancers of AWS don't keep it: write None; on a network "+
			"load balancer, "+KeyGroupAttributes+": stickiness.enabled=true comes close")
	}
	o.warnUnknownPorts(in)
	o.warnNoEffect(in.Annotations, len(o.Certificates) > 0, KeyCertificates, KeyTLSPorts, KeyTLSPolicy)
	o.warnNoEffect(in.Annotations, len(o.Certificates) > 0, intent.KeyTLSCertificate, intent.KeyTLSPorts)
	logs := []string{KeyAccessLogBucket, KeyAccessLogPrefix}
	if o.Type == Classic {
		logs = append(logs, KeyAccessLogInterval) // network load balancers: see WarnClassicOnly
		o.warnNoEffect(in.Annotations, o.DrainConnections, KeyDraining+": \"true\"", KeyDrainTimeout)
	}
	o.warnNoEffect(in.Annotations, o.AccessLog.Enabled, KeyAccessLog+": \"true\"", logs...)
	if value, ok := in.Annotations[KeyType]; ok && o.Type == Classic && value != "" {
		o.warnf(KeyType, "%s is not a type, so the load balancer is a classic one; for a network load balancer write nlb, "+
			"which must be done before it is created", intent.Quote(value))
	}
}

// checkIgnored refuses invalid values only where they take effect: cloud-provider-aws ignores the others, and existing
// Services have them.
func (o *Options) checkIgnored(annotations map[string]string, problems *intent.Problems) {
	h := &o.HealthCheck
	if exceeds := h.Timeout > 0 && h.Interval > 0 && h.Timeout > h.Interval; exceeds {
		text := fmt.Sprintf("it exceeds the interval of %s: write at most that", h.Interval)
		if _, own := annotations[KeyHealthCheckTimeout]; own && o.Type == Network {
			o.warnf(KeyHealthCheckTimeout, "no effect, because %s", text)
			h.Timeout = 0
		} else {
			problems.Add(KeyHealthCheckTimeout, fmt.Sprint(int(h.Timeout.Seconds())), text)
		}
	}
	if err := o.Ignored[KeyBackendProtocol]; err != nil {
		if o.Type == Classic && len(o.Certificates) > 0 {
			problems.Add(KeyBackendProtocol, annotations[KeyBackendProtocol], err.Error())
		} else {
			o.warnf(KeyBackendProtocol, "no effect with %s: %v", intent.Quote(annotations[KeyBackendProtocol]), err)
		}
	}
	if err := o.Ignored[KeyHealthCheckPath]; err != nil && strings.HasPrefix(h.Protocol, "HTTP") {
		problems.Add(KeyHealthCheckPath, annotations[KeyHealthCheckPath], err.Error())
	}
}

// warnUnknownPorts warns about TLS ports that the Service does not have.
func (o *Options) warnUnknownPorts(in intent.Service) {
	if len(o.TLSPorts) == 0 {
		return
	}
	unknown := o.TLSPorts.Clone()
	for _, port := range in.Ports {
		unknown.Delete(portReferences(port.Name, port.Port)...)
	}
	var texts []string
	index := in.PortReferences()
	for _, port := range sets.List(unknown) {
		if err := index.Unknown(port); err != nil {
			texts = append(texts, err.Error()+"; until then it has no effect")
		}
	}
	o.warnEach(KeyTLSPorts, texts)
}

// checkType refuses settings of the other type of load balancer, if ignoring them would leave the Service
// unprotected or broken.
func (o *Options) checkType(annotations map[string]string, problems *intent.Problems) {
	switch {
	case o.Type == Network && len(o.ExtraSecurityGroups) > 0:
		problems.Addf(KeyExtraSecurityGroups, annotations[KeyExtraSecurityGroups],
			"only classic load balancers have extra security groups: list all of them in %s, or remove it", KeySecurityGroups)
	case o.Type == Classic && len(annotations[KeyGroupAttributes]) > 0 && len(o.GroupAttributes) > 0:
		problems.Addf(KeyGroupAttributes, annotations[KeyGroupAttributes], "classic load balancers have no target groups: "+
			"remove it, or set %s to nlb on a new Service", KeyType)
	}
	if o.Type == Classic && len(o.Certificates) > 1 {
		problems.Addf(KeyCertificates, strings.Join(o.Certificates, ","), "a listener of a classic load balancer has one "+
			"certificate: list one, or set %s to nlb on a new Service", KeyType)
	}
}

// warnNoEffect warns about annotations that have no effect, because a required setting is not set.
func (o *Options) warnNoEffect(annotations map[string]string, isSet bool, required string, keys ...string) {
	for _, key := range keys {
		if value, set := annotations[key]; set && !isSet && strings.TrimSpace(value) != "" {
			o.warnf(key, "it has no effect without %s; set that, or remove it", required)
		}
	}
}

// WarnUnusedPath warns about the path of a TCP probe.
func (o *Options) WarnUnusedPath(annotations map[string]string) {
	o.warnNoEffect(annotations, false, KeyHealthCheckProtocol+": http or https", KeyHealthCheckPath)
}

// WarnClassicOnly warns about annotations that a network load balancer ignores.
func (o *Options) WarnClassicOnly(annotations map[string]string) {
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

// WarnNetworkOnly warns about annotations that a classic load balancer ignores.
func (o *Options) WarnNetworkOnly(annotations map[string]string) {
	for _, key := range []string{KeyAllocations, KeyPrivateIPv4, KeyIPv6, KeyName, KeyTargetType} {
		if _, set := annotations[key]; set {
			o.warnf(key, "classic load balancers have no such setting, so it has no effect; remove it, or set %s to nlb on a "+
				"new Service", KeyType)
		}
	}
}
