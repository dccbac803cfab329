package intent

import (
	"maps"
)

// Sources maps the key of a setting to the field or annotation that the user wrote, for settings
// that can be written in more than one way: "load-balancer.unified-ccm.io/static-addresses" to
// "spec.loadBalancerIP". Settings that were written under their own key are absent.
type Sources map[string]string

// FieldOf returns the field path or annotation key under which the user wrote a setting.
func (s Sources) FieldOf(key string) string {
	if field, ok := s[key]; ok {
		return field
	}
	return key
}

// Clone returns a copy that can be written to.
func (s Sources) Clone() Sources {
	if s == nil {
		return Sources{}
	}
	return maps.Clone(s)
}
