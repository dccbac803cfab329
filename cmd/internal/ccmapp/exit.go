package ccmapp

import (
	"errors"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

// exitChanges: ccm plan found changes.
const exitChanges = 2

// errChanges is the outcome of a plan with changes. It has no message: the plan has been printed.
var errChanges = &cli.ExitError{Code: exitChanges}

func changesFound(err error) bool { return errors.Is(err, errChanges) }
