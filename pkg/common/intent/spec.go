package intent

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// readSpec reads the fields of the Service.
func (r *reader) readSpec() {
	r.readPorts()
	r.readFamilies()
	spec := r.svc.Spec
	r.out.LocalTraffic = spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
	if spec.SessionAffinity == v1.ServiceAffinityClientIP {
		seconds := int32(defaultAffinityTimeout)
		if c := spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
			seconds = *c.ClientIP.TimeoutSeconds
		}
		r.out.ClientIPAffinity = time.Duration(seconds) * time.Second
	}
}

func (r *reader) readPorts() {
	ports := r.svc.Spec.Ports
	if len(ports) == 0 {
		r.problems.Add(FieldPorts, "", "a load balancer needs at least one port: add one")
	}
	if n := len(ports); n > maxEntries {
		r.problems.Addf(FieldPorts, "", "there are %d ports, and a load balancer can have %d: write several Services", n,
			maxEntries)
		ports = ports[:maxEntries]
	}
	type listener struct {
		protocol v1.Protocol
		port     int32
	}
	seen := make(map[listener]int, len(ports))
	r.out.Ports = make([]Port, 0, len(ports))
	for i, p := range ports {
		path := fmt.Sprintf("spec.ports[%d].", i)
		port := Port{Name: p.Name, Protocol: p.Protocol, Port: p.Port, NodePort: p.NodePort}
		if port.Protocol == "" {
			port.Protocol = v1.ProtocolTCP // the default of the API server
		}
		r.checkProtocol(path+"protocol", port.Protocol)
		if p.Port < 1 || p.Port > maxPort {
			r.problems.Add(path+"port", strconv.Itoa(int(p.Port)), "write a number from 1 to 65535")
		}
		r.checkNodePort(path+"nodePort", p.NodePort)
		id := listener{port.Protocol, port.Port}
		if first, duplicate := seen[id]; duplicate {
			r.problems.Addf(path+"port", strconv.Itoa(int(p.Port)), "spec.ports[%d] already takes %s port %d: remove one of "+
				"them", first, port.Protocol, p.Port)
		} else {
			seen[id] = i
		}
		r.out.Ports = append(r.out.Ports, port)
	}
}

func (r *reader) checkProtocol(path string, protocol v1.Protocol) {
	switch {
	case protocol == v1.ProtocolTCP, protocol == v1.ProtocolUDP:
	case protocol == v1.ProtocolSCTP && r.vocabulary.SCTP:
	case protocol == v1.ProtocolSCTP:
		r.problems.Addf(path, string(protocol), "the cloud %s forwards only TCP and UDP: use one of "+
			"them", r.vocabulary.Provider)
	default:
		r.problems.Add(path, string(protocol), "write TCP or UDP")
	}
}

// checkNodePort refuses a port without a node port if the Service disables their allocation. On clouds where other
// managers create such ports, it refuses only new load balancers. A port that has none yet comes from a manifest that
// was not sent to the API server.
func (r *reader) checkNodePort(path string, port int32) {
	if port != 0 || r.vocabulary.NodePorts == NodePortsUnused {
		return
	}
	if allocate := r.svc.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
		problem := Problem{Field: path, Fix: fmt.Sprintf("there is none and spec.allocateLoadBalancerNodePorts is false, "+
			"but load balancers of the cloud %s reach pods through node ports: set spec.allocateLoadBalancerNodePorts to true, "+
			"or write a node port", r.vocabulary.Provider)}
		if r.vocabulary.NodePorts == NodePortsOptional {
			if len(r.out.AtCreation) < maxMessages { // one port would be enough to refuse the creation
				r.out.AtCreation = append(r.out.AtCreation, problem)
			}
		} else {
			r.problems.Add(path, "", problem.Fix)
		}
		return
	}
	r.warn(Ignored, path, "not assigned yet; the API server assigns it when the Service is created")
}

