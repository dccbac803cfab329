package client

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Concurrent calls share a session: only its login may write the cookie.
func TestOnlyLoginSetsTheCookie(t *testing.T) {
	c := New(Options{VCenter: config.VCenter{Name: "vc", Server: "vc.invalid"},
		Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Set-Cookie": {soapCookie + "=new"}},
				Body: io.NopCloser(strings.NewReader(""))}, nil
		})})
	for before, want := range map[string]string{"": "new", "old": "old"} {
		s := &session{cookie: before}
		var out struct{}
		_ = c.soap(t.Context(), s, "CurrentTime", "", &out) // the response cannot be parsed
		if s.cookie != want {
			t.Errorf("the cookie %q became %q, want %q", before, s.cookie, want)
		}
	}
}
