package openstack

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

const minimal = "[Global]\nauth-url = https://keystone.example.com/v3\n" +
	"application-credential-id = id\napplication-credential-secret = s3cret\n"

// recorder is a transport that records the last request to Keystone and to other services.
type recorder struct {
	next http.RoundTripper

	mu sync.Mutex
	// url and body are of the request for a token.
	url  string
	body string
	// service is the URL of the last request to another service, timeout the time that it had.
	service string
	timeout time.Duration
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !strings.HasSuffix(req.URL.Path, "/auth/tokens") {
		r.service = req.URL.String()
		return r.next.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.url, r.body = req.URL.String(), string(body)
	if deadline, ok := req.Context().Deadline(); ok {
		r.timeout = time.Until(deadline)
	}
	return r.next.RoundTrip(req)
}

// listServers lists servers of a simulated cloud with that section [Global], and returns what was requested.
// Whether Keystone accepts the credentials does not matter.
func listServers(t *testing.T, w *simtest.Cloud, g config.Global) *recorder {
	t.Helper()
	r := &recorder{next: w.Front().Transport()}
	_, _ = api.New(client.New(client.Options{Global: g, Transport: r})).ListServers(t.Context(), "")
	return r
}

// authenticate returns where a token is requested with these lines in [Global], and the body of the request.
func authenticate(t *testing.T, lines string) (url, body string) {
	t.Helper()
	r := listServers(t, simtest.New(t, sim.Options{}), readConfig(t, "[Global]\n"+lines).Global)
	return r.url, r.body
}

// authenticates returns a case for a key whose value must be in the request for a token.
func authenticates(lines, want string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		if _, body := authenticate(t, "auth-url = "+simtest.URL+"\n"+lines); !strings.Contains(body, want) {
			t.Errorf("the request for a token is\n%s\nand lacks\n%s", body, want)
		}
	}
}

// credentialEffects are the keys of credentials and scope.
func credentialEffects() map[string]func(*testing.T) {
	const user, project = "user-id = u1\npassword = p1\n", "tenant-name = t1\n"
	return map[string]func(*testing.T){
		"[Global] username":                      authenticates("username = n1\npassword = p1\ndomain-id = d1\ntenant-id = t1\n", `"user":{"domain":{"id":"d1"},"name":"n1","password":"p1"}`),
		"[Global] user-id":                       authenticates(user+"tenant-id = t1\n", `"user":{"id":"u1","password":"p1"}`),
		"[Global] password":                      authenticates("user-id = u1\npassword = p2\ntenant-id = t1\n", `"password":"p2"`),
		"[Global] application-credential-id":     authenticates("application-credential-id = a1\napplication-credential-secret = s1\n", `"application_credential":{"id":"a1","secret":"s1"}`),
		"[Global] application-credential-name":   authenticates("application-credential-name = c1\napplication-credential-secret = s1\nuser-id = u1\n", `"name":"c1"`),
		"[Global] application-credential-secret": authenticates("application-credential-id = a1\napplication-credential-secret = s2\n", `"secret":"s2"`),
		"[Global] token":                         authenticates("token = k1\ntenant-id = t1\n", `"token":{"id":"k1"}`),
		"[Global] trust-id":                      authenticates(user+"trust-id = x1\n", `"OS-TRUST:trust":{"id":"x1"}`),
		"[Global] trustee-id":                    authenticates(user+"trust-id = x1\ntrustee-id = u2\n", `"user":{"id":"u2"`),
		"[Global] trustee-password":              authenticates(user+"trust-id = x1\ntrustee-id = u2\ntrustee-password = p3\n", `"password":"p3"`),
		"[Global] tenant-id":                     authenticates(user+"tenant-id = t2\n", `"scope":{"project":{"id":"t2"}}`),
		"[Global] tenant-name":                   authenticates(user+"tenant-name = t3\ndomain-id = d1\n", `"scope":{"project":{"domain":{"id":"d1"},"name":"t3"}}`),
		"[Global] domain-id":                     authenticates(user+project+"domain-id = d2\n", `"project":{"domain":{"id":"d2"}`),
		"[Global] domain-name":                   authenticates(user+project+"domain-name = d3\n", `"project":{"domain":{"name":"d3"}`),
		"[Global] user-domain-id":                authenticates("username = n1\npassword = p1\nuser-domain-id = d4\ntenant-id = t1\n", `"user":{"domain":{"id":"d4"}`),
		"[Global] user-domain-name":              authenticates("username = n1\npassword = p1\nuser-domain-name = d5\ntenant-id = t1\n", `"user":{"domain":{"name":"d5"}`),
		"[Global] tenant-domain-id":              authenticates(user+project+"tenant-domain-id = d6\n", `"project":{"domain":{"id":"d6"}`),
		"[Global] tenant-domain-name":            authenticates(user+project+"tenant-domain-name = d7\n", `"project":{"domain":{"name":"d7"}`),
	}
}

