package cloudapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// peekLimit is the maximum length of a request body for Describe. Requests to cloud APIs are far shorter; a
// longer body is passed on unchanged.
const peekLimit = 1 << 20

var errTooLongToPeek = errors.New("cloudapi: the request body is too long to peek at")

// peekable gives a request a GetBody, which TransportOptions.Describe relies on. The body is read only when
// GetBody is called, and can be read and sent again afterwards.
type peekable struct {
	// req is the caller's request, or a copy of it once there is a body to replace.
	req *http.Request
	// described is the request that Describe gets.
	described *http.Request
	// err is the error of reading the body.
	err error
}

func newPeekable(req *http.Request) *peekable {
	p := &peekable{req: req, described: req}
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil {
		return p
	}
	p.described = req.WithContext(req.Context())
	p.described.GetBody = p.getBody
	return p
}

// getBody reads the body, keeps it, and returns a copy.
func (p *peekable) getBody() (io.ReadCloser, error) {
	switch {
	case p.err != nil:
		return nil, p.err
	case p.req.GetBody != nil:
		return p.req.GetBody()
	}
	original := p.req.Body
	head, err := io.ReadAll(io.LimitReader(original, peekLimit+1))
	out := p.req.WithContext(p.req.Context())
	p.req = out
	if err == nil && len(head) <= peekLimit {
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(head)), nil }
		out.Body = readCloser{bytes.NewReader(head), original}
		return out.GetBody()
	}
	// The request sends what was read, then the rest or the error of the read.
	remaining := io.Reader(original)
	if err != nil {
		remaining = errorReader{err}
	} else {
		err = errTooLongToPeek
	}
	out.Body = readCloser{io.MultiReader(bytes.NewReader(head), remaining), original}
	p.err = err
	return nil, err
}

// PeekResponse returns up to limit bytes of a response body without consuming them, for clouds with error codes in
// the body.
func PeekResponse(resp *http.Response, limit int64) []byte {
	if resp == nil || resp.Body == nil {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	remaining := io.Reader(resp.Body)
	if err != nil {
		remaining = errorReader{err}
	}
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(head), remaining), resp.Body}
	return head
}

type readCloser struct {
	io.Reader
	io.Closer
}

// errorReader is a reader that returns only an error.
type errorReader struct{ err error }

func (f errorReader) Read([]byte) (int, error) { return 0, f.err }
