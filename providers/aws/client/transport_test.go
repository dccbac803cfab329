package client

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// closedEarly is a request body as the SDK has it: with WriteTo, which fails once the body is closed.
type closedEarly struct {
	*strings.Reader
	closed bool
}

func (b *closedEarly) Close() error { b.closed = true; return nil }

func (b *closedEarly) WriteTo(w io.Writer) (int64, error) {
	if b.closed {
		return 0, io.EOF
	}
	return b.Reader.WriteTo(w)
}

// TestResponseFasterThanEndOfRequest closes the body before net/http has seen its end, as the SDK does when it has a
// response. An error there would close the connection, and with it the rest of the response.
func TestResponseFasterThanEndOfRequest(t *testing.T) {
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		if _, err := io.CopyN(io.Discard, r.Body, r.ContentLength); err != nil {
			t.Error(err)
		}
		_ = r.Body.Close() // It returns no error.
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Errorf("the end of the request: %v", err)
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	body := &closedEarly{Reader: strings.NewReader("Action=DescribeSubnets")}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://ec2.invalid/", body)
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = body.Size()
	response, err := (&attemptDeadline{base}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close() // It has no content.
}
