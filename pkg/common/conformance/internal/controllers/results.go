package controllers

import (
	"errors"
	"sync"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
)

// results keeps the last error of each kind of call and object, so that Settle can predict retries.
type results struct {
	mu   sync.Mutex
	errs map[string]error
}

func newResults() *results { return &results{errs: map[string]error{}} }

// add records the result of a call and returns its error.
func (r *results) add(call string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || errors.Is(err, cloudprovider.ImplementedElsewhere) {
		delete(r.errs, call)
	} else {
		r.errs[call] = err
	}
	return err
}

// failures returns the errors of the calls that failed last, joined.
func (r *results) failures() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for call, err := range r.errs {
		errs = append(errs, steps.Wrap(call, err))
	}
	return errors.Join(errs...)
}
