package lab

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// OrphanTimeout is the timeout for objects in a simulated cloud to disappear after the deletion of their Service.
const OrphanTimeout = 30 * time.Second

// Orphans returns the names of the objects in a cloud that did not exist before. Deletions may be asynchronous, so it
// waits until there are none, or for the timeout.
func Orphans(ctx context.Context, cloud func() []world.Object, before []world.Object, timeout time.Duration) (
	[]string, error) {
	var names []string
	err := wait.PollUntilContextTimeout(ctx, poll, timeout, true, func(context.Context) (bool, error) {
		names = NewObjects(before, cloud())
		return len(names) == 0, nil
	})
	if err != nil && ctx.Err() == nil {
		err = nil // The timeout is a result.
	}
	return names, err
}

// NewObjects returns kind and name of each object that did not exist before.
func NewObjects(before, after []world.Object) []string {
	var out []string
	for _, o := range world.MissingObjects(after, before) {
		out = append(out, o.Kind+" "+cmp.Or(o.Name, o.ID))
	}
	return out
}
