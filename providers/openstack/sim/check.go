package sim

import (
	"errors"
)

// Check returns all inconsistencies of the state, joined: dangling references, inconsistent ends of a
// relation, and addresses that are allocated and not in use, or the reverse.
func (c *Cloud) Check() (err error) {
	c.inspect(func(t *tx) { err = errors.Join(append(t.Check(), t.Check()...)...) })
	return err
}
