package screen

// Style is the style of a cell.
type Style = style

// The styles of cells.
const (
	Plain = plain
	Good  = good
	Bad   = bad
	Busy  = busy
	Dim   = dim
	Bold  = bold
)

// Cell is the text of one cell of a table, in one style.
type Cell = span

// NewCell returns a cell. The text has to be one line.
func NewCell(s Style, text string) Cell { return span{s, text} }

// Width returns the number of columns that the cell needs.
func (s span) Width() int { return line{s}.width() }

// Table lays rows out in columns, the header first. Columns are shortened until the table is at most width wide, 0
// for unlimited. The result ends with a newline.
func Table(header []string, rows [][]Cell, width int, colour bool) string {
	return paint(table(header, rows, width), Options{Width: width, Colour: colour})
}
