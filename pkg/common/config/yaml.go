package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DecodeINIOrYAML is Decode for clouds with two forms of files: that of Decode, and YAML. A YAML file has one map
// for each section, and one more level for subsections. The names in it are those of the yaml tags of the struct;
// sections and keys without such a tag exist only in the other form. Case matters in YAML.
func DecodeINIOrYAML(name string, content []byte, target any) *File {
	if IsINI(content) {
		return Decode(name, content, target)
	}
	f := newFile(name)
	d := newDecoder(f, target)
	f.yaml = d.sections
	y := yamlReader{file: f, decoder: d}
	y.read(content)
	d.assign()
	return f
}

// IsINI reports whether a file is in the form of Decode: the first line that is not empty and no comment is the
// header of a section.
func IsINI(content []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(content, []byte("\ufeff"))) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && !bytes.ContainsAny(line[:1], "#;") {
			return line[0] == '['
		}
	}
	return true
}

// yamlReader converts the nodes of a YAML document into statements.
type yamlReader struct {
	file    *File
	decoder *decoder
}

var yamlLine = regexp.MustCompile(`\Ayaml: (?:unmarshal errors:\s+)?line (\d+): `)

func (y yamlReader) read(content []byte) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		p := Problem{File: y.file.Name, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
		if match := yamlLine.FindStringSubmatch(err.Error()); match != nil {
			p.Line, _ = strconv.Atoi(match[1])
			p.Message = strings.TrimPrefix(err.Error(), match[0])
		}
		if strings.Contains(p.Message, "anchor") {
			// The message has the value, which may be a secret.
			p.Message = "a value that starts with * or & must be in quotes"
		}
		y.file.errors = append(y.file.errors, p)
		return
	}
	if len(document.Content) == 0 {
		return
	}
	y.forEach(document.Content[0], "the file", func(key, value *yaml.Node) {
		section, ok := y.findField("section", "", key, y.decoder.sections)
		switch {
		case !ok:
		case hasSubsections(section):
			y.forEach(value, section.yaml, func(sub, keys *yaml.Node) { y.section(section, sub, keys) })
		default:
			y.section(section, &yaml.Node{Line: key.Line}, value)
		}
	})
}

// section reads the keys of a section.
func (y yamlReader) section(section field, sub, keys *yaml.Node) {
	st := statement{line: sub.Line, section: section.ident, sub: sub.Value, header: true}
	y.decoder.check(st)
	path := section.yaml
	if sub.Value != "" {
		path += "." + sub.Value
	}
	y.forEach(keys, path, func(key, value *yaml.Node) {
		field, ok := y.findField("key", path, key, sectionKeys(section))
		if !ok {
			return
		}
		for _, text := range y.values(path+"."+key.Value, field, value) {
			y.decoder.check(statement{line: key.Line, section: section.ident, sub: sub.Value, key: field.name,
				value: quote(text)})
		}
	})
}

// forEach calls visit for each entry of a map. A node without a value is an empty map.
func (y yamlReader) forEach(node *yaml.Node, path string, visit func(key, value *yaml.Node)) {
	node = resolveAlias(node)
	switch {
	case node.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			visit(node.Content[i], resolveAlias(node.Content[i+1]))
		}
	case node.Tag != "!!null":
		y.errorf(node, "%s must be a map with a line \"key: value\" for each setting", path)
	}
}

// findField returns the field of a key, and warns if there is none.
func (y yamlReader) findField(what, path string, key *yaml.Node, all []field) (field, bool) {
	var spellings []string
	for _, f := range all {
		if f.yaml == key.Value && f.yaml != "" {
			return f, true
		}
		spellings = append(spellings, f.yaml)
	}
	suggestion := suggestNearest(key.Value, spellings)
	if f, ok := findField(all, key.Value); ok && f.yaml != "" {
		suggestion = fmt.Sprintf("; in YAML it is written %s", f.yaml)
	}
	if path != "" {
		path = " in " + path
	}
	y.file.warn(key.Line, "unknown %s %s%s%s", what, key.Value, path, suggestion)
	return field{}, false
}

// values returns the values of a key: one, several for a repeated key, or none.
func (y yamlReader) values(path string, key field, value *yaml.Node) []string {
	switch {
	case value.Tag == "!!null":
		return nil
	case value.Kind == yaml.ScalarNode:
		return []string{value.Value}
	case value.Kind == yaml.MappingNode:
		var content map[string]any
		if err := value.Decode(&content); err != nil || key.typ.Kind() != reflect.String {
			y.errorf(value, "%s must not be a map", path)
			return nil
		}
		text, err := json.Marshal(content)
		if err != nil {
			y.errorf(value, "%s must not be a map with such values: %v", path, err)
			return nil
		}
		return []string{string(text)}
	case key.typ.Kind() != reflect.Slice:
		y.errorf(value, "%s must be one value, not a list", path)
		return nil
	}
	var texts []string
	for _, item := range value.Content {
		if item = resolveAlias(item); item.Kind != yaml.ScalarNode {
			y.errorf(item, "%s must be a list of texts", path)
			return nil
		}
		texts = append(texts, item.Value)
	}
	if !isRepeatable(key) {
		return []string{strings.Join(texts, ",")}
	}
	return texts
}

func (y yamlReader) errorf(node *yaml.Node, format string, args ...any) {
	p := Problem{File: y.file.Name, Line: node.Line, Message: fmt.Sprintf(format, args...)}
	y.file.errors = append(y.file.errors, p)
}

func resolveAlias(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// MarshalYAML returns a configuration in the form of a YAML file, with its secrets. Empty values are omitted.
func MarshalYAML(cfg any) ([]byte, error) {
	v := reflect.Indirect(reflect.ValueOf(cfg))
	document := &yaml.Node{Kind: yaml.MappingNode}
	for _, section := range structFields(v.Type()) {
		value := v.FieldByIndex(section.index)
		if section.yaml == "" || value.IsZero() {
			continue
		}
		if !hasSubsections(section) {
			appendEntry(document, section.yaml, yamlSection(value))
			continue
		}
		subsections := &yaml.Node{Kind: yaml.MappingNode}
		for _, sub := range sortedKeys(value) {
			appendEntry(subsections, sub.String(), yamlSection(value.MapIndex(sub)))
		}
		appendEntry(document, section.yaml, subsections)
	}
	return yaml.Marshal(document)
}

// yamlSection returns the keys of a section that have a value.
func yamlSection(section reflect.Value) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	section = reflect.Indirect(section)
	for _, key := range structFields(section.Type()) {
		value := section.FieldByIndex(key.index)
		if key.yaml == "" || value.IsZero() {
			continue
		}
		var leaf yaml.Node
		plain := value.Interface()
		if value.Kind() == reflect.String {
			plain = value.String() // also of a Secret
		}
		if err := leaf.Encode(plain); err == nil {
			appendEntry(node, key.yaml, &leaf)
		}
	}
	return node
}

// appendEntry appends an entry to a map.
func appendEntry(node *yaml.Node, key string, value *yaml.Node) {
	var name yaml.Node
	name.SetString(key)
	node.Content = append(node.Content, &name, value)
}
