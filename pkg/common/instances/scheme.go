package instances

import (
	"fmt"
	"regexp"
	"strings"
)

// Form is one way in which a provider ID is, or once was, written.
type Form struct {
	// Name says which form it is: "current", "without region", "bare".
	Name string
	// Template is the form with its fields in braces: "aws:///{zone}/{id}". A field takes one or
	// more characters other than a slash; "{zone?}" may be empty. Every form has the field id,
	// and each field stands once.
	Template string
}

// Fields are the named parts of a provider ID.
type Fields map[string]string

// Table is a cloud's provider IDs, the whole history of them. What stands in spec.providerID can
// never be changed, so a form that was ever written stays in the table for good.
type Table struct {
	// Scheme is what stands before "://", which is the provider's name.
	Scheme string
	// Forms are tried in order; the first is the one that Format writes.
	Forms []Form
	// Valid are checks on single fields; a field that fails makes the ID malformed.
	Valid map[string]func(string) bool
	// Foreign, where set, says why an ID of our scheme is nevertheless not ours (another region's
	// manager looks after it); "" means that it is ours.
	Foreign func(Fields) (reason string)
}

// TableScheme is a Scheme built from a Table. It is immutable.
type TableScheme struct {
	table Table
	forms []compiledForm
}

type compiledForm struct {
	Form
	pattern *regexp.Regexp
	fields  []string
}

var (
	_ Scheme = (*TableScheme)(nil)

	fieldInTemplate = regexp.MustCompile(`\{([a-z]+)(\?)?\}`)
)

// NewScheme compiles the table. Its errors are programmers' errors: no scheme, no form, a form
// without an id or with a field twice, or one that carries another scheme.
func NewScheme(t Table) (*TableScheme, error) {
	if t.Scheme == "" || len(t.Forms) == 0 {
		return nil, fmt.Errorf("provider ID table %q needs a scheme and at least one form", t.Scheme)
	}
	s := &TableScheme{table: t}
	for _, form := range t.Forms {
		c, err := compile(t.Scheme, form)
		if err != nil {
			return nil, fmt.Errorf("provider ID table %q, form %q: %w", t.Scheme, form.Name, err)
		}
		s.forms = append(s.forms, c)
	}
	if !strings.HasPrefix(t.Forms[0].Template, t.Scheme+"://") {
		return nil, fmt.Errorf("provider ID table %q: the first form %q is the one written and must carry the scheme", t.Scheme, t.Forms[0].Template)
	}
	return s, nil
}

// MustScheme is NewScheme for tables that are written in code.
func MustScheme(t Table) *TableScheme {
	s, err := NewScheme(t)
	if err != nil {
		panic(err)
	}
	return s
}

func compile(scheme string, form Form) (compiledForm, error) {
	c := compiledForm{Form: form}
	if have, _, ok := strings.Cut(form.Template, "://"); ok && have != scheme {
		return c, fmt.Errorf("template %q carries another scheme", form.Template)
	}
	var pattern strings.Builder
	seen := map[string]bool{}
	rest := 0
	for _, m := range fieldInTemplate.FindAllStringSubmatchIndex(form.Template, -1) {
		name := form.Template[m[2]:m[3]]
		if seen[name] {
			return c, fmt.Errorf("field %q stands twice in template %q", name, form.Template)
		}
		seen[name] = true
		c.fields = append(c.fields, name)
		pattern.WriteString(regexp.QuoteMeta(form.Template[rest:m[0]]))
		if m[4] >= 0 {
			pattern.WriteString(`([^/]*)`)
		} else {
			pattern.WriteString(`([^/]+)`)
		}
		rest = m[1]
	}
	if !seen["id"] {
		return c, fmt.Errorf("template %q has no field {id}", form.Template)
	}
	pattern.WriteString(regexp.QuoteMeta(form.Template[rest:]))
	var err error
	c.pattern, err = regexp.Compile(`\A` + pattern.String() + `\z`)
	return c, err
}

// Parse implements Scheme. The scheme is looked at before anything else: an ID of another cloud
// is foreign however much its end looks like one of ours.
func (s *TableScheme) Parse(providerID string) (string, error) {
	fields, _, err := s.ParseFields(providerID)
	return fields["id"], err
}

// ParseFields returns all fields of a provider ID and the name of the form that it has. Errors
// are those of Parse.
func (s *TableScheme) ParseFields(providerID string) (Fields, string, error) {
	if scheme, _, ok := strings.Cut(providerID, "://"); ok && scheme != s.table.Scheme {
		return nil, "", &ForeignIDError{ProviderID: providerID, Scheme: s.table.Scheme}
	}
	for _, form := range s.forms {
		fields := s.match(form, providerID)
		if fields == nil {
			continue
		}
		if s.table.Foreign != nil {
			if reason := s.table.Foreign(fields); reason != "" {
				return nil, "", &ForeignIDError{ProviderID: providerID, Scheme: s.table.Scheme, Reason: reason}
			}
		}
		return fields, form.Name, nil
	}
	malformed := &MalformedIDError{ProviderID: providerID, Scheme: s.table.Scheme}
	for _, form := range s.forms {
		malformed.Forms = append(malformed.Forms, form.Template)
	}
	return nil, "", malformed
}

func (s *TableScheme) match(form compiledForm, providerID string) Fields {
	groups := form.pattern.FindStringSubmatch(providerID)
	if groups == nil {
		return nil
	}
	fields := make(Fields, len(form.fields))
	for i, name := range form.fields {
		value := groups[i+1]
		if valid := s.table.Valid[name]; valid != nil && value != "" && !valid(value) {
			return nil
		}
		fields[name] = value
	}
	return fields
}

// Format writes the provider ID in the first form of the table. It is an error if the result
// would not parse back into the same fields.
func (s *TableScheme) Format(fields Fields) (string, error) {
	return s.FormatAs(s.forms[0].Name, fields)
}

// FormatAs writes the provider ID in the form of that name, for clouds whose configuration
// chooses one.
func (s *TableScheme) FormatAs(name string, fields Fields) (string, error) {
	for _, form := range s.forms {
		if form.Name != name {
			continue
		}
		id := fieldInTemplate.ReplaceAllStringFunc(form.Template, func(field string) string {
			return fields[strings.Trim(field, "{?}")]
		})
		back := s.match(form, id)
		for _, field := range form.fields {
			if back == nil || back[field] != fields[field] {
				return "", fmt.Errorf("fields %v make no provider ID of the form %s", map[string]string(fields), form.Template)
			}
		}
		return id, nil
	}
	return "", fmt.Errorf("provider ID table %q has no form %q", s.table.Scheme, name)
}