// readFamilies reads spec.ipFamilies. A manifest that was not sent to the API server has IPv4, unless
// its cluster IPs are of another family.
func (r *reader) readFamilies() {
	families := slices.Clone(r.svc.Spec.IPFamilies)
	for i, f := range families {
		path := fmt.Sprintf("spec.ipFamilies[%d]", i)
		if f != v1.IPv4Protocol && f != v1.IPv6Protocol {
			r.problems.Add(path, string(f), "write IPv4 or IPv6")
		} else if slices.Contains(families[:i], f) {
			r.problems.Add(path, string(f), "the family is listed twice: list it once")
		}
	}
	if len(families) == 0 {
		for _, ip := range r.svc.Spec.ClusterIPs {
			if addr, err := netip.ParseAddr(ip); err == nil && !slices.Contains(families, familyOf(addr)) {
				families = append(families, familyOf(addr))
			}
		}
	}
	if len(families) == 0 {
		families = []v1.IPFamily{v1.IPv4Protocol}
	}
	r.out.Families = families
	policy := r.svc.Spec.IPFamilyPolicy
	r.out.RequiresDualStack = policy != nil && *policy == v1.IPFamilyPolicyRequireDualStack
}

// readSourceRanges reads the first of the three sources that has a value. The framework prefers the field to the
// beta annotation; the portable annotation is between them.
func (r *reader) readSourceRanges() {
	const beta = v1.AnnotationLoadBalancerSourceRangesKey
	var source, value string
	var items []string
	var err error
	switch old := strings.TrimSpace(r.svc.Annotations[beta]); {
	case len(r.svc.Spec.LoadBalancerSourceRanges) > 0:
		source, items = FieldSourceRanges, r.svc.Spec.LoadBalancerSourceRanges
		value = strings.Join(items[:min(len(items), maxEntries)], ",")
		r.warnOverridden(KeySourceRanges, FieldSourceRanges)
		r.warnOverridden(beta, FieldSourceRanges)
	case r.isSet(KeySourceRanges):
		source, value = KeySourceRanges, strings.TrimSpace(r.svc.Annotations[KeySourceRanges])
		if value == "" {
			return // reported by Table.Read
		}
		items, err = splitList(value)
		r.warnOverridden(beta, KeySourceRanges)
	case old != "":
		source, value = beta, old
		items, err = splitList(old)
	default:
		return
	}
	if source != KeySourceRanges && !r.supports(KeySourceRanges) {
		r.warn(Unsupported, source, "the cloud "+r.vocabulary.Provider+" cannot restrict who connects: the load balancer is "+
			"open to everyone")
		return
	}
	if err == nil && len(items) > maxEntries {
		err = fmt.Errorf("there are %d ranges: write at most %d", len(items), maxEntries)
	}
	if err != nil {
		r.problems.Add(source, value, err.Error())
		return
	}
	if source != KeySourceRanges {
		r.recordSource(KeySourceRanges, source)
	}
	r.out.SourceRanges = r.parseRanges(source, items)
	r.checkRangeFamilies(source, value)
}

// warnOverridden warns about a setting that another one overrides.
func (r *reader) warnOverridden(key, winner string) {
	if strings.TrimSpace(r.svc.Annotations[key]) != "" &&
		(key == v1.AnnotationLoadBalancerSourceRangesKey || r.supports(key)) {
		r.warn(Ignored, key, winner+" is set too and takes precedence; remove one of them")
	}
}

func (r *reader) parseRanges(source string, items []string) []netip.Prefix {
	ranges := make([]netip.Prefix, 0, len(items))
	for _, item := range items {
		item = strings.TrimSpace(item)
		prefix, changed, err := parseRange(item)
		switch {
		case err != nil:
			r.problems.Add(source, "", err.Error())
			continue
		case changed:
			r.warn(Ignored, source, fmt.Sprintf("%s is read as %s; write it so", Quote(item), prefix))
		}
		ranges = append(ranges, prefix)
	}
	return canonicalRanges(ranges)
}

