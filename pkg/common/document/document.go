// Package document changes JSON documents of which a program knows only some fields, for clouds whose API replaces
// whole objects: what the program does not know stays, at every depth.
package document

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Merge returns a document with the changes from before to after, which have only the fields of it that the program
// knows. Identity are the names of the fields by which an item of a list is recognized after other fields of it have
// changed; it counts at its place only.
func Merge(document, before, after []byte, identity ...string) ([]byte, error) {
	var trees [3]any
	for i, text := range [][]byte{document, before, after} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber() // Large integers stay as they are.
		if err := d.Decode(&trees[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(merger(identity).merge(trees[0], trees[1], trees[2]))
}

// merger has the names of the fields that identify an item of a list.
type merger []string

func (m merger) merge(document, before, after any) any {
	if reflect.DeepEqual(before, after) {
		return document
	}
	switch after := after.(type) {
	case map[string]any:
		document, isMap := document.(map[string]any)
		before, wasMap := before.(map[string]any)
		if isMap && wasMap {
			return m.mergeFields(document, before, after)
		}
	case []any:
		document, isList := document.([]any)
		before, wasList := before.([]any)
		if isList && wasList && len(document) == len(before) {
			return m.mergeItems(document, before, after)
		}
	}
	return after
}

func (m merger) mergeFields(document, before, after map[string]any) map[string]any {
	out := maps.Clone(document)
	for name := range before {
		if _, stays := after[name]; !stays {
			delete(out, name)
		}
	}
	for name, value := range after {
		have, exists := document[name]
		if was := before[name]; exists || !reflect.DeepEqual(was, value) {
			out[name] = m.merge(have, was, value)
		}
	}
	return out
}

// mergeItems merges a list. An item that was there before keeps its document; one that was changed at its place keeps
// its other fields.
func (m merger) mergeItems(document, before, after []any) []any {
	unused := map[string][]int{}
	for i, item := range before {
		unused[encode(item)] = append(unused[encode(item)], i)
	}
	out := make([]any, len(after))
	var changed []int
	for i, item := range after {
		key := encode(item)
		if len(unused[key]) == 0 {
			changed = append(changed, i)
			continue
		}
		out[i] = document[unused[key][0]]
		unused[key] = unused[key][1:]
	}
	for _, i := range changed {
		out[i] = after[i]
		if i < len(before) && slices.Contains(unused[encode(before[i])], i) && m.isSame(before[i], after[i]) {
			out[i] = m.merge(document[i], before[i], after[i])
		}
	}
	return out
}

// encode returns the text of an item of a decoded document: keys are sorted.
func encode(item any) string {
	content, _ := json.Marshal(item) //nolint:errchkjson // it was decoded from JSON
	return string(content)
}

// isSame reports whether two items of a list describe the same thing: what identifies them is equal.
func (m merger) isSame(before, after any) bool {
	b, wasMap := before.(map[string]any)
	a, isMap := after.(map[string]any)
	return wasMap && isMap && !slices.ContainsFunc(m, func(name string) bool { return b[name] != a[name] })
}