// accessEffects are the keys of endpoints.
func accessEffects() map[string]func(*testing.T) {
	const credential = "application-credential-id = a1\napplication-credential-secret = s1\n"
	clouds := func(lines, want string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			g, _, err := readConfig(t,
				"[Global]\nclouds-file = config/testdata/clouds/clouds.yaml\n"+lines).Global.Complete()
			if err != nil || g.AuthURL != want {
				t.Errorf("the URL of Keystone is %q, %v, want %q", g.AuthURL, err, want)
			}
		}
	}
	const vendor, three = "https://vendor.example.com", "https://three.example.com"
	return map[string]func(*testing.T){
		"[Global] auth-url": func(t *testing.T) {
			t.Helper()
			if url, _ := authenticate(t,
				"auth-url = http://keystone.invalid/v3\n"+credential); url != "http://keystone.invalid/v3/auth/tokens" {
				t.Errorf("a token is requested at %s", url)
			}
		},
		"[Global] region": func(t *testing.T) {
			t.Helper()
			w := simtest.New(t, sim.Options{OtherRegions: []string{"RegionTwo"}})
			g := readConfig(t, w.Config("request-timeout = 10\n")).Global
			g.Region = "RegionTwo"
			if r := listServers(t, w, g); !strings.Contains(r.service, "/other-region/RegionTwo/") {
				t.Errorf("servers are listed at %s, want the endpoint of the region", r.service)
			}
		},
		"[Global] os-endpoint-type": func(t *testing.T) {
			t.Helper()
			for value, want := range map[string]string{
				"public": "http://public", "internal": "http://internal", "admin": "http://admin", "internalURL": "http://internal",
			} {
				w := simtest.New(t, sim.Options{})
				r := &recorder{next: interfaces{}}
				g := readConfig(t, w.Config("os-endpoint-type = "+value+"\nrequest-timeout = 1\n")).Global
				c := client.New(client.Options{Global: g, Transport: r, Retry: cloudapi.Retry{Attempts: 1}})
				_, _ = api.New(c).ListServers(t.Context(), "")
				if !strings.HasPrefix(r.service, want+"/") {
					t.Errorf("%s: servers are listed at %s, want %s", value, r.service, want)
				}
			}
		},
		"[Global] use-clouds":  clouds("use-clouds = true\ncloud = prod\n", vendor),
		"[Global] clouds-file": clouds("use-clouds = true\ncloud = other\nregion = RegionThree\n", three),
		"[Global] cloud":       clouds("cloud = other\nregion = RegionThree\n", three),
	}
}

// interfaces is a Keystone with an endpoint of Nova for each interface.
type interfaces struct{}

func (interfaces) RoundTrip(r *http.Request) (*http.Response, error) {
	const token = `{"token": {"expires_at": "2126-01-01T00:00:00.000000Z", "catalog": [{"type": "compute", "endpoints": [
		{"interface": "public", "region": "RegionOne", "url": "http://public"},
		{"interface": "internal", "region": "RegionOne", "url": "http://internal"},
		{"interface": "admin", "region": "RegionOne", "url": "http://admin"}]}]}}`
	answer := &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"X-Subject-Token": {"t"}}, Request: r}
	if answer.Body = io.NopCloser(strings.NewReader(token)); !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
		answer.StatusCode = http.StatusNotFound
	}
	return answer, nil
}

