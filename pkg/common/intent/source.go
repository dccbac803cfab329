package intent

import (
	"maps"
	"reflect"
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

// Merge stores a portable setting in the option of a provider's own annotation, unless that
// annotation set the option already. Different values are a problem: the owner has to decide. A
// zero value means that the portable setting is not used. Problems about the provider's key name
// the portable setting from then on, if that is what set the option.
func Merge[V any](problems *Problems, option *V, value V, portable, own string) {
	switch v := reflect.ValueOf(value); {
	case v.IsZero(), v.Kind() == reflect.Slice && v.Len() == 0:
	case reflect.ValueOf(option).Elem().IsZero():
		*option = value
		problems.Override(own, portable)
	case !reflect.DeepEqual(*option, value):
		problems.Conflict(portable, own)
	}
}
