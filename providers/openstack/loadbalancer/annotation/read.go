package annotation

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Read parses the provider's own annotations of a Service and merges the portable settings.
// The error, of class cloudapi.Invalid, names every problem.
func Read(in intent.Service) (Options, error) {
	o, problems := Options{}, in.NewProblems()
	table(&o).Read(in.Annotations, &problems)
	o.mergePortable(in, &problems)
	o.check(in, &problems)
	o.Sources = problems.Sources
	return o, problems.Err(in.Subject())
}

// LoadBalancerID returns the ID of the load balancer in a Service's annotations.
func LoadBalancerID(annotations map[string]string) string {
	return strings.TrimSpace(annotations[KeyLoadBalancerID])
}

// KeepFloatingIP reports whether the floating IP outlives the Service; nil if the Service does not set it. It
// works for a Service that is being deleted and has other invalid annotations.
func KeepFloatingIP(annotations map[string]string) *bool {
	keep, err := parseBool(annotations[KeyKeepFloatingIP])
	if err != nil {
		return nil
	}
	return &keep
}

// methods are Octavia's names of the portable algorithms.
var methods = map[intent.Algorithm]string{
	intent.RoundRobin: "ROUND_ROBIN", intent.LeastConnections: "LEAST_CONNECTIONS", intent.SourceIP: "SOURCE_IP",
}

// mergePortable adds the portable settings. Different values in a portable and an own annotation are a problem.
func (o *Options) mergePortable(in intent.Service, problems *intent.Problems) {
	if _, set := in.Annotations[intent.KeyScheme]; set {
		internal := in.Scheme == intent.Internal
		intent.Merge(problems, &o.Internal, &internal, intent.KeyScheme, KeyInternal)
	}
	intent.Merge(problems, &o.Method, nilIfZero(methods[in.Algorithm]), intent.KeyAlgorithm, KeyMethod)
	intent.Merge(problems, &o.ProxyProtocol, in.ProxyProtocol, intent.KeyProxyProtocol, KeyProxyProtocol)
	idle := nilIfZero(int(in.IdleTimeout / time.Millisecond)) // on both sides of the load balancer
	intent.Merge(problems, &o.Timeouts.Client, idle, intent.KeyIdleTimeout, KeyClientTimeout)
	intent.Merge(problems, &o.Timeouts.Member, idle, intent.KeyIdleTimeout, KeyMemberTimeout)
	o.mergeTLS(in, problems)
	o.mergeSubnet(in, problems)
	o.mergeMonitor(in, problems)
	o.mergeTags(in, problems)
	o.StaticAddresses = in.StaticAddresses
}

// mergeTLS adds the certificate. References of other clouds are refused whatever the container store is.
func (o *Options) mergeTLS(in intent.Service, problems *intent.Problems) {
	if ref := in.TLS.Certificate; strings.HasPrefix(ref, "arn:") {
		problems.Add(intent.KeyTLSCertificate, ref, "it is the ARN of a certificate of AWS: write the reference of a "+
			"container or secret that Barbican shows, such as "+
			"https://barbican.example.org/v1/containers/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d")
		return
	}
	intent.Merge(problems, &o.TLSContainer, nilIfZero(in.TLS.Certificate), intent.KeyTLSCertificate, KeyTLSContainer)
}

// nilIfZero returns nil for the zero value, which is "not set" in an intent.Service.
func nilIfZero[V comparable](value V) *V {
	var zero V
	if value == zero {
		return nil
	}
	return &value
}

// mergeTags adds the tags to every kind of object, in Octavia's form: key=value, or the key alone.
func (o *Options) mergeTags(in intent.Service, problems *intent.Problems) {
	var tags []string
	for _, key := range slices.Sorted(maps.Keys(in.Tags)) {
		tag := key
		if in.Tags[key] != "" {
			tag += "=" + in.Tags[key]
		}
		if names.IsReservedTag(tag) || len(tag) > names.MaxTag {
			problems.Addf(intent.KeyTags, tag,
				"such tags mark the owner of an object, or are too long: choose another of at most %d characters",
				names.MaxTag)
			continue
		}
		tags = append(tags, tag)
	}
	for _, list := range []*[]string{&o.LoadBalancerTags, &o.ListenerTags, &o.PoolTags} {
		own := sets.New(*list...)
		*list = append(*list, slices.DeleteFunc(slices.Clone(tags), own.Has)...)
	}
}

// mergeSubnet adds the subnet of the load balancer's address.
func (o *Options) mergeSubnet(in intent.Service, problems *intent.Problems) {
	if len(in.Subnets) == 0 {
		return
	}
	value := strings.Join(in.Subnets, ",")
	switch {
	case len(in.Subnets) > 1:
		problems.Add(intent.KeySubnets, value, "a load balancer has its address in one subnet: write one")
	case !names.IsUUID(value):
		problems.Add(intent.KeySubnets, value, "write the ID of the subnet, not its name")
	default:
		intent.Merge(problems, &o.Place.SubnetID, value, intent.KeySubnets, KeySubnetID)
	}
}

// mergeMonitor adds the portable settings of probes, any of which enables health monitors.
func (o *Options) mergeMonitor(in intent.Service, problems *intent.Problems) {
	m, h := &o.Monitor, in.HealthCheck
	for _, key := range []string{
		intent.KeyHealthCheckProtocol, intent.KeyHealthCheckPort, intent.KeyHealthCheckPath, intent.KeyHealthCheckInterval,
		intent.KeyHealthCheckTimeout, intent.KeyHealthCheckHealthyThreshold, intent.KeyHealthCheckUnhealthyThreshold,
	} {
		if _, set := in.Annotations[key]; set {
			intent.Merge(problems, &m.Enabled, ptr.To(true), key, KeyMonitor)
			break
		}
	}
	m.Protocol, m.Port, m.Path = string(h.Protocol), h.Port, h.Path
	intent.Merge(problems, &m.Delay, nilIfZero(h.Interval), intent.KeyHealthCheckInterval, KeyMonitorDelay)
	intent.Merge(problems, &m.Timeout, nilIfZero(h.Timeout), intent.KeyHealthCheckTimeout, KeyMonitorTimeout)
	intent.Merge(problems, &m.Retries, nilIfZero(h.HealthyThreshold),
		intent.KeyHealthCheckHealthyThreshold, KeyMonitorRetries)
	intent.Merge(problems, &m.Down, nilIfZero(h.UnhealthyThreshold),
		intent.KeyHealthCheckUnhealthyThreshold, KeyMonitorDown)
}

// check finds options that contradict each other.
func (o *Options) check(in intent.Service, problems *intent.Problems) {
	if o.ProxyProtocol != 0 && o.XForwardedFor {
		problems.Addf(KeyXForwardedFor, "true", "%s is on too, and both report the client's address to the nodes: remove "+
			"one of them",
			problems.Sources.FieldOf(KeyProxyProtocol))
	}
	if in.ProxyProtocol == 0 && o.ProxyProtocol != 0 && in.AddsForwardedHeaders() {
		problems.Conflict(intent.KeyForwardedHeaders, KeyProxyProtocol)
	}
	if o.Place.FloatingSubnetID != "" {
		// The ID always took precedence: working Services are not refused.
		o.Place.FloatingSubnet, o.Place.FloatingSubnetTags = "", ""
	}
}
