package core

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// RefusalError is an error response. An operation that returns one has changed nothing, unless documented.
type RefusalError struct {
	Status int
	// Kind is Neutron's type and Nova's key of an error; the other services have none.
	Kind, Message string
}

func (r *RefusalError) Error() string { return r.Message }

// Refuse returns an error response.
func Refuse(status int, kind, format string, args ...any) error {
	return &RefusalError{Status: status, Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// RefusalOf returns the response for any error. Errors other than refusals are bugs of the simulator.
func RefusalOf(err error) *RefusalError {
	var r *RefusalError
	if errors.As(err, &r) {
		return r
	}
	return &RefusalError{Status: http.StatusInternalServerError, Message: err.Error()}
}

// ErrUnauthorized returns the error of every service for an invalid token, and of Keystone for bad credentials.
func ErrUnauthorized() error {
	return Refuse(http.StatusUnauthorized, "", "The request you have made requires authentication.")
}

// ErrNoResource returns the error for a path or method that a service does not have.
func ErrNoResource() error {
	return Refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
}

// Document returns an error in the format of a service.
func (r *RefusalError) Document(service string) any {
	switch {
	case r.Status == http.StatusUnauthorized, service == ServiceIdentity:
		return map[string]any{"error": map[string]any{"code": r.Status, "title": http.StatusText(r.Status),
			"message": r.Message}}
	case service == ServiceCompute:
		kind := r.Kind
		if kind == "" || strings.HasPrefix(kind, "HTTP") {
			kind = computeKind(r.Status)
		}
		return map[string]any{kind: map[string]any{"code": r.Status, "message": r.Message}}
	case service == ServiceNetwork:
		kind := r.Kind
		if kind == "" {
			kind = "HTTP" + strings.ReplaceAll(http.StatusText(r.Status), " ", "")
		}
		return map[string]any{"NeutronError": map[string]any{"type": kind, "message": r.Message, "detail": ""}}
	case service == ServiceKeyManager:
		return map[string]any{"code": r.Status, "title": http.StatusText(r.Status), "description": r.Message}
	}
	fault := "Client"
	if r.Status >= http.StatusInternalServerError {
		fault = "Server"
	}
	return map[string]any{"faultcode": fault, "faultstring": r.Message, "debuginfo": nil}
}

func computeKind(status int) string {
	switch status {
	case http.StatusNotFound:
		return "itemNotFound"
	case http.StatusBadRequest:
		return "badRequest"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusConflict:
		return "conflictingRequest"
	case http.StatusTooManyRequests:
		return "overLimit"
	}
	return "computeFault"
}

// ErrPolicy returns the error for a call that the policy does not allow.
func ErrPolicy() error {
	return Refuse(http.StatusForbidden, "", "Policy does not allow this request to be performed.")
}
