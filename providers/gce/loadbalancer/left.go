package loadbalancer

import (
	"errors"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// leftObject is an object of all Services that a deletion leaves, because others use it.
type leftObject struct {
	link string
	// exists and isUsed read the snapshot.
	exists, isUsed func(w writer) bool
}

// verifyLeft returns an error if nothing uses a left object any more: the other Services were deleted at the same time.
// The deletion of this one is planned again then, with that object.
func (w writer) verifyLeft(left []leftObject) error {
	for _, l := range left {
		if l.exists(w) && !l.isUsed(w) && !w.uses.IsHeld(l.link) && !w.uses.Kept()[api.Path(l.link)] {
			return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "delete " + api.Last(l.link),
				Err: errors.New("nothing uses it any more since the plan was made: the next attempt deletes it")}
		}
	}
	return nil
}

// checkOf is a health check whose probes a firewall allows.
type checkOf struct{ kind, name, link string }

// exists reports whether the snapshot has the health check.
func (c checkOf) exists(w writer) bool {
	switch c.kind {
	case kindPoolCheck:
		return w.poolChecks.find(c.name) != nil
	case kindCheck:
		return w.checks.find(c.name) != nil
	}
	return false
}
