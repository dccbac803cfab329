package auditcmd

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
)

// section is the heading and the colour of a state.
type section struct{ title, explanation, colour string }

// ANSI escape sequences. Every state has a heading, so that colour is never needed to understand it.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	purple = "\x1b[35m"
	reset  = "\x1b[0m"
)

func sectionOf(s inventory.State) section {
	switch s {
	case inventory.Orphaned:
		return section{"Orphaned", "marked as this cluster's, and no Service or node needs them", red}
	case inventory.Drifted:
		return section{"Drifted", "the manager would change them", yellow}
	case inventory.Unknown:
		return section{"Unknown", "a list is missing, without which their state cannot be decided", purple}
	case inventory.Held:
		return section{"Held", "the manager holds a change of them until a user approves it; ccm plan shows the ID", purple}
	case inventory.Unidentified:
		return section{"Unidentified", "nothing on them proves which cluster they belong to", purple}
	case inventory.Foreign:
		return section{"Foreign", "marked as another cluster's", dim}
	case inventory.InSync:
		return section{"In sync", "the manager would not change them", green}
	default:
		return section{"Owned", "of a Service or node of this cluster, not compared", green}
	}
}

// print writes the document, or the table and the outcomes of deletions.
func (c *command) print(deletions []orphans.Deletion) error {
	switch {
	case c.options.JSON:
		return c.printJSON(c.streams.Out, deletions)
	case c.options.DeleteOrphans:
		return c.printDeletions(c.streams.Out, deletions)
	default:
		return c.printTable(c.streams.Out)
	}
}

// printTable writes a section for each state, and a summary.
//
//	Orphaned: marked as this cluster's, and no Service or node needs them
//	  load balancer  k8s-default-old-89abcdef  lb-2  default/old  2 listeners, 2 pools
//	      there is no Service default/old
//
//	Cluster prod: 1 orphaned, 4 in sync.
func (c *command) printTable(w io.Writer) error {
	var b bytes.Buffer
	for _, state := range inventory.States() {
		entries := slices.DeleteFunc(slices.Clone(c.Report.Entries), func(e inventory.Entry) bool { return e.State != state })
		if len(entries) > 0 {
			c.printSection(&b, sectionOf(state), entries, c.options.Verbose || state != inventory.InSync &&
				state != inventory.Owned)
		}
	}
	if len(c.Report.Unlisted) > 0 {
		fmt.Fprintln(&b, c.styled(purple, "Not listed: nothing of these kinds is called an orphan"))
		for _, k := range c.Report.Unlisted {
			fmt.Fprintf(&b, "  %s: %s\n", k.Name, printable(cloudapi.OneLine(k.Err)))
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, c.styled(bold, c.summary()))
	_, err := w.Write(b.Bytes())
	return err
}

// row is a line of a section, with the entries that it stands for.
type row struct {
	entry inventory.Entry
	cells []string
}

func (c *command) printSection(b *bytes.Buffer, s section, entries []inventory.Entry, full bool) {
	if !full {
		fmt.Fprintf(b, "%s %s\n\n", c.styled(s.colour, s.title+":"), tally(entries)+"; --verbose lists them")
		return
	}
	fmt.Fprintf(b, "%s %s\n", c.styled(s.colour, s.title+":"), s.explanation)
	rows := rowsOf(entries, c.options.Verbose)
	widths := make([]int, columns)
	for _, r := range rows {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		line := " "
		for i, cell := range r.cells {
			line += " " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + " "
		}
		fmt.Fprintln(b, strings.TrimRight(line, " "))
		for _, reason := range []string{r.entry.Reason, prefixed("not deleted: ", r.entry.Refusal)} {
			if reason != "" {
				fmt.Fprintln(b, c.styled(dim, c.clip("      "+printable(reason))))
			}
		}
	}
	fmt.Fprintln(b)
}

// columns are kind, name, ID, Service, and details.
const columns = 5

// rowsOf returns a row for each entry. Unless all is set, parts are counted in the row of their parent if their
// state has the same reason.
func rowsOf(entries []inventory.Entry, all bool) []row {
	parts := map[string][]inventory.Entry{}
	parents := map[string]inventory.Entry{}
	for _, e := range entries {
		parents[e.ID] = e
	}
	var rows []row
	for _, e := range entries {
		if parent, ok := parents[e.Parent]; ok && !all && e.Parent != "" && e.Reason == parent.Reason {
			parts[parent.ID] = append(parts[parent.ID], e)
			continue
		}
		rows = append(rows, row{entry: e})
	}
	for i, r := range rows {
		e := r.entry
		var details []string
		for _, f := range e.Fields {
			if f.Value != "" {
				details = append(details, f.Name+" "+f.Value)
			}
		}
		if counted := parts[e.ID]; len(counted) > 0 && e.ID != "" {
			details = append(details, "with "+tally(counted))
		}
		rows[i].cells = []string{printable(e.Kind), printable(e.Name), printable(distinctID(e.ID, e.Name)),
			printable(e.Service()), printable(strings.Join(details, ", "))}
	}
	return rows
}

// tally counts entries by kind: "2 listeners, 1 pool".
func tally(entries []inventory.Entry) string {
	n := map[string]int{}
	var kinds []string
	for _, e := range entries {
		if n[e.Kind]++; n[e.Kind] == 1 {
			kinds = append(kinds, e.Kind)
		}
	}
	slices.Sort(kinds)
	for i, kind := range kinds {
		kinds[i] = plural(n[kind], kind)
	}
	return strings.Join(kinds, ", ")
}

// summary is the last line.
func (c *command) summary() string {
	n := c.Report.Count()
	var parts []string
	for _, state := range inventory.States() {
		if n[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[state], strings.ToLower(sectionOf(state).title)))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing in the cloud carries the mark of a cluster"}
	}
	return fmt.Sprintf("Cluster %s (%s) in %s: %s.", c.session.ClusterName, c.session.ClusterUID, c.options.Title,
		strings.Join(parts, ", "))
}

