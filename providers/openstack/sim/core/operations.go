package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Operation is one action of a service, on its part X of the state. Its path is below the service's version.
type Operation[X any] struct {
	Name     string
	Method   string
	Path     []string
	Mutating bool
	// Open operations need no token.
	Open bool
	Do   func(X) (Response, error)
}

// Response is the result of an operation. A nil body is not sent.
type Response struct {
	Status int
	Body   any
	Header http.Header
	// Document is the encoded body.
	Document []byte
}

// Encode encodes the body.
func (r *Response) Encode() (err error) {
	if r.Body != nil {
		r.Document, err = json.Marshal(r.Body)
	}
	return err
}

// Read builds an operation that reads.
func Read[X any](name, path string, do func(X) (any, error)) Operation[X] {
	return Operation[X]{Name: name, Method: http.MethodGet, Path: Split(path), Do: func(t X) (Response, error) {
		body, err := do(t)
		return Response{Status: http.StatusOK, Body: body}, err
	}}
}

// Write builds an operation that changes the cloud.
func Write[X any](name, method, path string, status int, do func(X) (any, error)) Operation[X] {
	return Operation[X]{Name: name, Method: method, Path: Split(path), Mutating: true, Do: func(t X) (Response, error) {
		body, err := do(t)
		return Response{Status: status, Body: body}, err
	}}
}

// Create builds an operation that creates an object.
func Create[X any](name, path string, do func(X) (any, error)) Operation[X] {
	return Write(name, http.MethodPost, path, http.StatusCreated, do)
}

// Change builds an operation that updates an object.
func Change[X any](name, path string, do func(X) (any, error)) Operation[X] {
	return Write(name, http.MethodPut, path, http.StatusOK, do)
}

// Remove builds an operation that deletes an object.
func Remove[X any](name, path string, do func(X) error) Operation[X] {
	return Write(name, http.MethodDelete, path, http.StatusNoContent, func(t X) (any, error) { return nil, do(t) })
}

// Split returns the parts of a path.
func Split(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// Decode parses the object under key in the body into a struct. Like the services it rejects unknown fields.
func Decode[T any](t *Tx, key string) (T, error) {
	var in T
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(t.Call.Body, &envelope); err != nil {
		return in, Malformed(t.Call.Service)
	}
	raw, ok := envelope[key]
	if !ok {
		return in, BadBody(t.Call.Service, "Unable to find '%s' in request body", key)
	}
	return in, decodeStrict(t.Call.Service, raw, &in)
}

// decodeStrict decodes JSON and rejects unknown fields and wrong types.
func decodeStrict(service string, raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var typeError *json.UnmarshalTypeError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &typeError):
		return BadBody(service, "Invalid input for field/attribute %s. Value: '%s'. Wrong type.", typeError.Field,
			typeError.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = strings.Trim(name, `"`)
		if service == ServiceNetwork {
			return BadBody(service, "Unrecognized attribute(s) '%s'", name)
		}
		return BadBody(service, "Unknown attribute: %s", name)
	}
	return Malformed(service)
}

// Malformed returns the error for a body that is not valid JSON.
func Malformed(service string) error {
	if service == ServiceLoadBalancer {
		return BadBody(service, "Request is not in valid JSON format")
	}
	return BadBody(service, "Malformed request body: it is not valid JSON.")
}

// BadBody returns the error for a body with invalid content.
func BadBody(service, format string, args ...any) error {
	kind := ""
	if service == ServiceNetwork {
		kind = "HTTPBadRequest"
	}
	return Refuse(http.StatusBadRequest, kind, format, args...)
}
