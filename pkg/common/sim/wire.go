package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
)

// ErrBroken is wrapped by the error that an in-process client gets when the front breaks the connection.
var ErrBroken = errors.New("sim: connection broken")

// brokenError returns the error that a client in process gets when the connection breaks: the error of a reset TCP
// connection.
func brokenError() error {
	return fmt.Errorf("%w: %w", ErrBroken,
		&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)})
}

// toServerRequest converts a client's request into the one that net/http passes to a handler.
func toServerRequest(r *http.Request) *http.Request {
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	in.URL.Scheme, in.URL.Host, in.URL.User, in.URL.Fragment = "", "", nil, ""
	in.RemoteAddr = "127.0.0.1:0"
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	return in
}

// readRequest reads the whole request, as a cloud does before it acts, and returns one with a body that can be
// read again after each rewind. Only then can a server detect that its client disconnects.
func readRequest(r *http.Request) (in *http.Request, rewind func(), err error) {
	var content []byte
	if r.Body != nil {
		content, err = io.ReadAll(r.Body)
	}
	in = r.WithContext(r.Context())
	in.ContentLength = int64(len(content))
	in.TransferEncoding = nil
	in.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	rewind = func() { in.Body = io.NopCloser(bytes.NewReader(content)) }
	rewind()
	return in, rewind, err
}

// runHandler runs a handler and reports whether it aborted the connection. It propagates other panics.
func runHandler(handle func()) (aborted bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		aborted = true
	}()
	handle()
	return false
}
