package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options configure rendering.
type Options struct {
	// Width and Height in characters; 0 means unlimited.
	Width, Height int
	// Colour highlights what is ready and what is not.
	Colour bool
	// Hints are printed below everything else.
	Hints []string
}

// section is a part of the screen: a header, and rows that can be truncated.
type section struct {
	header []line
	rows   []line
	// newest is set if the last rows matter most.
	newest bool
}

// Screen renders a complete live screen. The result ends with a newline.
func Screen(s State, o Options) string {
	t := s.totals()
	status := span{busy, "starting: "}
	switch {
	case s.Ended != "":
		status = span{bad, "ccm ended: " + oneLine(s.Ended) + ": "}
	case s.Ready():
		status = span{good, "ready: "}
	}
	top := line{{bold, "unified-ccm lab"}, {dim, "  cloud "}, {plain, s.Provider}, {dim, "  up "},
		{plain, s.Running.Truncate(time.Second).String()}}
	sections := []section{
		{header: []line{top, {status, {plain, s.Summary()}}}},
		tableSection(fmt.Sprintf("NODES %d/%d", t.nodes, t.wantNodes), nodeTable(s.Nodes, o.Width)),
		tableSection(fmt.Sprintf("SERVICES %d/%d", t.services, t.wantServices), serviceTable(s.Services, o.Width)),
		{header: []line{{}, heading("CLOUD OBJECTS")}, rows: objects(s, o.Width)},
		{header: []line{{}, heading(callsTitle(s.Calls))}, rows: calls(s.Calls, o.Width)},
		{header: []line{{}, heading("EVENTS")}, rows: events(s.Events), newest: true},
	}
	if len(s.Problems) > 0 {
		sections = append(sections, section{header: []line{{}, {{bad, "PROBLEMS"}}}, rows: textLines(s.Problems)})
	}
	hints := section{header: []line{{}}}
	hints.header = append(hints.header, textLines(o.Hints)...)
	sections = append(sections, hints)
	return paint(fit(sections, o.Height), o)
}

// Tables renders the final state: nodes, Services and the cloud, without events.
func Tables(s State, o Options) string {
	sections := []section{
		{header: nodeTable(s.Nodes, o.Width)},
		{header: append([]line{{}}, serviceTable(s.Services, o.Width)...)},
		{header: append([]line{{}, {{dim, "CLOUD OBJECTS"}}}, objects(s, o.Width)...)},
		{header: append([]line{{}, {{dim, callsTitle(s.Calls)}}}, calls(s.Calls, o.Width)...)},
	}
	if len(s.Problems) > 0 {
		sections = append(sections, section{header: append([]line{{}, {{bad, "PROBLEMS"}}}, textLines(s.Problems)...)})
	}
	return paint(fit(sections, 0), o)
}

func paint(lines []line, o Options) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.paint(o.Width, o.Colour))
		b.WriteByte('\n')
	}
	return b.String()
}

func heading(t string) line { return line{{bold, t}} }

func tableSection(title string, table []line) section {
	return section{header: []line{{}, heading(title), table[0]}, rows: table[1:]}
}

func textLines(list []string) []line {
	out := make([]line, len(list))
	for i, t := range list {
		out[i] = text(oneLine(t))
	}
	return out
}

// fit truncates rows, from the longest section first, until everything fits into height lines.
func fit(sections []section, height int) []line {
	shown := make([]int, len(sections))
	for i, s := range sections {
		shown[i] = len(s.rows)
	}
	for height > 0 && lineCount(sections, shown) > height {
		longest := 0
		for i := range sections {
			if shown[i] > shown[longest] {
				longest = i
			}
		}
		if shown[longest] <= 1 {
			break
		}
		shown[longest]--
	}
	var out []line
	for i, s := range sections {
		out = append(out, s.header...)
		out = append(out, s.visible(shown[i])...)
	}
	if height > 0 && len(out) > height {
		out = out[:height]
	}
	return out
}

// lineCount returns the number of lines for the given number of rows of each section.
func lineCount(sections []section, shown []int) int {
	total := 0
	for i, s := range sections {
		total += len(s.header) + len(s.visible(shown[i]))
	}
	return total
}

// visible returns n rows and, if there are more, a line that counts the others.
func (s section) visible(n int) []line {
	hidden := len(s.rows) - n
	if hidden <= 1 {
		return s.rows // A line that counts one row would take the place of that row.
	}
	hiddenRows := line{{dim, fmt.Sprintf("… and %d more", hidden)}}
	if s.newest {
		return append([]line{{{dim, fmt.Sprintf("… %d earlier", hidden)}}}, s.rows[hidden:]...)
	}
	return append(slices.Clone(s.rows[:n]), hiddenRows)
}