// overTLS is Keystone and all else of a simulated cloud behind TLS. The files are its certificate,
// which it signed itself, and the key to it: good enough for a client, too.
func overTLS(t *testing.T, wantsClients bool) (w *simtest.Cloud, url, certificate, key string) {
	t.Helper()
	w = simtest.New(t, sim.Options{})
	server := httptest.NewUnstartedServer(w.Front())
	if wantsClients {
		server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that are refused are the test
	server.StartTLS()
	t.Cleanup(server.Close)
	write := func(name, kind string, content []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	private, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return w, server.URL, write("tls.crt", "CERTIFICATE", server.Certificate().Raw), write("tls.key", "PRIVATE KEY", private)
}

// lists reads servers of a cloud over the network, with more lines in [Global].
func lists(t *testing.T, w *simtest.Cloud, url, lines string) error {
	t.Helper()
	a := w.Account()
	g := readConfig(t, fmt.Sprintf("[Global]\nauth-url = %s/identity/v3\nusername = %s\npassword = "+
		"%s\ntenant-name = %s\ndomain-name = %s\n%s",
		url, a.Username, a.Password, a.ProjectName, a.DomainName, lines)).Global
	c := client.New(client.Options{Global: g, Retry: cloudapi.Retry{Attempts: 1}})
	_, err := api.New(c).ListServers(t.Context(), "")
	return err
}

// overTLSWith works with the lines that have to be there, and not without them.
func overTLSWith(wantsClients bool, always, needed string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		w, url, certificate, key := overTLS(t, wantsClients)
		fill := strings.NewReplacer("CERTIFICATE", certificate, "KEY", key).Replace
		if err := lists(t, w, url, fill(always+needed)); err != nil {
			t.Errorf("with %s: %v", needed, err)
		}
		if err := lists(t, w, url, fill(always)); err == nil {
			t.Errorf("it works without %s", needed)
		}
	}
}

// transportEffects are the keys about connections.
func transportEffects() map[string]func(*testing.T) {
	clientCertificate := overTLSWith(true, "ca-file = CERTIFICATE\n", "cert-file = CERTIFICATE\nkey-file = KEY\n")
	timeout := func(lines string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			// A service that never answers is in TestEveryCallTimesOut.
			synctest.Test(t, func(t *testing.T) {
				w := simtest.New(t, sim.Options{})
				if got := listServers(t, w, readConfig(t, w.Config(lines)).Global).timeout; got != 7*time.Second {
					t.Errorf("a call may take %v, want 7s", got)
				}
			})
		}
	}
	return map[string]func(*testing.T){
		"[Global] ca-file":           overTLSWith(false, "", "ca-file = CERTIFICATE\n"),
		"[Global] cert-file":         clientCertificate,
		"[Global] key-file":          clientCertificate,
		"[Global] tls-insecure":      overTLSWith(false, "", "tls-insecure = true\n"),
		"[Global] request-timeout":   timeout("request-timeout = 7\n"),
		"[Metadata] request-timeout": timeout("[Metadata]\nrequest-timeout = 7s\n"),
		"[Metadata] search-order":    refuses("[Metadata]\nsearch-order = floppy\n", "[Metadata]\nsearch-order = configDrive, metadataService\n", `not "floppy"`),
		"[Global] legacy-metrics": func(t *testing.T) {
			t.Helper()
			for value, want := range map[string]bool{"true": true, "false": false} {
				if got := client.New(client.Options{Global: readConfig(t, minimal+"legacy-metrics = "+value+"\n").Global}).LegacyMetrics() != nil; got != want {
					t.Errorf("legacy-metrics = %s: recorded %v", value, got)
				}
			}
		},
	}
}