// printDeletions writes the outcome of each orphan.
func (c *command) printDeletions(w io.Writer, deletions []orphans.Deletion) error {
	var b bytes.Buffer
	n := map[orphans.Outcome]int{}
	for _, d := range deletions {
		n[d.Outcome]++
		colour := map[orphans.Outcome]string{orphans.Deleted: green, orphans.Failed: red}[d.Outcome]
		id := distinctID(d.ID, d.Name)
		if id != "" {
			id = " (" + printable(id) + ")"
		}
		fmt.Fprintf(&b, "%s %s %s%s%s\n", c.styled(colour, string(d.Outcome)), printable(d.Kind),
			printable(d.Name), id, prefixed(": ", printable(d.Detail)))
	}
	var parts []string
	for _, o := range []orphans.Outcome{orphans.Deleted, orphans.Refused, orphans.Failed, orphans.NotTried} {
		if n[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[o], o))
		}
	}
	if len(parts) == 0 {
		parts = []string{"there are none"}
	}
	fmt.Fprintln(&b, c.styled(bold, "Orphans: "+strings.Join(parts, ", ")+"."))
	_, err := w.Write(b.Bytes())
	return err
}

// distinctID returns the ID of an object, or "" if it only repeats the name.
func distinctID(id, name string) string {
	if id == name || strings.HasSuffix(id, "/"+name) {
		return ""
	}
	return id
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func (c *command) styled(colour, text string) string {
	if !c.options.Color || colour == "" {
		return text
	}
	return colour + text + reset
}

// clip shortens a line to the width of the terminal.
func (c *command) clip(line string) string {
	if c.options.Width <= 0 || c.options.Verbose || utf8.RuneCountInString(line) <= c.options.Width {
		return line
	}
	return string([]rune(line)[:max(c.options.Width-1, 1)]) + "…"
}

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ss"):
		return fmt.Sprintf("%d %ses", n, noun)
	case strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %s", n, noun)
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}

// printable replaces characters that could control a terminal or break a line: names come from users and clouds.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
