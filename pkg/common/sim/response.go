package sim

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// response is complete before any of it is sent, so that it can be lost completely. Simulated clouds respond
// with small documents; nothing here streams.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var _ http.ResponseWriter = (*response)(nil)

func newResponse() *response { return &response{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (a *response) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. Only the first status counts, as over a socket.
func (a *response) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *response) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// sendTo writes the response to a socket.
func (a *response) sendTo(w http.ResponseWriter) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.WriteHeader(a.status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(a.body.Bytes())
}

// toHTTP returns the response for a client in process.
func (a *response) toHTTP(r *http.Request) *http.Response {
	body := a.body.Bytes()
	length := int64(len(body))
	if len(body) > 0 && a.header.Get("Content-Type") == "" {
		a.header.Set("Content-Type", http.DetectContentType(body))
	}
	if r.Method == http.MethodHead {
		// As over a socket: the header describes a body that is not sent.
		body = nil
	}
	return &http.Response{
		Status:        strconv.Itoa(a.status) + " " + http.StatusText(a.status),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: length,
		Request:       r,
	}
}
