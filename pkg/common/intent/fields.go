package intent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// The paths of the spec fields that load balancers are computed from.
const (
	FieldPorts                 = "spec.ports"
	FieldIPFamilies            = "spec.ipFamilies"
	FieldLoadBalancerIP        = "spec.loadBalancerIP"
	FieldSourceRanges          = "spec.loadBalancerSourceRanges"
	FieldExternalTrafficPolicy = "spec.externalTrafficPolicy"
	FieldHealthCheckNodePort   = "spec.healthCheckNodePort"
	FieldSessionAffinity       = "spec.sessionAffinity"
)

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
