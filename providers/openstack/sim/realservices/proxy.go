package realservices

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// newFront returns a front before services. As in the simulator, all of them are at one address, each under the path
// of its type, so that the call log has the same names of operations.
func newFront(roots map[string]string, o Options) *kit.Front {
	describe, dialect := sim.Dialect()
	return kit.NewFront(kit.FrontOptions{
		Handler: newProxy(roots), Describe: describe, Dialect: dialect, Latency: o.Latency, Seed: o.Seed,
		ErrorRate: o.ErrorRate,
	})
}

// newProxy returns a handler that forwards calls to services, and replaces their URLs by its own.
func newProxy(roots map[string]string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			service, path, _ := strings.Cut(strings.TrimPrefix(r.In.URL.Path, "/"), "/")
			if target, err := url.Parse(roots[service]); err == nil {
				r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, target.Host
			}
			r.Out.URL.Path, r.Out.URL.RawPath = "/"+path, ""
			r.Out.Header.Set(frontHeader, "http://"+r.In.Host)
			r.Out.Header.Del("Accept-Encoding") // Bodies are rewritten, so that they must be text.
			replaceURLs(r.Out.Header, &r.Out.Body, &r.Out.ContentLength, urlReplacer(roots, "http://"+r.In.Host, true))
		},
		ModifyResponse: func(r *http.Response) error {
			replaceURLs(r.Header, &r.Body, &r.ContentLength, urlReplacer(roots, r.Request.Header.Get(frontHeader), false))
			return nil
		},
		Transport: newTransport(),
		// Clients see an unresponsive service as they do without the front: as a broken connection.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// frontHeader carries the address at which the client reached the front. The services ignore it.
const frontHeader = "X-Front"

// urlReplacer replaces the URLs of services by those behind the front, or the reverse.
func urlReplacer(roots map[string]string, front string, toServices bool) *strings.Replacer {
	var pairs []string
	for service, root := range roots {
		pair := []string{root, front + "/" + service}
		if toServices {
			slices.Reverse(pair)
		}
		pairs = append(pairs, pair...)
	}
	return strings.NewReplacer(pairs...)
}

// replaceURLs replaces URLs in the header and the body of a message.
func replaceURLs(header http.Header, body *io.ReadCloser, length *int64, urls *strings.Replacer) {
	for _, name := range []string{"Location", "Www-Authenticate", "Link"} {
		if value := header.Get(name); value != "" {
			header.Set(name, urls.Replace(value))
		}
	}
	if *body == nil || *body == http.NoBody {
		return
	}
	content, err := io.ReadAll(*body)
	if err != nil {
		panic(http.ErrAbortHandler) // A truncated message is discarded.
	}
	_ = (*body).Close() // All of it has been read.
	replaced := []byte(urls.Replace(string(content)))
	*body, *length = io.NopCloser(bytes.NewReader(replaced)), int64(len(replaced))
	header.Set("Content-Length", strconv.Itoa(len(replaced)))
}
