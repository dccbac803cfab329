package api

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Convert converts the items of a list, for a request or from a response.
func Convert[From, To any](list []From, convert func(From) To) []To {
	out := make([]To, len(list))
	for i, item := range list {
		out[i] = convert(item)
	}
	return out
}

// Filter returns a filter of EC2's Describe actions. It matches objects that match any of the values.
func Filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: &name, Values: values}
}

// TagMap returns EC2's tags as a map.
func TagMap(list []ec2types.Tag) map[string]string {
	return ToMap(list, func(t ec2types.Tag) (key, value *string) { return t.Key, t.Value })
}

// EC2Tags returns the tags of a request to EC2, sorted by key.
func EC2Tags(tags map[string]string) []ec2types.Tag {
	return KeyValues(tags, func(key, value *string) ec2types.Tag { return ec2types.Tag{Key: key, Value: value} })
}

// ToMap converts the keys and values of a response, such as tags or attributes, to a map. keyValue returns those of an
// item: each service has its own type for them.
func ToMap[T any](list []T, keyValue func(T) (key, value *string)) map[string]string {
	out := make(map[string]string, len(list))
	for _, item := range list {
		key, value := keyValue(item)
		out[aws.ToString(key)] = aws.ToString(value)
	}
	return out
}

// KeyValues converts a map to the keys and values of a request, sorted by key. newItem returns an item of the service's
// type.
func KeyValues[T any](m map[string]string, newItem func(key, value *string) T) []T {
	out := make([]T, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, newItem(&key, aws.String(m[key])))
	}
	return out
}
