package assign

import (
	"errors"
	"fmt"
	"sync"
)

// asked asks all clouds at the same time, and returns the names of those that say yes, in the order of the list. The
// errors of those that have not answered are joined.
func asked[C any](clouds []C, ask func(C) (name string, yes bool, err error)) ([]string, error) {
	type answer struct {
		name string
		yes  bool
		err  error
	}
	answers := make([]answer, len(clouds))
	var group sync.WaitGroup
	for i, cloud := range clouds {
		group.Go(func() {
			name, yes, err := ask(cloud)
			answers[i] = answer{name, yes, err}
		})
	}
	group.Wait()
	var names []string
	var errs []error
	for _, a := range answers {
		switch {
		case a.err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", a.name, a.err))
		case a.yes:
			names = append(names, a.name)
		}
	}
	return names, errors.Join(errs...)
}
