package intent

import (
	"fmt"
	"strings"
)

// Entry is one annotation of a Table: its documentation, and the option that its value sets.
type Entry struct {
	// Key, Type, Default, Example and Doc are the entry of the annotation in the generated reference.
	Key, Type, Default, Example, Doc string
	// Empty decides what an empty value means; the zero value is EmptyIgnored.
	Empty EmptyValue
	// Set parses a value, without the spaces around it, and stores it. Its error says what to write instead. Nil
	// for annotations that the manager writes, or that another reader parses.
	Set func(value string) error
	// Required refuses a Service of a cloud without the setting. Ignoring it would expose what it protects.
	Required bool
}

// EmptyValue is the meaning of an annotation without a value.
type EmptyValue int

// The meanings of an empty value.
const (
	// EmptyIgnored reads an empty value as "not set": templates leave such annotations behind.
	EmptyIgnored EmptyValue = iota
	// EmptyRefused reports an empty value as a problem. Reading it as "not set" would turn a
	// forgotten list of source ranges into an open load balancer.
	EmptyRefused
	// EmptyAllowed passes an empty value to Set.
	EmptyAllowed
)

// Table is a list of annotations, in the order in which problems are reported. The portable annotations are
// one, and every provider has one for its own. A table is built over the options that its entries set, as a
// flag set is built over the variables of its flags.
type Table []Entry

// Keys returns the keys of all entries.
func (t Table) Keys() []string {
	keys := make([]string, len(t))
	for i, e := range t {
		keys[i] = e.Key
	}
	return keys
}

// Annotation documents one annotation.
type Annotation struct {
	Key, Type, Default, Doc, Example string
}

// Documentation returns the reference entries of all annotations.
func (t Table) Documentation() []Annotation {
	docs := make([]Annotation, len(t))
	for i, e := range t {
		docs[i] = Annotation{Key: e.Key, Type: e.Type, Default: e.Default, Doc: e.Doc, Example: e.Example}
	}
	return docs
}

// Read parses the annotations that are set, and adds a problem for each value that cannot be used.
func (t Table) Read(annotations map[string]string, problems *Problems) {
	for _, e := range t {
		value, ok := annotations[e.Key]
		if !ok || e.Set == nil {
			continue
		}
		value = strings.TrimSpace(value)
		switch {
		case value == "" && e.Empty == EmptyIgnored:
		case value == "" && e.Empty == EmptyRefused:
			problems.Addf(e.Key, "", "the value is empty: write for example %s, or remove the annotation", e.Example)
		default:
			err := checkEntries(value)
			if err == nil {
				err = e.Set(value)
			}
			if err != nil {
				problems.Add(e.Key, value, err.Error())
			}
		}
	}
}

// Store returns a Set function that stores the parsed value. An invalid value leaves the option unchanged.
func Store[V any](option *V, parse func(string) (V, error)) func(string) error {
	return func(value string) error {
		parsed, err := parse(value)
		if err == nil {
			*option = parsed
		}
		return err
	}
}

// StorePointer is Store for options in which nil means "not set".
func StorePointer[V any](option **V, parse func(string) (V, error)) func(string) error {
	return func(value string) error {
		parsed, err := parse(value)
		if err == nil {
			*option = &parsed
		}
		return err
	}
}

// Text accepts every value.
func Text(value string) (string, error) { return value, nil }

// OneOf accepts the given words only.
func OneOf[T ~string](words ...T) func(string) (T, error) {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return func(value string) (T, error) {
		for _, w := range words {
			if value == string(w) {
				return w, nil
			}
		}
		return "", fmt.Errorf("write %s", alternatives(texts))
	}
}

// alternatives joins words for a sentence: "a, b or c".
func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
