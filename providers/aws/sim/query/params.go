package query

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxMember bounds the number of one list member: AWS rejects such requests too, and a request must not make
// the decoder loop or allocate without limit.
const maxMember = 10_000

// Params are the parameters of a request by their dotted names.
type Params struct {
	values url.Values
	// prefixes are all names before a dot of any parameter.
	prefixes map[string]bool
}

// NewParams returns the parameters of a form.
func NewParams(values url.Values) Params {
	p := Params{values: values, prefixes: map[string]bool{}}
	for name := range values {
		for i := range len(name) {
			if name[i] == '.' {
				p.prefixes[name[:i]] = true
			}
		}
	}
	return p
}

// Present reports whether anything was sent under a name.
func (p Params) Present(name string) bool {
	_, ok := p.values[name]
	return ok || p.prefixes[name]
}

// Text returns the value of a scalar parameter: the last one if there are several.
func (p Params) Text(name string) (string, bool) {
	texts, ok := p.values[name]
	if !ok {
		return "", false
	}
	return texts[len(texts)-1], true
}

// Numbers returns the member numbers of a list, ascending, and the name before them: Name, or Name.member.
func (p Params) Numbers(list string) (base string, numbers []int) {
	base = list
	if p.prefixes[list+".member"] {
		base = list + ".member"
	}
	for name := range p.values {
		rest, ok := strings.CutPrefix(name, base+".")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(digits)
		if err == nil && n > 0 && n <= maxMember && strconv.Itoa(n) == digits {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return base, slices.Compact(numbers)
}
