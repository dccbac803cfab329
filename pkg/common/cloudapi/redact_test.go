package cloudapi

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestErrorResponsesHaveNoSecretsOfTheRequest(t *testing.T) {
	const secret, ampersand = `pa"ss/wo rd`, "a&b<c>d"
	for name, tc := range map[string]struct {
		status     int
		body, want string
	}{
		"header":                {403, "bad token tok-123456 and Bearer tok-123456", "bad token REDACTED and REDACTED"},
		"credential":            {401, "password pa\"ss/wo rd.", "password REDACTED."},
		"credential in JSON":    {400, `{"password": "pa\"ss/wo rd"}`, `{"password": "REDACTED"}`},
		"credential in a form":  {400, "password=pa%22ss%2Fwo+rd&x=1", "password=REDACTED&x=1"},
		"credential in XML":     {500, "<p>a&amp;b&lt;c&gt;d</p><q>pa&#34;ss/wo rd</q>", "<p>REDACTED</p><q>REDACTED</q>"},
		"request in XML":        {500, "<p>&lt;x&gt;a&amp;amp;b&amp;lt;c&amp;gt;d&lt;/x&gt;</p>", "<p>&lt;x&gt;REDACTED&lt;/x&gt;</p>"},
		"quote in XML":          {500, "<q>pa&quot;ss/wo rd</q>", "<q>REDACTED</q>"},
		"one starts another":    {400, "tok-123456-7890", "REDACTED"},
		"nothing to redact":     {404, "not found", "not found"},
		"a success stays as is": {200, "tok-123456", "tok-123456"},
		"short values stay":     {400, "abc", "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			transport := NewTransport(TransportOptions{
				Provider: "test", Describe: func(*http.Request) Request { return Request{} },
				Base: roundTrip(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: tc.status, Header: http.Header{"Content-Length": {"1"}},
						Body: io.NopCloser(strings.NewReader(tc.body))}, nil
				}),
			})
			ctx := WithSecrets(t.Context(), secret, ampersand, "abc", "", "tok-123456", "tok-123456-7890")
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cloud.invalid", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer tok-123456")
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != tc.want {
				t.Errorf("body %q, want %q (%v)", body, tc.want, err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRedactionKeepsErrorsOfTheBody(t *testing.T) {
	broken := errors.New("connection reset")
	resp := &http.Response{StatusCode: http.StatusInternalServerError, Body: io.NopCloser(io.MultiReader(strings.NewReader("half secret-1"), errorReader{broken}))}
	request := (&http.Request{}).WithContext(WithSecrets(t.Context(), "secret-1"))
	redactResponse(request, resp)
	body, err := io.ReadAll(resp.Body)
	if string(body) != "half REDACTED" || !errors.Is(err, broken) {
		t.Errorf("body %q, error %v", body, err)
	}
}
