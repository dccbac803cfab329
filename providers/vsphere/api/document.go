package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	common "github.com/unified-ccm/unified-ccm/pkg/common/document"
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
	return common.Merge(document, readContent, content, "ip_address", "resource_type", "scope")
}
