package core

import (
	"fmt"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// NewID returns a random UUID.
func (t *Tx) NewID() string { return kit.UUID(t.Random) }

// NewHex returns a random ID as Keystone makes them, a UUID without dashes.
func (t *Tx) NewHex() string {
	return fmt.Sprintf("%016x%016x", t.Random.Uint64(), t.Random.Uint64())
}
