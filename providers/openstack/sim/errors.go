package sim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// refusalError is an error response. An operation that returns one has changed nothing, unless it says so.
type refusalError struct {
	status int
	// kind is Neutron's type and Nova's key of an error; the other services have none.
	kind, message string
}

func (r *refusalError) Error() string { return r.message }

// refuse builds an error response.
func refuse(status int, kind, format string, args ...any) error {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	return &refusalError{status: status, kind: kind, message: message}
}

// refusalOf returns the response for any error. Other errors than refusals are bugs of the simulator.
func refusalOf(err error) *refusalError {
	var r *refusalError
	if errors.As(err, &r) {
		return r
	}
	return &refusalError{status: http.StatusInternalServerError, message: err.Error()}
}

// errUnauthorized returns the error of every service for an invalid token, and of Keystone for bad credentials.
func errUnauthorized() error {
	return refuse(http.StatusUnauthorized, "", "The request you have made requires authentication.")
}

// errNoResource is the error for a path or method that a service does not have.
func errNoResource() error {
	return refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
}

// document returns an error in the format of a service.
func (r *refusalError) document(service string) any {
	switch {
	case r.status == http.StatusUnauthorized, service == serviceIdentity:
		return map[string]any{"error": map[string]any{"code": r.status, "title": http.StatusText(r.status),
			"message": r.message}}
	case service == serviceCompute:
		kind := r.kind
		if kind == "" || strings.HasPrefix(kind, "HTTP") {
			kind = computeKind(r.status)
		}
		return map[string]any{kind: map[string]any{"code": r.status, "message": r.message}}
	case service == serviceNetwork:
		kind := r.kind
		if kind == "" {
			kind = "HTTP" + strings.ReplaceAll(http.StatusText(r.status), " ", "")
		}
		return map[string]any{"NeutronError": map[string]any{"type": kind, "message": r.message, "detail": ""}}
	case service == serviceKeyManager:
		return map[string]any{"code": r.status, "title": http.StatusText(r.status), "description": r.message}
	}
	fault := "Client"
	if r.status >= http.StatusInternalServerError {
		fault = "Server"
	}
	return map[string]any{"faultcode": fault, "faultstring": r.message, "debuginfo": nil}
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