// checkRangeFamilies warns about ranges of a family that the Service lacks, and refuses ranges that would exclude
// all clients.
func (r *reader) checkRangeFamilies(source, value string) {
	usable := false
	for _, prefix := range r.out.SourceRanges {
		family := familyOf(prefix.Addr())
		if slices.Contains(r.out.Families, family) {
			usable = true
			continue
		}
		r.warn(Ignored, source, fmt.Sprintf("%s has no effect, because the Service has no %s "+
			"(spec.ipFamilies)", prefix, family))
	}
	if len(r.out.SourceRanges) > 0 && !usable {
		r.problems.Addf(source, value, "no range is %s, so no client could connect: add one of the Service's own "+
			"family", joinFamilies(r.out.Families))
	}
}

func joinFamilies(families []v1.IPFamily) string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = string(f)
	}
	return strings.Join(names, " or ")
}

// readStaticAddresses reads the deprecated field if the annotation is not set, and checks the
// addresses of both against the families.
func (r *reader) readStaticAddresses() {
	source := KeyStaticAddresses
	if ip := strings.TrimSpace(r.svc.Spec.LoadBalancerIP); ip != "" {
		switch {
		case r.isSet(KeyStaticAddresses):
			if !slices.Equal(r.out.StaticAddresses, []string{ip}) {
				r.warn(Ignored, FieldLoadBalancerIP,
					KeyStaticAddresses+" is set too and takes precedence; remove the field, which is deprecated")
			}
		case !r.supports(KeyStaticAddresses):
			r.warnUnsupported(FieldLoadBalancerIP)
		default:
			source = FieldLoadBalancerIP
			r.recordSource(KeyStaticAddresses, FieldLoadBalancerIP)
			r.out.StaticAddresses = []string{ip}
		}
	}
	for _, item := range r.out.StaticAddresses {
		addr, err := netip.ParseAddr(item)
		if err == nil && !slices.Contains(r.out.Families, familyOf(addr)) {
			r.problems.Addf(source, item, "it is %s, but the Service is %s (spec.ipFamilies): use an address of that "+
				"family", familyOf(addr), joinFamilies(r.out.Families))
		}
	}
}

// readHealthCheck checks the probe annotations together, and overrides them with externalTrafficPolicy: Local.
func (r *reader) readHealthCheck() {
	h := &r.out.HealthCheck
	if h.Interval > 0 && h.Timeout > h.Interval {
		r.problems.Addf(KeyHealthCheckTimeout, formatDuration(h.Timeout), "it exceeds %s, which is %s: write at most "+
			"that", KeyHealthCheckInterval, formatDuration(h.Interval))
	}
	if !r.out.LocalTraffic {
		if h.Path != "" && h.Protocol != HealthCheckHTTP {
			r.problems.Addf(KeyHealthCheckPath, h.Path, "only HTTP probes have a path: set %s to HTTP as "+
				"well", KeyHealthCheckProtocol)
		}
		return
	}
	// Only the health check node port reports which nodes have a ready pod, so another probe would send traffic
	// to nodes that drop it.
	for _, key := range []string{KeyHealthCheckProtocol, KeyHealthCheckPort, KeyHealthCheckPath} {
		if r.isSet(key) {
			r.warn(Ignored, key, "no effect with externalTrafficPolicy: Local, where the Service's health check node port is "+
				"probed; remove it")
		}
	}
	h.Protocol, h.Port, h.Path = HealthCheckHTTP, r.svc.Spec.HealthCheckNodePort, localProbePath
	r.recordSource(KeyHealthCheckProtocol, FieldExternalTrafficPolicy)
	r.recordSource(KeyHealthCheckPort, FieldHealthCheckNodePort)
	r.recordSource(KeyHealthCheckPath, FieldExternalTrafficPolicy)
	if h.Port == 0 {
		r.warn(Ignored, FieldHealthCheckNodePort, "not assigned yet; the API server assigns it when the Service is created")
	}
}
