package auditcmd

import (
	"io"

	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
)

// Options are the flags of the command.
type Options struct {
	// Provider is the cloud's name, Title its name for users.
	Provider, Title string
	// JSON selects the output for scripts. Color, Width and Verbose are those of plan.TextOptions.
	JSON, Color, Verbose bool
	Width                int
	// DeleteOrphans deletes orphans, after a confirmation unless Yes is set.
	DeleteOrphans, Yes bool
}

// Streams are the input and the output of the command.
type Streams struct {
	In  io.Reader
	Out io.Writer
}

// command is the state of one run.
type command struct {
	*orphans.Audit
	session orphans.Session
	options Options
	streams Streams
}
