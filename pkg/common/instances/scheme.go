package instances

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/utils/lru"
)

// Form is a current or former format of provider IDs.
type Form struct {
	// Name identifies the form: "current", "without region", "bare".
	Name string
	// Template is the form with its fields in braces: "aws:///{zone}/{id}". A field spans everything between
	// two slashes, one or more characters; "{zone?}" may be empty. Every form has the field id, and each
	// field occurs once.
	Template string
}

// Fields are the named parts of a provider ID.
type Fields map[string]string

// Table lists all current and former forms of a cloud's provider IDs. The value of spec.providerID can
// never change, so a form that was ever written stays in the table forever.
type Table struct {
	// Scheme is the part before "://", which is the provider's name.
	Scheme string
	// Forms are tried in order. Format writes the first.
	Forms []Form
	// Valid validates single fields; an invalid field makes the ID malformed.
	Valid map[string]func(string) bool
	// Foreign, if set, returns the reason why an ID of our scheme is foreign, such as another region; ""
	// means that it is ours.
	Foreign func(Fields) (reason string)
}

// TableScheme is a Scheme built from a Table.
type TableScheme struct {
	table Table
	forms []compiledForm
	// parsed holds a parsedID by provider ID. Every sync of a Service parses the provider IDs of all
	// nodes, which is most of its CPU time in a cluster of thousands.
	parsed *lru.Cache
}

// parsedIDs is the size of TableScheme.parsed: more than the 5,000 nodes that Kubernetes supports.
const parsedIDs = 8192

// compiledForm is a form, split at its slashes.
type compiledForm struct {
	Form
	segments []segment
}

// segment is the part between two slashes: a field or a text.
type segment struct {
	field    string
	optional bool
	text     string
}

var (
	_ Scheme = (*TableScheme)(nil)

	fieldInTemplate = regexp.MustCompile(`\A\{([a-z]+)(\?)?\}\z`)
)

// NewScheme compiles the table. It returns an error for a table without scheme or form, and for a form
// without an id, with a duplicate field, or with another scheme.
func NewScheme(t Table) (*TableScheme, error) {
	if t.Scheme == "" || len(t.Forms) == 0 {
		return nil, fmt.Errorf("provider ID table %q needs a scheme and at least one form", t.Scheme)
	}
	s := &TableScheme{table: t, parsed: lru.New(parsedIDs)}
	for _, form := range t.Forms {
		c, err := compile(t.Scheme, form)
		if err != nil {
			return nil, fmt.Errorf("provider ID table %q, form %q: %w", t.Scheme, form.Name, err)
		}
		s.forms = append(s.forms, c)
	}
	if !strings.HasPrefix(t.Forms[0].Template, t.Scheme+"://") {
		return nil, fmt.Errorf("provider ID table %q: the first form %q is the one written and must have the "+
			"scheme", t.Scheme, t.Forms[0].Template)
	}
	return s, nil
}

// MustScheme is NewScheme for constant tables. It panics on errors.
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
		return c, fmt.Errorf("template %q has another scheme", form.Template)
	}
	seen := map[string]bool{}
	for text := range strings.SplitSeq(form.Template, "/") {
		next := segment{text: text}
		if m := fieldInTemplate.FindStringSubmatch(text); m != nil {
			next = segment{field: m[1], optional: m[2] != ""}
		} else if strings.ContainsAny(text, "{}") {
			return c, fmt.Errorf("%q in template %q is neither a field nor text: slashes must enclose a "+
				"field", text, form.Template)
		}
		if next.field != "" && seen[next.field] {
			return c, fmt.Errorf("field %q occurs twice in template %q", next.field, form.Template)
		}
		seen[next.field] = true
		c.segments = append(c.segments, next)
	}
	if !seen["id"] {
		return c, fmt.Errorf("template %q has no field {id}", form.Template)
	}
	return c, nil
}

// Parse implements Scheme. It checks the scheme first: an ID of another cloud is foreign even if the rest
// matches one of our forms.
func (s *TableScheme) Parse(providerID string) (string, error) {
	fields, _, err := s.ParseFields(providerID)
	return fields["id"], err
}

// ParseFields returns all fields of a provider ID, which callers do not write, and the name of its form. Its errors
// are those of Parse.
func (s *TableScheme) ParseFields(providerID string) (Fields, string, error) {
	if scheme, _, ok := strings.Cut(providerID, "://"); ok && scheme != s.table.Scheme {
		return nil, "", &ForeignIDError{ProviderID: providerID, Scheme: s.table.Scheme}
	}
	fields, form := s.matchAny(providerID)
	if fields == nil {
		malformed := &MalformedIDError{ProviderID: providerID, Scheme: s.table.Scheme}
		for _, form := range s.forms {
			malformed.Forms = append(malformed.Forms, form.Template)
		}
		return nil, "", malformed
	}
	// What is foreign may change: a region that is not configured is read from the cloud.
	if s.table.Foreign != nil {
		if reason := s.table.Foreign(fields); reason != "" {
			return nil, "", &ForeignIDError{ProviderID: providerID, Scheme: s.table.Scheme, Reason: reason}
		}
	}
	return fields, form, nil
}

// parsedID is a provider ID of one of our forms.
type parsedID struct {
	fields Fields
	form   string
}

// matchAny returns the fields of an ID of any of our forms and the name of the form, or nil.
func (s *TableScheme) matchAny(providerID string) (Fields, string) {
	if cached, ok := s.parsed.Get(providerID); ok {
		parsed, _ := cached.(parsedID)
		return parsed.fields, parsed.form
	}
	for _, form := range s.forms {
		if fields := s.match(form, providerID); fields != nil {
			s.parsed.Add(providerID, parsedID{fields, form.Name})
			return fields, form.Name
		}
	}
	return nil, ""
}

// match returns the fields of an ID of that form, or nil for an ID of another form. It only
// compares strings.
func (s *TableScheme) match(form compiledForm, providerID string) Fields {
	if strings.Count(providerID, "/") != len(form.segments)-1 {
		return nil
	}
	fields := make(Fields, len(form.segments))
	remainder := providerID
	for _, want := range form.segments {
		var have string
		have, remainder, _ = strings.Cut(remainder, "/")
		if want.field == "" {
			if have != want.text {
				return nil
			}
			continue
		}
		valid := s.table.Valid[want.field]
		if have == "" && !want.optional || have != "" && valid != nil && !valid(have) {
			return nil
		}
		fields[want.field] = have
	}
	return fields
}

// Format writes the provider ID in the first form of the table. It returns an error if the result would
// not parse into the same fields.
func (s *TableScheme) Format(fields Fields) (string, error) {
	return s.FormatAs(s.forms[0].Name, fields)
}

// FormatAs writes the provider ID in the form of that name, for clouds where the configuration selects the
// form.
func (s *TableScheme) FormatAs(name string, fields Fields) (string, error) {
	for _, form := range s.forms {
		if form.Name != name {
			continue
		}
		id := form.format(fields)
		parsed := s.match(form, id)
		for _, part := range form.segments {
			if parsed == nil || parsed[part.field] != fields[part.field] {
				return "", fmt.Errorf("fields %v make no provider ID of the form %s", map[string]string(fields), form.Template)
			}
		}
		return id, nil
	}
	return "", fmt.Errorf("provider ID table %q has no form %q", s.table.Scheme, name)
}

// format fills the template; missing fields are empty.
func (f compiledForm) format(fields Fields) string {
	parts := make([]string, len(f.segments))
	for i, part := range f.segments {
		parts[i] = part.text + fields[part.field]
	}
	return strings.Join(parts, "/")
}
