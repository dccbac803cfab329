package apply

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

func toTags(tags map[string]string) []types.Tag {
	return api.KeyValues(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}

// optional returns nil for an empty text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// singleItem returns the only object in a response, or the error of the call. items is not called after an error.
func singleItem[T any](operation string, err error, items func() []T) (zero T, _ error) {
	if err != nil {
		return zero, awserr.Wrap(operation, err)
	}
	objects := items()
	if len(objects) == 0 {
		return zero, &cloudapi.Error{Class: cloudapi.Unknown, Operation: operation, Err: errors.New("the response is empty")}
	}
	return objects[0], nil
}
