package nlb

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

// first returns the only object in the response to a creation.
func first[T any](operation string, items []T, err error) (T, error) {
	var zero T
	if err = awserr.Wrap(operation, err); err != nil {
		return zero, err
	}
	if len(items) == 0 {
		return zero, &cloudapi.Error{Class: cloudapi.Unknown, Operation: operation, Err: fmt.Errorf("the response is empty")}
	}
	return items[0], nil
}
