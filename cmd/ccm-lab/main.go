// Command ccm-lab runs ccm without a cloud: it runs a whole cluster with a simulated cloud on this machine,
// serves simulated clouds alone, and runs benchmarks.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A second Ctrl-C changes nothing: started processes have to be stopped in any case.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := execute(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, s streams) int {
	root := newRoot(ctx, s)
	root.SetArgs(args)
	root.SetOut(s.out)
	root.SetErr(s.err)
	return report(s.err, root.ExecuteContext(ctx))
}
