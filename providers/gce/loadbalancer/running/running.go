// Package running remembers objects whose last change takes too long, so that not each of the Services that share such
// an object waits for it.
package running

import (
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// pause is the time without another attempt after one that took too long.
const pause = 3 * time.Minute

// Changes are the changes that have not ended, by object. It is safe for concurrent use.
type Changes struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[string]time.Time
}

// New returns Changes without any.
func New(c clock.PassiveClock) *Changes { return &Changes{clock: c, until: map[string]time.Time{}} }

// Do changes an object, unless an earlier change of it has just taken too long.
func (c *Changes) Do(object string, change func() error) error {
	if left := c.left(object); left > 0 {
		return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "change " + object, RetryAfter: left,
			Err: api.ErrRunning}
	}
	err := change()
	if errors.Is(err, api.ErrRunning) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.until[object] = c.clock.Now().Add(pause)
	}
	return err
}

// left returns the time until the next attempt.
func (c *Changes) left(object string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.until[object].Sub(c.clock.Now())
	if left <= 0 {
		delete(c.until, object)
	}
	return left
}