func nodeTable(nodes []Node, width int) []line {
	var rows [][]span
	for _, n := range nodes {
		rows = append(rows, []span{
			{plain, n.Name}, yesOrNo(n.Ready), yesOrNo(n.Initialised && n.ProviderID != ""),
			orDash(n.ProviderID), orDash(n.Zone), orDash(n.Type), orDash(n.InternalIP),
		})
	}
	return table([]string{"NODE", "READY", "INITIALIZED", "PROVIDER ID", "ZONE", "TYPE", "INTERNAL IP"}, rows, width)
}

func serviceTable(services []Service, width int) []line {
	var rows [][]span
	for _, s := range services {
		row := []span{
			{plain, s.Namespace + "/" + s.Name}, {plain, strings.Join(s.Ports, ",")},
			orDash(""), orDash(strings.Join(s.Addresses, ",")), orDash(""), orDash(""), orDash(""), orDash(s.Answers),
		}
		if lb := s.LoadBalancer; lb != nil {
			row[2] = span{plain, scheme(lb)}
			row[4] = ratio(lb.Listeners, len(s.Ports))
			row[5] = ratio(lb.Members, lb.Nodes)
			row[6] = span{plain, "everyone"}
			if len(lb.SourceRanges) > 0 {
				row[6].text = strings.Join(lb.SourceRanges, ",")
			}
		}
		rows = append(rows, row)
	}
	return table([]string{"SERVICE", "PORTS", "SCHEME", "ADDRESS", "LISTENERS", "MEMBERS", "OPEN TO", "ANSWERS"}, rows,
		width)
}

func scheme(lb *LoadBalancer) string {
	if lb.Internal {
		return "internal"
	}
	return "public"
}

func objects(s State, width int) []line {
	largest := 0
	for _, c := range s.Objects {
		largest = max(largest, c.N)
	}
	var cells []line
	for _, c := range s.Objects {
		cells = append(cells, line{{plain, number(c.N, largest)}, {plain, c.Kind}})
	}
	if len(cells) == 0 {
		return []line{{{dim, "none yet"}}}
	}
	return flow(cells, width)
}

func callsTitle(list []Operation) string {
	reads, mutations := 0, 0
	for _, c := range list {
		if c.Mutating {
			mutations += c.Calls
		} else {
			reads += c.Calls
		}
	}
	return fmt.Sprintf("CLOUD CALLS  %d that read, %d that change", reads, mutations)
}

func calls(list []Operation, width int) []line {
	largest := 0
	for _, c := range list {
		largest = max(largest, c.Calls)
	}
	var cells []line
	for _, c := range list {
		cell := line{{plain, number(c.Calls, largest)}, {plain, c.Name}}
		if c.Failed > 0 {
			cell = append(cell, span{bad, fmt.Sprintf(" (%d failed)", c.Failed)})
		}
		cells = append(cells, cell)
	}
	if len(cells) == 0 {
		return []line{{{dim, "none yet"}}}
	}
	return flow(cells, width)
}

// number formats n, padded to the widest of its column, and a gap.
func number(n, largest int) string {
	return fmt.Sprintf("%*d ", len(strconv.Itoa(largest)), n)
}

func events(list []Event) []line {
	var out []line
	for _, e := range list {
		out = append(out, eventLine(e))
	}
	if len(out) == 0 {
		return []line{{{dim, "none yet"}}}
	}
	return out
}

func eventLine(e Event) line {
	reason := span{plain, e.Reason}
	if e.Warning {
		reason.style = bad
	}
	times := ""
	if e.Times > 1 {
		times = " (" + strconv.Itoa(e.Times) + " times)"
	}
	return line{{dim, e.At.Format(time.TimeOnly)}, {plain, "  " + e.Object + "  "}, reason,
		{plain, "  " + oneLine(e.Message) + times}}
}

// String formats the event in one line.
func (e Event) String() string { return eventLine(e).paint(0, false) }

func yesOrNo(ok bool) span {
	if ok {
		return span{good, "yes"}
	}
	return span{busy, "no"}
}

func ratio(have, want int) span {
	s := span{good, fmt.Sprintf("%d/%d", have, want)}
	if have < want {
		s.style = busy
	}
	return s
}

func orDash(t string) span {
	if t == "" {
		return span{dim, "-"}
	}
	return span{plain, t}
}
