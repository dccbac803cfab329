package api

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Filter returns a filter of EC2's Describe actions. It matches objects that match any of the values.
func Filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: &name, Values: values}
}

// TagMap returns EC2's tags as a map.
func TagMap(list []ec2types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, t := range list {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags
}

// EC2Tags returns the tags of a request to EC2, sorted by key.
func EC2Tags(tags map[string]string) []ec2types.Tag {
	return KeyValues(tags, func(key, value *string) ec2types.Tag { return ec2types.Tag{Key: key, Value: value} })
}

// KeyValues converts a map to the keys and values of a request, such as tags or attributes, sorted by key. Each service
// has its own type for them, which newItem returns.
func KeyValues[T any](m map[string]string, newItem func(key, value *string) T) []T {
	out := make([]T, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, newItem(&key, aws.String(m[key])))
	}
	return out
}
