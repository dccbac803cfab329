package api

import "encoding/json"

// Field is one field of a patch: left alone (the zero value), set to a value, or set to null. The
// tag of a struct's field must have omitzero.
type Field[T any] struct {
	value T
	state fieldState
}

type fieldState int

const (
	fieldSet fieldState = iota + 1
	fieldNull
)

// To sets a field to a value.
func To[T any](value T) Field[T] { return Field[T]{value, fieldSet} }

// Null sets a field to null, which unsets it in the cloud.
func Null[T any]() Field[T] { return Field[T]{state: fieldNull} }

// IsZero says whether the field is left alone; encoding/json asks.
func (f Field[T]) IsZero() bool { return f.state == 0 }

// Get returns the value, and whether the field is set to one.
func (f Field[T]) Get() (value T, ok bool) { return f.value, f.state == fieldSet }

// MarshalJSON implements json.Marshaler.
func (f Field[T]) MarshalJSON() ([]byte, error) {
	if f.state != fieldSet {
		return []byte("null"), nil
	}
	return json.Marshal(f.value)
}
