// Package batches makes calls for many instances, in as few as the cloud allows.
package batches

import (
	"errors"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// size is the number of instances that one call adds or removes.
const size = 1000

// Each makes a call for instances. If a call is refused because of one of them, each half gets a call of its own, down
// to the one that is refused, so that the others are not affected. Errors of the class done are success.
func Each(ids []string, done cloudapi.Class, call func(ids []string) error) error {
	var errs []error
	for batch := range slices.Chunk(ids, size) {
		errs = append(errs, halves(batch, done, call))
	}
	return errors.Join(errs...)
}

func halves(ids []string, done cloudapi.Class, call func(ids []string) error) error {
	err := call(ids)
	switch n := len(ids) / 2; {
	case n > 0 && cloudapi.Is(err, cloudapi.NotFound, cloudapi.AlreadyExists, cloudapi.Invalid, cloudapi.Unavailable):
		return errors.Join(halves(ids[:n], done, call), halves(ids[n:], done, call))
	case cloudapi.Is(err, done):
		return nil
	}
	return err
}
