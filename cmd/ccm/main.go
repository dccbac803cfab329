// Command ccm is the cloud controller manager: one binary for every cloud that is linked into
// it. The clouds are the blank imports in the providers_*.go files of this folder.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/unified-ccm/unified-ccm/cmd/internal/ccmapp"
	"github.com/unified-ccm/unified-ccm/cmd/internal/gctuning"
)

func main() {
	gctuning.Start()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(ccmapp.Main(ctx, ccmapp.Arguments(os.Args), ccmapp.Streams{Out: os.Stdout, Err: os.Stderr}))
}
