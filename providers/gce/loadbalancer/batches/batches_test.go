package batches

import (
	"fmt"
	"slices"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// One instance that is refused affects no other, and costs few calls.
func TestEach(t *testing.T) {
	t.Parallel()
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("node-", i)
	}
	for name, tc := range map[string]struct {
		ids   []string
		bad   []string
		class cloudapi.Class
		calls int
		fails bool
	}{
		"none":                    {},
		"all are good":            {ids: many, calls: 1},
		"two batches":             {ids: append([]string{"first"}, many...), calls: 2},
		"one does not exist":      {ids: many, bad: many[:1], class: cloudapi.NotFound, calls: 19, fails: true},
		"one is done":             {ids: many, bad: many[999:], class: cloudapi.AlreadyExists, calls: 21},
		"a single one":            {ids: many[:1], bad: many[:1], class: cloudapi.NotFound, calls: 1, fails: true},
		"no instance is at fault": {ids: many, bad: many[:1], class: cloudapi.Denied, calls: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var done []string
			calls := 0
			err := Each(tc.ids, cloudapi.AlreadyExists, func(ids []string) error {
				calls++
				if slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(tc.bad, id) }) {
					return &cloudapi.Error{Class: tc.class, Operation: "add"}
				}
				done = append(done, ids...)
				return nil
			})
			if calls != tc.calls || (err != nil) != tc.fails {
				t.Errorf("%d calls, want %d, error %v", calls, tc.calls, err)
			}
			if want := len(tc.ids) - len(tc.bad); len(done) != want && tc.class != cloudapi.Denied {
				t.Errorf("%d instances, want %d", len(done), want)
			}
		})
	}
}
