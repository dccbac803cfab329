package sim

import (
	"errors"
)

// Check returns all inconsistencies of the state, joined: no reference may dangle, both ends of each relation agree,
// and exactly the addresses in use are taken.
func (c *Cloud) Check() (err error) {
	c.inspect(func(t *tx) { err = errors.Join(append(t.Check(), t.Check()...)...) })
	return err
}
