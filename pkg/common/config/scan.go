package config

import (
	"bytes"
	"strings"

	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"
)

// A statement is one section header or one key of the file, which may continue over several lines.
type statement struct {
	line   int
	header bool
	// section as written, in headers and keys alike; sub is the subsection, "" for none.
	section, sub string
	// key as written; blank is set if it has no "= value".
	key   string
	blank bool
	// value as written, quotes included, without a comment.
	value string
	// truncated is set if a comment starts in the middle of a word of the value, as in "pass#word".
	truncated bool
}

// scan splits a file into statements. gcfg's own reader stops at the first malformed statement and keeps no
// positions; this one continues after the line, so that it reports all problems at once. The tokens are
// gcfg's, so the grammar is the same by construction.
func scan(file string, content []byte) ([]statement, Problems) {
	var (
		statements []statement
		problems   Problems
		section    statement
		unread     = bytes.TrimPrefix(content, []byte("\ufeff"))
		line       = 1
		inSection  bool
	)
	for len(unread) > 0 {
		st, size, message := scanStatement(unread)
		st.line = line + leadingLines(unread[:size])
		switch {
		case message != "":
			problems = append(problems, Problem{File: file, Line: st.line, Message: message})
			// The keys under a broken header would end up in the section before it.
			inSection = inSection && !st.header
		case st.header:
			section, inSection = st, true
			statements = append(statements, st)
		case st.key != "" && inSection:
			st.section, st.sub = section.section, section.sub
			statements = append(statements, st)
		case st.key != "" && section.section == "" && len(problems) == 0:
			problems = append(problems, Problem{File: file, Line: st.line,
				Message: "key " + st.key + " stands before any [Section] header"})
		}
		line += bytes.Count(unread[:size], []byte("\n"))
		unread = unread[size:]
	}
	return statements, problems
}

// leadingLines counts the line ends at the start of a chunk.
func leadingLines(chunk []byte) int {
	trimmed := bytes.TrimLeft(chunk, " \t\r\n")
	return bytes.Count(chunk[:len(chunk)-len(trimmed)], []byte("\n"))
}

// scanStatement reads the statement at the start of src and returns its length in bytes, including its line end. A
// message means that it is malformed and ends with its line.
func scanStatement(src []byte) (st statement, size int, message string) {
	p := newTokens(src)
	tok, lit := p.next()
	switch tok {
	case token.EOL, token.EOF:
		return st, p.end(), p.message()
	case token.LBRACK:
		st.header = true
		message = p.readHeader(&st)
	case token.IDENT:
		st.key = lit
		message = p.readValue(&st)
	default:
		message = "expected a [Section] header or key = value"
	}
	if m := p.message(); m != "" {
		message = m
	}
	if message != "" {
		return st, lineEnd(src), message
	}
	return st, p.end(), ""
}

// lineEnd returns the size of the first line, its line end included.
func lineEnd(src []byte) int {
	if i := bytes.IndexByte(src, '\n'); i >= 0 {
		return i + 1
	}
	return len(src)
}

// tokens are gcfg's tokens of one statement.
type tokens struct {
	src     []byte
	file    *token.File
	scanner scanner.Scanner
	errors  []string
	pos     token.Pos
	tok     token.Token
}

func newTokens(src []byte) *tokens {
	p := &tokens{src: src}
	fileSet := token.NewFileSet()
	p.file = fileSet.AddFile("", fileSet.Base(), len(src))
	p.scanner.Init(p.file, src, func(_ token.Position, m string) { p.errors = append(p.errors, m) }, 0)
	return p
}

func (p *tokens) next() (token.Token, string) {
	var lit string
	p.pos, p.tok, lit = p.scanner.Scan()
	return p.tok, lit
}

// end returns the offset after the last token, which is a line end or the end of the file.
func (p *tokens) end() int {
	offset := p.file.Offset(p.pos)
	if p.tok == token.EOL {
		return offset + 1
	}
	return len(p.src)
}

// message translates the scanner's first error into an instruction.
func (p *tokens) message() string {
	if len(p.errors) == 0 {
		return ""
	}
	switch m := p.errors[0]; {
	case strings.HasPrefix(m, "string not terminated"):
		return `a double quote (") is not closed on this line`
	case strings.HasPrefix(m, "unquoted '\\'"):
		return `a backslash must stand inside double quotes and be doubled: "a\\b"`
	case strings.HasPrefix(m, "unknown escape"):
		return `inside double quotes a backslash must be doubled (\\); only \", \n and \t are special`
	case strings.HasSuffix(m, "'_'"):
		return "a key is made of letters, digits and hyphens: write - instead of _"
	case strings.HasPrefix(m, "illegal character NUL"), strings.HasPrefix(m, "illegal UTF-8"):
		return "this is not UTF-8 text"
	case strings.HasPrefix(m, "illegal character"):
		_, char, _ := strings.Cut(strings.TrimPrefix(m, "illegal character "), " ")
		return "unexpected " + char + ": expected a [Section] header or key = value"
	default:
		return m
	}
}

func (p *tokens) readHeader(st *statement) string {
	const form = `a section header must look like [Name] or [Name "subsection"]`
	tok, lit := p.next()
	if tok != token.IDENT {
		return form
	}
	st.section = lit
	if tok, lit = p.next(); tok == token.STRING {
		st.sub = unquote(lit)
		if st.sub == "" {
			return "the subsection's name is empty"
		}
		tok, _ = p.next()
	}
	if tok != token.RBRACK {
		return form
	}
	if tok, _ = p.next(); tok != token.EOL && tok != token.EOF {
		return "nothing but a comment may follow the section header on its line"
	}
	return ""
}

func (p *tokens) readValue(st *statement) string {
	tok, _ := p.next()
	if tok == token.EOL || tok == token.EOF {
		st.blank = true
		return ""
	}
	if tok != token.ASSIGN {
		return "expected key = value; a key is made of letters, digits and hyphens"
	}
	_, value := p.next()
	end := p.file.Offset(p.pos) + len(value)
	st.value = value
	st.truncated = value != "" && end < len(p.src) && (p.src[end] == '#' || p.src[end] == ';')
	if tok, _ = p.next(); tok != token.EOL && tok != token.EOF {
		return "nothing but a comment may follow the value on its line"
	}
	return ""
}

// unquote resolves the quotes and escapes of a value or subsection, which the scanner has validated. A backslash
// at the end of a line continues it.
func unquote(literal string) string {
	var b strings.Builder
	escaped := false
	for _, r := range literal {
		switch {
		case escaped:
			escaped = false
			if r == '\n' {
				continue
			}
			switch r {
			case 'n':
				r = '\n'
			case 't':
				r = '\t'
			}
			b.WriteRune(r)
		case r == '\\':
			escaped = true
		case r != '"':
			b.WriteRune(r)
		}
	}
	return b.String()
}
