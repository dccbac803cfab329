package cloudapi

import "net/http"

// ClassifyStatus sorts an answer by its HTTP status alone, and a missing answer by its error. It
// returns "" for success. Clouds that say more in the body look there first.
func ClassifyStatus(resp *http.Response, err error) Class {
	if err != nil {
		if c := ClassOf(err); c != Unknown {
			return c
		}
		// Whatever kept the answer from arriving, nothing is known about what was done.
		return Unavailable
	}
	return ClassOfStatus(resp.StatusCode)
}

// ClassOfStatus returns the class that an HTTP status has in most clouds, and "" below 400.
func ClassOfStatus(status int) Class {
	switch {
	case status < 400:
		return ""
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Denied
	case status == http.StatusNotFound, status == http.StatusGone:
		return NotFound
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return Conflict
	case status == http.StatusTooManyRequests:
		return Throttled
	case status == http.StatusRequestTimeout, status >= 500:
		return Unavailable
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity,
		status == http.StatusRequestEntityTooLarge:
		return Invalid
	default:
		return Unknown
	}
}
