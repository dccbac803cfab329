package screen

import (
	"strings"
	"unicode/utf8"
)

// style is the style of a piece of text.
type style int

const (
	plain style = iota
	good
	bad
	busy
	dim
	bold
)

// code returns the parameter of the terminal's escape sequence for a style.
func (s style) code() string {
	return [...]string{plain: "", good: "32", bad: "31", busy: "33", dim: "2", bold: "1"}[s]
}

// span is text in one style.
type span struct {
	style style
	text  string
}

// line is one line of the screen.
type line []span

func text(t string) line { return line{{plain, t}} }

// paint writes the line in at most width columns, 0 for unlimited, with or without colours.
func (l line) paint(width int, colour bool) string {
	var b strings.Builder
	available := width
	for _, s := range l {
		t := s.text
		if width > 0 {
			t = clip(t, available)
			available -= utf8.RuneCountInString(t)
		}
		if t == "" {
			continue
		}
		if code := s.style.code(); colour && code != "" {
			t = "\x1b[" + code + "m" + t + "\x1b[0m"
		}
		b.WriteString(t)
	}
	if colour {
		return b.String()
	}
	return strings.TrimRight(b.String(), " ")
}

// clip shortens text to at most width columns; an ellipsis replaces the end.
func clip(t string, width int) string {
	if utf8.RuneCountInString(t) <= width {
		return t
	}
	if width <= 0 {
		return ""
	}
	runes := []rune(t)
	return string(runes[:width-1]) + "…"
}

// oneLine removes line breaks from a message.
func oneLine(t string) string { return strings.Join(strings.Fields(t), " ") }

// gap is the space between two columns.
const gap = 2

// table lays rows out in columns, the header first. If it is wider than width, 0 for unlimited, the widest
// columns are shortened.
func table(header []string, rows [][]span, width int) []line {
	widths := make([]int, len(header))
	for i, h := range header {
		widths[i] = utf8.RuneCountInString(h)
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.text))
		}
	}
	shrink(widths, width)
	titles := make([]span, len(header))
	for i, h := range header {
		titles[i] = span{dim, h}
	}
	out := []line{align(titles, widths)}
	for _, row := range rows {
		out = append(out, align(row, widths))
	}
	return out
}

// narrow is the width below which no column is shortened.
const narrow = 6

func shrink(widths []int, width int) {
	if width <= 0 {
		return
	}
	for {
		total, widest := gap*(len(widths)-1), 0
		for i, w := range widths {
			total += w
			if w > widths[widest] {
				widest = i
			}
		}
		if total <= width || widths[widest] <= narrow {
			return
		}
		widths[widest] -= min(total-width, max(1, widths[widest]/4))
	}
}

func align(cells []span, widths []int) line {
	var out line
	for i, cell := range cells {
		t := clip(cell.text, widths[i])
		pad := widths[i] - utf8.RuneCountInString(t)
		if i < len(cells)-1 {
			pad += gap
		}
		out = append(out, span{cell.style, t}, span{plain, strings.Repeat(" ", pad)})
	}
	return out
}

// flow lays cells out side by side in equal columns, filled from the top down, as ls does.
func flow(cells []line, width int) []line {
	widest := 0
	for _, c := range cells {
		widest = max(widest, c.width())
	}
	columns := 1
	if width <= 0 {
		width = defaultWidth
	}
	if widest > 0 {
		columns = max(1, (width+flowGap)/(widest+flowGap))
	}
	height := (len(cells) + columns - 1) / columns
	out := make([]line, height)
	for i, c := range cells {
		row := i % height
		if i >= height {
			pad := (i/height)*(widest+flowGap) - out[row].width()
			out[row] = append(out[row], span{plain, strings.Repeat(" ", pad)})
		}
		out[row] = append(out[row], c...)
	}
	return out
}

const (
	flowGap = 4
	// defaultWidth is used if the width of the output is unknown.
	defaultWidth = 120
)

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += utf8.RuneCountInString(s.text)
	}
	return n
}
