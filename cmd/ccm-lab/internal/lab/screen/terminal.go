package screen

import (
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/component-base/term"
)

// Terminal draws frames in place, on the terminal's alternate screen, so that the previous content reappears
// afterwards.
type Terminal struct {
	w    io.Writer
	last string
}

// Size returns the width and the height of a terminal; ok is false for anything else.
func Size(w io.Writer) (width, height int, ok bool) {
	width, height, err := term.TerminalSize(w)
	return width, height, err == nil && width > 0 && height > 0
}

// Colours reports whether to use colours on w: only on a terminal, and not if NO_COLOR (no-color.org) is set
// or the terminal is dumb.
func Colours(w io.Writer) bool {
	_, _, ok := Size(w)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// OpenTerminal switches to the alternate screen. The caller must close it.
func OpenTerminal(w io.Writer) *Terminal {
	fmt.Fprint(w, "\x1b[?1049h\x1b[?25l\x1b[2J")
	return &Terminal{w: w}
}

// Draw shows a frame. It sends nothing if the frame has not changed.
func (t *Terminal) Draw(frame string) {
	if frame == t.last {
		return
	}
	t.last = frame
	// Each line clears its old content, and the end clears everything below: no flicker.
	text := strings.ReplaceAll(strings.TrimSuffix(frame, "\n"), "\n", "\x1b[K\r\n")
	fmt.Fprint(t.w, "\x1b[H"+text+"\x1b[K\x1b[J")
}

// Close switches back.
func (t *Terminal) Close() { fmt.Fprint(t.w, "\x1b[?25h\x1b[?1049l") }
