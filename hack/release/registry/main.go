// Command registry is a container registry in memory, for tests of commands that push images. It serves what a push and
// a pull of the OCI distribution specification need, without authentication, on a free port of the loopback.
// Usage: registry, which prints its address.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"
)

var (
	upload   = regexp.MustCompile(`^/v2/(.+)/blobs/uploads/(\d*)$`)
	blob     = regexp.MustCompile(`^/v2/.+/blobs/(sha256:[0-9a-f]{64})$`)
	manifest = regexp.MustCompile(`^/v2/(.+)/manifests/([^/]+)$`)
)

// registry has the content of all repositories. Blobs are shared by all of them.
type registry struct {
	mutex     sync.Mutex
	blobs     map[string][]byte
	manifests map[string]document // by repository, slash and tag or digest
	uploads   map[string][]byte
}

type document struct {
	mediaType string
	content   []byte
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	r := &registry{blobs: map[string][]byte{}, manifests: map[string]document{}, uploads: map[string][]byte{}}
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	log.Fatal(server.Serve(listener))
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	path := req.URL.Path
	if path == "/v2/" {
		return
	}
	if m := upload.FindStringSubmatch(path); m != nil {
		r.serveUpload(w, req, m[1], m[2], body)
		return
	}
	if m := blob.FindStringSubmatch(path); m != nil {
		content, found := r.blobs[m[1]]
		serve(w, req, document{"application/octet-stream", content}, found)
		return
	}
	if m := manifest.FindStringSubmatch(path); m != nil {
		if req.Method == http.MethodPut {
			d := document{req.Header.Get("Content-Type"), body}
			r.manifests[m[1]+"/"+m[2]], r.manifests[m[1]+"/"+digest(body)] = d, d
			w.Header().Set("Docker-Content-Digest", digest(body))
			w.WriteHeader(http.StatusCreated)
			return
		}
		d, found := r.manifests[m[1]+"/"+m[2]]
		serve(w, req, d, found)
		return
	}
	http.NotFound(w, req)
}

// serveUpload starts an upload, appends to it, or ends it with the digest of a blob.
func (r *registry) serveUpload(w http.ResponseWriter, req *http.Request, repository, id string, body []byte) {
	if id == "" {
		id = fmt.Sprint(len(r.uploads) + 1)
	}
	r.uploads[id] = append(r.uploads[id], body...)
	w.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/uploads/%s", repository, id))
	if req.Method != http.MethodPut {
		w.Header().Set("Range", fmt.Sprintf("0-%d", max(0, len(r.uploads[id])-1)))
		w.WriteHeader(http.StatusAccepted)
		return
	}
	want := req.URL.Query().Get("digest")
	if got := digest(r.uploads[id]); got != want {
		http.Error(w, "the digest is "+got, http.StatusBadRequest)
		return
	}
	r.blobs[want], r.uploads[id] = r.uploads[id], nil
	w.WriteHeader(http.StatusCreated)
}

func serve(w http.ResponseWriter, req *http.Request, d document, found bool) {
	if !found {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", d.mediaType)
	w.Header().Set("Docker-Content-Digest", digest(d.content))
	w.Header().Set("Content-Length", fmt.Sprint(len(d.content)))
	if req.Method != http.MethodHead {
		_, _ = w.Write(d.content) // The client is gone.
	}
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }
