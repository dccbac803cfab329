// Package auditcmd prints the result of ccm audit, and deletes orphans after a confirmation.
package auditcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Result is the outcome of the command.
type Result struct {
	// Attention is set if something is drifted or orphaned when the command ends.
	Attention bool
	// Failures are lines about what could not be listed, compared or deleted.
	Failures []string
}

// Run audits and prints, and deletes orphans if the options include that.
func Run(ctx context.Context, s orphans.Session, o Options, streams Streams) (Result, error) {
	audit, err := orphans.Run(ctx, s)
	if errors.Is(err, orphans.ErrUnsupported) {
		return Result{}, cli.EnvironmentErrorf("ccm audit does not support %s: %v", o.Title, err)
	}
	if err != nil {
		return Result{}, err
	}
	c := &command{Audit: audit, session: s, options: o, streams: streams}
	var deletions []orphans.Deletion
	if o.DeleteOrphans {
		if deletions, err = c.deleteOrphans(ctx); err != nil {
			return Result{}, err
		}
	}
	if err := c.print(deletions); err != nil {
		return Result{}, cli.EnvironmentErrorf("the audit cannot be printed: %v", err)
	}
	return c.result(deletions), nil
}

// deleteOrphans shows the audit and the plans, waits for a confirmation, and deletes. It returns an outcome for every
// orphan.
func (c *command) deleteOrphans(ctx context.Context) ([]orphans.Deletion, error) {
	removals := c.Removals(ctx)
	var plans []plan.Plan
	changes := 0
	for _, r := range removals {
		if !r.Plan.Empty() {
			plans = append(plans, r.Plan)
			changes += len(r.Plan.Changes)
		}
	}
	if !c.options.JSON {
		if err := c.printTable(c.streams.Out); err != nil {
			return nil, err
		}
		if changes > 0 {
			if err := c.confirm(ctx, plans, changes); err != nil {
				return nil, err
			}
		}
	}
	all := c.Refused()
	for _, r := range removals {
		all = append(all, r.Apply(ctx)...)
	}
	return all, nil
}

// confirm shows the plans and waits for the user's yes.
func (c *command) confirm(ctx context.Context, plans []plan.Plan, changes int) error {
	w := c.streams.Out
	fmt.Fprintln(w)
	err := plan.RenderText(w, plan.TextOptions{Color: c.options.Color, Width: c.options.Width,
		Verbose: c.options.Verbose}, plans...)
	fmt.Fprintln(w)
	if err != nil || c.options.Yes {
		return err
	}
	fmt.Fprintf(w, "Apply %s? Only \"yes\" is accepted: ", plural(changes, "change"))
	answer, err := readLine(ctx, c.streams.In)
	fmt.Fprintln(w)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("nothing was deleted: %w", err)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return cli.EnvironmentErrorf("the answer cannot be read: %v", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return cli.EnvironmentErrorf("nothing was deleted, because the answer was not yes; without a terminal, use --yes")
	}
	return nil
}

// readLine reads a line, or returns the error of ctx. The read then continues: a terminal cannot interrupt it.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		lines <- line{text, err}
	}()
	select {
	case l := <-lines:
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// result returns what the exit code depends on.
func (c *command) result(deletions []orphans.Deletion) Result {
	r := Result{Failures: slices.Clone(c.Failures)}
	deleted := map[string]bool{}
	for _, d := range deletions {
		deleted[d.Kind+d.ID] = d.Outcome == orphans.Deleted
		if d.Outcome == orphans.Failed || d.Outcome == orphans.NotTried {
			r.Failures = append(r.Failures, fmt.Sprintf("%s %s: %s: %s", d.Kind, d.Name, d.Outcome, d.Detail))
		}
	}
	for _, e := range c.Report.Entries {
		if e.State == inventory.Drifted || e.State == inventory.Orphaned && !deleted[e.Kind+e.ID] {
			r.Attention = true
		}
	}
	return r
}
