// Command chart generates files from the values of the chart: the schema, the list of keys that the templates check,
// and the README. Usage: go run . CHART-FOLDER
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// Value is one key of values.yaml. The comment above it, after "# -- ", is its description, and a line "# @schema {…}"
// adds keywords to its schema.
type Value struct {
	Path        string
	Description string
	Default     *yaml.Node
	Keywords    map[string]any
	// Children are the known keys below it. A map without any is free-form.
	Children []Value
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: chart CHART-FOLDER")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func generate(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		return err
	}
	values, err := Read(text)
	if err != nil {
		return err
	}
	schema, err := Schema(values)
	if err != nil {
		return err
	}
	header, err := os.ReadFile(filepath.Join(folder, "README.md.head"))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "values.schema.json"), schema, 0o644),
		os.WriteFile(filepath.Join(folder, "files", "keys.txt"), []byte(strings.Join(Keys(values), "\n")+"\n"), 0o644),
		os.WriteFile(filepath.Join(folder, "README.md"), append(header, Table(values)...), 0o644),
	)
}

// Read returns the values of a values.yaml. Its error lists all values without a description.
func Read(text []byte) ([]Value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	return children("", document.Content[0])
}

func children(path string, node *yaml.Node) (values []Value, err error) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		v := Value{Path: strings.TrimPrefix(path+"."+key.Value, "."), Default: value}
		problem := v.readComment(key.HeadComment)
		// A described map is a value of its own, such as a probe; others group values.
		if value.Kind == yaml.MappingNode && v.Description == "" {
			var childErr error
			v.Children, childErr = children(v.Path, value)
			problem = errors.Join(problem, childErr)
		} else if v.Description == "" {
			problem = errors.Join(problem, fmt.Errorf(`%s has no description: write a line "# -- …" above it`, v.Path))
		}
		if value.Kind == yaml.SequenceNode && v.Keywords["items"] == nil {
			problem = errors.Join(problem, fmt.Errorf(`%s has no items: write a line "# @schema {"items": …}" above it`, v.Path))
		}
		err = errors.Join(err, problem)
		values = append(values, v)
	}
	return values, err
}

func (v *Value) readComment(comment string) error {
	var words []string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if keywords, ok := strings.CutPrefix(line, "@schema "); ok {
			if err := json.Unmarshal([]byte(keywords), &v.Keywords); err != nil {
				return fmt.Errorf("%s: @schema: %w", v.Path, err)
			}
			continue
		}
		words = append(words, strings.TrimPrefix(line, "-- "))
	}
	v.Description = strings.Join(words, " ")
	return nil
}

// Keys returns the paths of all values, groups included. A group ends with a dot: keys below it must be known.
func Keys(values []Value) (keys []string) {
	for _, v := range values {
		if len(v.Children) > 0 {
			keys = append(keys, v.Path+".")
			keys = append(keys, Keys(v.Children)...)
		} else {
			keys = append(keys, v.Path)
		}
	}
	return keys
}

// Schema returns the JSON schema of the values. Unknown keys are left to the templates, which name the nearest key.
func Schema(values []Value) ([]byte, error) {
	schema := map[string]any{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
		"properties": properties(values)}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(schema)
	return out.Bytes(), err
}

func properties(values []Value) map[string]any {
	all := map[string]any{}
	for _, v := range values {
		property := map[string]any{"type": schemaType(v.Default)}
		if v.Description != "" {
			property["description"] = v.Description
		}
		if len(v.Children) > 0 {
			property["properties"] = properties(v.Children)
		}
		for keyword, value := range v.Keywords {
			property[keyword] = value
		}
		all[v.Path[strings.LastIndex(v.Path, ".")+1:]] = property
	}
	return all
}

// schemaType returns the type of a value in a JSON schema.
func schemaType(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "object"
	case node.Kind == yaml.SequenceNode:
		return "array"
	case node.Tag == "!!int":
		return "integer"
	case node.Tag == "!!bool":
		return "boolean"
	default:
		return "string"
	}
}

// Table returns the values as a Markdown table.
func Table(values []Value) []byte {
	var out bytes.Buffer
	out.WriteString("| value | default | description |\n|---|---|---|\n")
	writeRows(&out, values)
	return out.Bytes()
}

func writeRows(out *bytes.Buffer, values []Value) {
	for _, v := range values {
		if len(v.Children) > 0 {
			writeRows(out, v.Children)
			continue
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", v.Path, defaultOf(v.Default), strings.ReplaceAll(v.Description, "|", "\\|"))
	}
}

// defaultOf returns a default in one cell; it refers to values.yaml for a long one.
func defaultOf(node *yaml.Node) string {
	var value any
	if err := node.Decode(&value); err != nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil || len(text) > 60 {
		return "see `values.yaml`"
	}
	return "`" + string(text) + "`"
}
