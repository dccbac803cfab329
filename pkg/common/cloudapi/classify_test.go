package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestClassOf(t *testing.T) {
	cause := errors.New("no such server")
	classified := &Error{Class: NotFound, Operation: "GetServer", Err: cause}
	tests := []struct {
		name string
		err  error
		want Class
	}{
		{name: "nil", err: nil, want: ""},
		{name: "classified", err: classified, want: NotFound},
		{name: "wrapped", err: fmt.Errorf("node x: %w", classified), want: NotFound},
		{name: "joined, the first counts", err: errors.Join(cause, classified, &Error{Class: Denied}), want: NotFound},
		{name: "canceled", err: fmt.Errorf("x: %w", context.Canceled), want: Canceled},
		{name: "deadline", err: context.DeadlineExceeded, want: Unavailable},
		{name: "a class before a context's error", err: &Error{Class: Throttled, Err: context.Canceled}, want: Throttled},
		{name: "anything else", err: cause, want: Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ClassOf(tt.err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if !Is(tt.err, Invalid, tt.want) || Is(tt.err, Invalid) {
				t.Error("Is disagrees with ClassOf")
			}
		})
	}
	if got, want := classified.Error(), "GetServer: no such server (not-found)"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if !errors.Is(classified, cause) {
		t.Error("the cause is lost")
	}
}

func TestClassOfStatus(t *testing.T) {
	for status, want := range map[int]Class{
		200: "", 204: "", 302: "",
		400: Invalid, 401: Denied, 403: Denied, 404: NotFound, 405: Invalid, 408: Unavailable, 409: Conflict,
		410: NotFound, 412: Conflict, 413: Invalid, 415: Invalid, 418: Unknown, 422: Invalid, 429: Throttled,
		500: Unavailable, 502: Unavailable, 503: Unavailable, 504: Unavailable,
	} {
		if got := ClassOfStatus(status); got != want {
			t.Errorf("%d: got %q, want %q", status, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name, value string
		want        time.Duration
	}{
		{name: "missing", value: "", want: 0},
		{name: "seconds", value: "120", want: 2 * time.Minute},
		{name: "zero", value: "0", want: 0},
		{name: "negative", value: "-3", want: 0},
		{name: "too large for a duration", value: "99999999999999999999", want: 0},
		{name: "date", value: now.Add(7 * time.Second).Format(http.TimeFormat), want: 7 * time.Second},
		{name: "date in the past", value: now.Add(-time.Hour).Format(http.TimeFormat), want: 0},
		{name: "nonsense", value: "soon", want: 0},
		{name: "a day", value: "86400", want: LongestRetryAfter},
		{name: "tomorrow", value: now.Add(24 * time.Hour).Format(http.TimeFormat), want: LongestRetryAfter},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := RetryAfter(http.Header{"Retry-After": {tt.value}}, now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPeekResponse(t *testing.T) {
	broken := errors.New("reset")
	tests := []struct {
		name       string
		body       io.Reader
		peek, read string
		err        error
	}{
		{name: "short", body: strings.NewReader("ab"), peek: "ab", read: "ab"},
		{name: "long", body: strings.NewReader("abcdef"), peek: "abcd", read: "abcdef"},
		{name: "broken", body: io.MultiReader(strings.NewReader("ab"), errorReader{broken}), peek: "ab", read: "ab", err: broken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := &closes{Reader: tt.body}
			resp := &http.Response{Body: body}
			for range 2 {
				if got := string(PeekResponse(resp, 4)); got != tt.peek {
					t.Errorf("peeked %q, want %q", got, tt.peek)
				}
			}
			got, err := io.ReadAll(resp.Body)
			if string(got) != tt.read || !errors.Is(err, tt.err) {
				t.Errorf("read %q, %v; want %q, %v", got, err, tt.read, tt.err)
			}
			if resp.Body.Close(); body.n != 1 {
				t.Errorf("closed %d times", body.n)
			}
		})
	}
	if got := PeekResponse(nil, 4); got != nil {
		t.Errorf("no response: %q", got)
	}
}

func TestCauseOf(t *testing.T) {
	cause := errors.New("no such thing")
	for name, err := range map[string]error{
		"without a class": cause, "with one": &Error{Class: NotFound, Operation: "Get", Err: cause},
		"wrapped": fmt.Errorf("looking: %w", &Error{Class: NotFound, Operation: "Get", Err: cause}),
	} {
		if got := CauseOf(err); got != cause { //nolint:errorlint // the very value
			t.Errorf("%s: %v, want %v", name, got, cause)
		}
	}
	if CauseOf(nil) != nil {
		t.Error("no error has a cause")
	}
}
