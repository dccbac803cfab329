package aws

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestPatience throttles for a while: pauses double, requests that were under way together count
// once, and an answer ends it.
func TestPatience(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	throttling := true
	p := &patient{clock: clock, base: roundTrip(func(*http.Request) (*http.Response, error) {
		if throttling {
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("<Code>RequestLimitExceeded</Code>"))}, nil
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	})}
	ask := func(want string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://ec2.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := p.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if got := resp.Header.Get("Retry-After"); got != want {
			t.Errorf("told to wait %q seconds, want %q", got, want)
		}
	}
	for _, want := range []string{"1", "2", "4", "8", "16", "20", "20"} {
		ask(want)
		ask(want)
		clock.Step(longestPause)
	}
	throttling = false
	ask("")
	throttling = true
	ask("1")
}
