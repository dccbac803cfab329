package intent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Inputs are the parts of a Service that its load balancer is computed from: annotations by key, and fields of the spec
// by path, as JSON. Each port is an entry of its own.
type Inputs map[string]string

const (
	specPrefix = "spec."
	portPrefix = FieldPorts + "["
	// fieldPortOrder has the keys of the ports in the order of the spec, which some clouds' defaults depend on.
	fieldPortOrder = FieldPorts
)

// coupledInputs are fields that the API server changes together: one without the others may be no valid Service.
var coupledInputs = [][]string{
	{FieldExternalTrafficPolicy, FieldHealthCheckNodePort},
	{FieldIPFamilies, "spec.ipFamilyPolicy"},
	{FieldSessionAffinity, "spec.sessionAffinityConfig"},
}

// InputsOf returns the inputs of a Service with the annotations of a vocabulary.
func InputsOf(svc *v1.Service, vocabulary Vocabulary) Inputs {
	in := Inputs{}
	for _, key := range vocabulary.Inputs() {
		if value, ok := svc.Annotations[key]; ok {
			in[key] = value
		}
	}
	spec := v1.ServiceSpec{
		IPFamilies: svc.Spec.IPFamilies, IPFamilyPolicy: svc.Spec.IPFamilyPolicy,
		LoadBalancerIP: svc.Spec.LoadBalancerIP, LoadBalancerSourceRanges: svc.Spec.LoadBalancerSourceRanges,
		LoadBalancerClass: svc.Spec.LoadBalancerClass, AllocateLoadBalancerNodePorts: svc.Spec.AllocateLoadBalancerNodePorts,
		ExternalTrafficPolicy: svc.Spec.ExternalTrafficPolicy, HealthCheckNodePort: svc.Spec.HealthCheckNodePort,
		SessionAffinity: svc.Spec.SessionAffinity, SessionAffinityConfig: svc.Spec.SessionAffinityConfig,
	}
	for name, value := range fieldsOf(spec) {
		in[specPrefix+name] = string(value)
	}
	var order []string
	for _, port := range svc.Spec.Ports {
		name := portName(port)
		text, err := json.Marshal(port)
		if _, twice := in[name]; err != nil || twice {
			continue // The API server accepts neither.
		}
		in[name] = string(text)
		order = append(order, name)
	}
	in[fieldPortOrder] = strings.Join(order, ",")
	return in
}

// Inputs returns the keys of the annotations that users write and the provider reads, sorted.
func (v Vocabulary) Inputs() []string {
	keys := slices.Concat(v.Portable, v.Own, []string{v1.AnnotationLoadBalancerSourceRangesKey})
	keys = slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(v.Written, key) })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// portName is the path of a port, which its protocol and number identify.
func portName(port v1.ServicePort) string {
	return fmt.Sprintf("%s%s/%d]", portPrefix, port.Protocol, port.Port)
}

// fieldsOf returns the fields of a spec that are set, by their JSON names.
func fieldsOf(spec v1.ServiceSpec) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return nil
	}
	return fields
}

// Apply returns a copy of a Service with these inputs instead of its own. An error means that an input is malformed.
func (in Inputs) Apply(svc *v1.Service, vocabulary Vocabulary) (*v1.Service, error) {
	out := svc.DeepCopy()
	for _, key := range vocabulary.Inputs() {
		delete(out.Annotations, key)
	}
	spec := map[string]json.RawMessage{}
	for name, value := range in {
		field, isSpec := strings.CutPrefix(name, specPrefix)
		switch {
		case !isSpec && out.Annotations == nil:
			out.Annotations = map[string]string{name: value}
		case !isSpec:
			out.Annotations[name] = value
		case name != fieldPortOrder && !strings.HasPrefix(name, portPrefix):
			spec[field] = json.RawMessage(value)
		}
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var fields v1.ServiceSpec
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	if fields.Ports, err = in.ports(); err != nil {
		return nil, err
	}
	fields.Type, fields.ClusterIP, fields.ClusterIPs = out.Spec.Type, out.Spec.ClusterIP, out.Spec.ClusterIPs
	out.Spec = fields
	return out, nil
}

// ports returns the ports in their order; those that the order does not name come last.
func (in Inputs) ports() ([]v1.ServicePort, error) {
	order := strings.Split(in[fieldPortOrder], ",")
	var names []string
	for name := range in {
		if strings.HasPrefix(name, portPrefix) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if i, j := slices.Index(order, a), slices.Index(order, b); i >= 0 && j >= 0 {
			return i - j
		} else if i != j && (i < 0 || j < 0) {
			return j - i // One that the order names is first.
		}
		return strings.Compare(a, b)
	})
	ports := make([]v1.ServicePort, len(names))
	for i, name := range names {
		if err := json.Unmarshal([]byte(in[name]), &ports[i]); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// Equal reports whether two inputs are the same.
func (in Inputs) Equal(other Inputs) bool { return maps.Equal(in, other) }

// Edits returns the groups of names with different values in two inputs, sorted. The names of a group are coupled.
func (in Inputs) Edits(other Inputs) [][]string {
	names := slices.Sorted(maps.Keys(in))
	for name := range other {
		if _, ok := in[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	edited := func(name string) bool {
		a, hasA := in[name]
		b, hasB := other[name]
		return hasA != hasB || a != b
	}
	var groups [][]string
	coupled := map[string]bool{}
	for _, name := range names {
		if !edited(name) || coupled[name] || name == fieldPortOrder {
			continue
		}
		group := []string{name}
		for _, c := range coupledInputs {
			if slices.Contains(c, name) {
				group = slices.DeleteFunc(slices.Clone(c), func(n string) bool { return !edited(n) })
			}
		}
		for _, n := range group {
			coupled[n] = true
		}
		groups = append(groups, group)
	}
	if len(groups) == 0 && edited(fieldPortOrder) {
		groups = append(groups, []string{fieldPortOrder})
	}
	return groups
}

// With returns the inputs with the values of others for some names.
func (in Inputs) With(others Inputs, names []string) Inputs {
	out := maps.Clone(in)
	for _, name := range names {
		if value, ok := others[name]; ok {
			out[name] = value
		} else {
			delete(out, name)
		}
	}
	return out
}

// Without returns the inputs without some names.
func (in Inputs) Without(names []string) Inputs { return in.With(nil, names) }
