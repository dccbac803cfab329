package intent

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Read parses a Service and its portable annotations. It makes no call and does not modify svc.
//
// The error, of class cloudapi.Invalid, names every problem; warnings are returned in any case,
// in a stable order. The Service returned with an error holds the fields that could be read: enough
// for Status texts, but not for creating anything.
func Read(svc *v1.Service, vocabulary Vocabulary) (Service, []Warning, error) {
	r := &reader{svc: svc, vocabulary: vocabulary}
	r.out = Service{
		Namespace:   svc.Namespace,
		Name:        svc.Name,
		UID:         svc.UID,
		Scheme:      Public,
		Annotations: maps.Clone(svc.Annotations),
	}
	r.readSpec()
	r.readPortable()
	r.readSourceRanges()
	r.checkPortRanges()
	r.checkListeners()
	r.readStaticAddresses()
	r.readHealthCheck()
	r.warnUnknownAnnotations()
	r.out.Fields = r.collectFields()
	return r.out, r.allWarnings(), r.problems.Err(Subject(svc))
}

// readPortable reads the portable annotations that the cloud supports, and warns about the others.
func (r *reader) readPortable() {
	supported := slices.DeleteFunc(portableTable(&r.out), func(e Entry) bool {
		if r.supports(e.Key) {
			return false
		}
		switch value, ok := r.svc.Annotations[e.Key]; {
		case ok && e.Required:
			r.problems.Addf(e.Key, value, "load balancers of the cloud %s cannot do it: remove it", r.vocabulary.Provider)
		case ok:
			r.warnUnsupported(e.Key)
		}
		return true
	})
	supported.Read(r.svc.Annotations, &r.problems)
}

// checkListeners checks the settings of TLS and HTTP together.
func (r *reader) checkListeners() {
	if r.out.TLS.Certificate != "" && !slices.ContainsFunc(r.out.Ports, r.out.TLS.Selector()) {
		r.problems.Add(KeyTLSCertificate, r.out.TLS.Certificate, "it works for TCP, and the Service has no TCP "+
			"port: remove it")
	}
	if r.out.ProxyProtocol != 0 && r.out.AddsForwardedHeaders() {
		r.problems.Addf(KeyForwardedHeaders, r.svc.Annotations[KeyForwardedHeaders], "%s is set too, and both report the "+
			"client's address to the nodes: remove one of them", KeyProxyProtocol)
	}
}

// collectFields returns the values that the user set and that the load balancer is computed from: annotations by key,
// spec fields by path. Fields with the API server's default count as unset.
func (r *reader) collectFields() map[string]string {
	fields := map[string]string{}
	read := slices.Concat(r.vocabulary.Portable, r.vocabulary.Own, []string{v1.AnnotationLoadBalancerSourceRangesKey})
	for _, key := range read {
		if value, ok := r.svc.Annotations[key]; ok && !slices.Contains(r.vocabulary.Written, key) {
			fields[key] = strings.TrimSpace(value)
		}
	}
	set := func(path, value string) {
		if value != "" {
			fields[path] = value
		}
	}
	spec := r.svc.Spec
	ports := make([]string, len(r.out.Ports))
	for i, p := range r.out.Ports {
		ports[i] = fmt.Sprintf("%s/%d/%d/%s", p.Protocol, p.Port, p.NodePort, p.Name)
	}
	set(FieldPorts, strings.Join(ports, ","))
	families := make([]string, len(spec.IPFamilies))
	for i, family := range spec.IPFamilies {
		families[i] = string(family)
	}
	set(FieldIPFamilies, strings.Join(families, ","))
	set(FieldLoadBalancerIP, spec.LoadBalancerIP)
	ranges := slices.Clone(spec.LoadBalancerSourceRanges[:min(len(spec.LoadBalancerSourceRanges), maxEntries)])
	for i, item := range ranges {
		ranges[i] = strings.TrimSpace(item)
	}
	slices.Sort(ranges)
	set(FieldSourceRanges, strings.Join(ranges, ","))
	if r.out.LocalTraffic {
		set(FieldExternalTrafficPolicy, string(spec.ExternalTrafficPolicy))
	}
	if spec.HealthCheckNodePort != 0 {
		set(FieldHealthCheckNodePort, strconv.Itoa(int(spec.HealthCheckNodePort)))
	}
	if r.out.ClientIPAffinity > 0 {
		set(FieldSessionAffinity, r.out.ClientIPAffinity.String())
	}
	return fields
}

// checkPortRanges refuses a port that no client could connect to: its ranges and those of the Service exclude each
// other, or are of another family. It also refuses more ranges of all ports together than any load balancer has.
func (r *reader) checkPortRanges() {
	rules := 0
	for _, p := range r.out.Ports {
		rules += len(r.out.SourceRanges) + len(p.SourceRanges)
	}
	if rules > maxRules {
		r.problems.Addf(FieldPorts, "", "the ports have %d source ranges together, and a load balancer can have %d: remove "+
			"ports or ranges, or write several Services", rules, maxRules)
		return
	}
	isUsable := func(prefix netip.Prefix) bool { return slices.Contains(r.out.Families, familyOf(prefix.Addr())) }
	for _, p := range r.out.Ports {
		if len(p.SourceRanges) > 0 && !slices.ContainsFunc(r.out.RangesAt(p), isUsable) {
			r.problems.Addf(KeyPortSourceRanges, r.svc.Annotations[KeyPortSourceRanges], "no client could connect to the port "+
				"%d, because it needs an address in its ranges and in those of the Service (%s), of a family of the Service: add "+
				"one that both contain", p.Port, r.out.Sources.FieldOf(KeySourceRanges))
		}
	}
}
