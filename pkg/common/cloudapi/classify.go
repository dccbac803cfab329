package cloudapi

import (
	"net/http"
	"strconv"
	"time"
)

// ClassifyStatus returns the class of a response by its HTTP status, and of a failed request by its error. It
// returns "" for success. Clouds with error codes in the body read those first, with PeekResponse.
func ClassifyStatus(resp *http.Response, err error) Class {
	if err != nil {
		if c := ClassOf(err); c != Unknown {
			return c
		}
		// Without a response the outcome is unknown.
		return Unavailable
	}
	return ClassOfStatus(resp.StatusCode)
}

// ClassOfStatus returns the class that an HTTP status has in most clouds, and "" below 400.
// Statuses with different meanings in different clouds are Unknown.
func ClassOfStatus(status int) Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied
	case http.StatusNotFound, http.StatusGone:
		return NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return Conflict
	case http.StatusTooManyRequests:
		return Throttled
	case http.StatusRequestTimeout:
		return Unavailable
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType,
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return Invalid
	}
	switch {
	case status < 400:
		return ""
	case status >= 500:
		return Unavailable
	default:
		return Unknown
	}
}

// LongestRetryAfter bounds the wait that a cloud may request: longer ones come from faulty proxies, and work
// queues retry sooner anyway.
const LongestRetryAfter = 5 * time.Minute

// RetryAfter parses the header Retry-After, in seconds or as a date, and returns the time to wait, at most
// LongestRetryAfter. It returns 0 if the header is missing, invalid or in the past.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, LongestRetryAfter)
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(date.Sub(now), 0), LongestRetryAfter)
	}
	return 0
}
