package cloudapi

import (
	"net/http"
	"strconv"
	"time"
)

// ClassifyStatus sorts an answer by its HTTP status alone, and a missing answer by its error. It
// returns "" for success. Clouds that say more in the body look there first, with PeekResponse.
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
// Statuses that clouds use in different ways are Unknown.
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

// LongestRetryAfter bounds what a cloud may ask us to wait: more is a fault of a proxy in between, and
// the work queues come back sooner anyway.
const LongestRetryAfter = 5 * time.Minute

// RetryAfter reads the header Retry-After, in seconds or as a date, as the time to wait from now
// on, at most LongestRetryAfter. It returns 0 where the header is missing, in the past or not understood.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, LongestRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), LongestRetryAfter)
	}
	return 0
}
