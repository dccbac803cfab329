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
func (resp *response) Header() http.Header { return resp.header }

// WriteHeader implements http.ResponseWriter. Only the first status counts, as over a socket.
func (resp *response) WriteHeader(status int) {
	if resp.status == 0 {
		resp.status = status
	}
}

// Write implements http.ResponseWriter.
func (resp *response) Write(p []byte) (int, error) {
	resp.WriteHeader(http.StatusOK)
	return resp.body.Write(p)
}

// sendTo writes the response to a socket.
func (resp *response) sendTo(w http.ResponseWriter) {
	for k, v := range resp.header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(resp.body.Bytes())
}

// toHTTP returns the response for a client in process.
func (resp *response) toHTTP(r *http.Request) *http.Response {
	body := resp.body.Bytes()
	length := int64(len(body))
	if len(body) > 0 && resp.header.Get("Content-Type") == "" {
		resp.header.Set("Content-Type", http.DetectContentType(body))
	}
	if r.Method == http.MethodHead {
		// As over a socket: the header describes a body that is not sent.
		body = nil
	}
	return &http.Response{
		Status:        strconv.Itoa(resp.status) + " " + http.StatusText(resp.status),
		StatusCode:    resp.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        resp.header,
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: length,
		Request:       r,
	}
}
