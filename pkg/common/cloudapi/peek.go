package cloudapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// peekLimit is the longest request body that Describe can look at. Requests to cloud APIs are
// far shorter; a longer body is passed on as it is.
const peekLimit = 1 << 20

var errTooLongToPeek = errors.New("cloudapi: the request body is too long to be looked at before it is sent")

// peekable gives a request a GetBody, as TransportOptions.Describe promises. The body is read
// only when GetBody is called, and can be read and sent again afterwards.
type peekable struct {
	// req is the caller's request, or a copy of it once there is a body to replace.
	req *http.Request
	// lent is the request that Describe sees.
	lent *http.Request
	// failed is why the body could not be read whole.
	failed error
}

func newPeekable(req *http.Request) *peekable {
	p := &peekable{req: req, lent: req}
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil {
		return p
	}
	p.lent = req.WithContext(req.Context())
	p.lent.GetBody = p.getBody
	return p
}

// getBody reads the body, keeps it, and returns a copy.
func (p *peekable) getBody() (io.ReadCloser, error) {
	switch {
	case p.failed != nil:
		return nil, p.failed
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
	// What was read goes out first, then the rest or the error that reading ended with.
	rest := io.Reader(original)
	if err != nil {
		rest = failing{err}
	} else {
		err = errTooLongToPeek
	}
	out.Body = readCloser{io.MultiReader(bytes.NewReader(head), rest), original}
	p.failed = err
	return nil, err
}

// PeekResponse returns up to limit bytes of an answer's body and leaves the body as it was, for
// clouds that say in the body what an error is.
func PeekResponse(resp *http.Response, limit int64) []byte {
	if resp == nil || resp.Body == nil {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failing{err}
	}
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(head), rest), resp.Body}
	return head
}

type readCloser struct {
	io.Reader
	io.Closer
}

// failing is a reader that has only an error to give.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
