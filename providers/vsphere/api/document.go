package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// NSXObject is a kind of object.
type NSXObject[T any] interface {
	*T
	resource() *Resource
	SetTags(tags []NSXTag)
}

// ParseObject parses a document.
func ParseObject[T any, P NSXObject[T]](document []byte) (T, error) {
	var out T
	if err := json.Unmarshal(document, &out); err != nil {
		return out, fmt.Errorf("the response cannot be parsed: %w", err)
	}
	r := P(&out).resource()
	if r.ID == "" || r.Path == "" {
		return out, fmt.Errorf("the response has an object without id and path: %.100s", document)
	}
	r.document = bytes.Clone(document)
	return out, nil
}

// EncodeObject returns the document of an object. It is the document that was read, with the changes since: a PUT
// replaces the whole object, and whatever it lacks is lost. Fields that the types of this package do not have stay, at
// every depth.
func EncodeObject[T any, P NSXObject[T]](object T) ([]byte, error) {
	content, err := json.Marshal(object)
	document := P(&object).resource().document
	if err != nil || document == nil {
		return content, err
	}
	read, err := ParseObject[T, P](document)
	if err != nil {
		return nil, err
	}
	readContent, err := json.Marshal(read)
	if err != nil {
		return nil, err
	}
	var trees [3]any
	for i, text := range [][]byte{document, readContent, content} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber() // Large integers stay as they are.
		if err := d.Decode(&trees[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(merge(trees[0], trees[1], trees[2]))
}

// merge returns a document with the changes from before to after, which have only the known fields of it.
func merge(document, before, after any) any {
	if reflect.DeepEqual(before, after) {
		return document
	}
	switch after := after.(type) {
	case map[string]any:
		document, isMap := document.(map[string]any)
		before, wasMap := before.(map[string]any)
		if isMap && wasMap {
			return mergeFields(document, before, after)
		}
	case []any:
		document, isList := document.([]any)
		before, wasList := before.([]any)
		if isList && wasList && len(document) == len(before) {
			return mergeItems(document, before, after)
		}
	}
	return after
}

func mergeFields(document, before, after map[string]any) map[string]any {
	out := maps.Clone(document)
	for name := range before {
		if _, stays := after[name]; !stays {
			delete(out, name)
		}
	}
	for name, value := range after {
		have, exists := document[name]
		if was := before[name]; exists || !reflect.DeepEqual(was, value) {
			out[name] = merge(have, was, value)
		}
	}
	return out
}

// mergeItems merges a list. An item that was there before keeps its document; one that was changed at its place keeps
// its other fields.
func mergeItems(document, before, after []any) []any {
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
		if i < len(before) && slices.Contains(unused[encode(before[i])], i) && isSame(before[i], after[i]) {
			out[i] = merge(document[i], before[i], after[i])
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
func isSame(before, after any) bool {
	b, wasMap := before.(map[string]any)
	a, isMap := after.(map[string]any)
	if !wasMap || !isMap {
		return false
	}
	for _, name := range []string{"ip_address", "resource_type", "scope"} {
		if b[name] != a[name] {
			return false
		}
	}
	return true
}
