package nsxt

import (
	"fmt"
	"net/http"
)

// apiError is an error in the form of the API.
type apiError struct {
	status  int
	name    string
	code    int
	message string
}

func invalid(code int, format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BAD_REQUEST", code, fmt.Sprintf(format, args...)}
}

func notFound(path string) *apiError {
	return &apiError{http.StatusNotFound, "NOT_FOUND", 600,
		"The requested object : " + path + " could not be found. Object identifiers are case sensitive."}
}
