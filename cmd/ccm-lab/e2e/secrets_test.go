package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// TestRunningProcessKeepsSecrets: while a cloud repeats whole requests in its errors, neither the complete log, nor Events,
// nor what the secure port serves has the credentials in it. Profiles are not served by default, and TLS below 1.2 is
// refused.
func TestRunningProcessKeepsSecrets(t *testing.T) {
	t.Parallel()
	const secret = "Pl4nted-Secret-Value"
	for name, simulator := range map[string]lab.SimulatorOptions{fake.ProviderName: {Token: secret}, "openstack": {}} {
		t.Run(name, func(t *testing.T) {
			var cloud echo
			serve, scrape := metricsPort(t)
			c := newCluster(t, setup{provider: name, noRoutes: true, simulator: simulator, front: cloud.serve(t),
				flags: append(serve, "--v=10", "--authorization-always-allow-paths=/*")})
			ctx := t.Context()
			c.must(c.session.JoinN(ctx, 1), c.session.Put(ctx, service("web", 80)))
			c.start()
			c.converge()
			cloud.on.Store(true)
			c.must(c.session.Put(ctx, service("rejected", 80)))
			c.eventually("an Event about the rejected Service", func(ctx context.Context) error {
				events, err := c.live.Events(ctx, "Service", namespace, "rejected")
				if !strings.Contains(strings.Join(events, "\n"), "SyncLoadBalancerFailed") {
					err = errors.Join(err, fmt.Errorf("events %q", events))
				}
				return err
			})
			printed := c.printed(ctx)
			printed["/metrics"], _ = scrape(ctx)
			address := strings.TrimPrefix(serve[1], "--secure-port=")
			for _, path := range []string{"/configz", "/readyz?verbose"} {
				printed[path] = c.request(ctx, "https://127.0.0.1:"+address+path, http.StatusOK)
			}
			c.request(ctx, "https://127.0.0.1:"+address+"/debug/pprof/", http.StatusNotFound)
			cloud.on.Store(false)

			secrets := append(cloud.seen(), "Pl4nted")
			for where, text := range printed {
				if text == "" {
					t.Errorf("%s is empty", where)
				}
				for _, s := range secrets {
					if at := strings.Index(text, s); at >= 0 {
						t.Errorf("%s has a secret: …%s…", where, text[max(0, at-100):at+len(s)])
					}
				}
			}
			old := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // must fail
			dialer := &tls.Dialer{Config: old}
			if conn, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:"+address); err == nil {
				_ = conn.Close()
				t.Error("the secure port accepts TLS 1.1")
			}
		})
	}
}

// TestSecurePortNeedsAuthorization: without credentials, a client reads the health of the process and nothing else.
func TestSecurePortNeedsAuthorization(t *testing.T) {
	t.Parallel()
	port, err := lab.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, setup{noRoutes: true, flags: []string{"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--profiling=true"}})
	c.start()
	c.eventually("the secure port", func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	for path, status := range map[string]int{
		"/livez": http.StatusOK, "/readyz": http.StatusOK, "/healthz": http.StatusOK,
		"/metrics": http.StatusForbidden, "/metrics/slis": http.StatusForbidden, "/configz": http.StatusForbidden,
		"/debug/pprof/": http.StatusForbidden,
	} {
		c.request(t.Context(), fmt.Sprintf("https://127.0.0.1:%d%s", port, path), status)
	}
}

// printed returns the log and the Events of the cluster.
func (c *cluster) printed(ctx context.Context) map[string]string {
	c.t.Helper()
	printed := map[string]string{}
	for _, path := range c.logs {
		content, err := os.ReadFile(path)
		c.must(err)
		printed[filepath.Base(path)] = string(content)
	}
	events, err := c.plane.Client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	c.must(err)
	printed["Events"] = fmt.Sprint(events.Items)
	return printed
}

// request returns the body of a response, and reports another status than the expected.
func (c *cluster) request(ctx context.Context, url string, status int) string {
	c.t.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the loopback of a test
		DisableKeepAlives: true,
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	c.must(err)
	response, err := client.Do(request)
	c.must(err)
	body, err := io.ReadAll(response.Body)
	c.must(err, response.Body.Close())
	if response.StatusCode != status {
		c.t.Errorf("%s answers %d, want %d", url, response.StatusCode, status)
	}
	return string(body)
}

// echo is a proxy of a cloud that can reject every request with all that it has got.
type echo struct {
	on atomic.Bool
	// secrets are the credentials that requests had in headers.
	secrets atomic.Pointer[[]string]
}

func (e *echo) seen() []string {
	if seen := e.secrets.Load(); seen != nil {
		return *seen
	}
	return nil
}

func (e *echo) serve(t *testing.T) func(endpoint string) string {
	return func(endpoint string) string {
		target, err := url.Parse(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		cloud := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // the catalog has the proxy's own URLs
		}}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if token := r.Header.Get("X-Auth-Token"); token != "" {
				e.secrets.Store(&[]string{token})
			}
			if !e.on.Load() {
				cloud.ServeHTTP(w, r)
				return
			}
			body, _ := io.ReadAll(r.Body)
			text := fmt.Sprintf("rejected: %v %s", r.Header, body)
			http.Error(w, fmt.Sprintf(`{"code":"Refused","message":%q,"faultstring":%q}`, text, text), http.StatusForbidden)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
}
