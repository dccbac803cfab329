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
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// recorded is a transport that keeps what was asked of Keystone.
type recorded struct {
	next http.RoundTripper

	mu   sync.Mutex
	url  string
	body string
}

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "/auth/tokens") {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		r.mu.Lock()
		r.url, r.body = req.URL.String(), string(body)
		r.mu.Unlock()
	}
	return r.next.RoundTrip(req)
}

// asked returns where a token is asked for with these lines in [Global], and with what.
func asked(t *testing.T, lines string) (url, body string) {
	t.Helper()
	w, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{next: w.Front().Transport()}
	c := newClient(clientOptions{Global: readOK(t, "[Global]\n"+lines).Global, Transport: r})
	// Whether Keystone knows the user is not the question here.
	_, _ = c.session(t.Context())
	return r.url, r.body
}

// asks is a key whose value must be in the request for a token.
func asks(lines, want string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		if _, body := asked(t, "auth-url = "+simURL+"\n"+lines); !strings.Contains(body, want) {
			t.Errorf("Keystone is asked\n%s\nwhich lacks\n%s", body, want)
		}
	}
}

// credentialEffects are the keys that say who asks, and for what.
func credentialEffects() map[string]func(*testing.T) {
	const user, project = "user-id = u1\npassword = p1\n", "tenant-name = t1\n"
	return map[string]func(*testing.T){
		"[Global] username":                      asks("username = n1\npassword = p1\ndomain-id = d1\ntenant-id = t1\n", `"user":{"domain":{"id":"d1"},"name":"n1","password":"p1"}`),
		"[Global] user-id":                       asks(user+"tenant-id = t1\n", `"user":{"id":"u1","password":"p1"}`),
		"[Global] password":                      asks("user-id = u1\npassword = p2\ntenant-id = t1\n", `"password":"p2"`),
		"[Global] application-credential-id":     asks("application-credential-id = a1\napplication-credential-secret = s1\n", `"application_credential":{"id":"a1","secret":"s1"}`),
		"[Global] application-credential-name":   asks("application-credential-name = c1\napplication-credential-secret = s1\nuser-id = u1\n", `"name":"c1"`),
		"[Global] application-credential-secret": asks("application-credential-id = a1\napplication-credential-secret = s2\n", `"secret":"s2"`),
		"[Global] token":                         asks("token = k1\ntenant-id = t1\n", `"token":{"id":"k1"}`),
		"[Global] trust-id":                      asks(user+"trust-id = x1\n", `"OS-TRUST:trust":{"id":"x1"}`),
		"[Global] trustee-id":                    asks(user+"trust-id = x1\ntrustee-id = u2\n", `"user":{"id":"u2"`),
		"[Global] trustee-password":              asks(user+"trust-id = x1\ntrustee-id = u2\ntrustee-password = p3\n", `"password":"p3"`),
		"[Global] tenant-id":                     asks(user+"tenant-id = t2\n", `"scope":{"project":{"id":"t2"}}`),
		"[Global] tenant-name":                   asks(user+"tenant-name = t3\ndomain-id = d1\n", `"scope":{"project":{"domain":{"id":"d1"},"name":"t3"}}`),
		"[Global] domain-id":                     asks(user+project+"domain-id = d2\n", `"project":{"domain":{"id":"d2"}`),
		"[Global] domain-name":                   asks(user+project+"domain-name = d3\n", `"project":{"domain":{"name":"d3"}`),
		"[Global] user-domain-id":                asks("username = n1\npassword = p1\nuser-domain-id = d4\ntenant-id = t1\n", `"user":{"domain":{"id":"d4"}`),
		"[Global] user-domain-name":              asks("username = n1\npassword = p1\nuser-domain-name = d5\ntenant-id = t1\n", `"user":{"domain":{"name":"d5"}`),
		"[Global] tenant-domain-id":              asks(user+project+"tenant-domain-id = d6\n", `"project":{"domain":{"id":"d6"}`),
		"[Global] tenant-domain-name":            asks(user+project+"tenant-domain-name = d7\n", `"project":{"domain":{"name":"d7"}`),
	}
}

// accessEffects are the keys that say where the cloud is.
func accessEffects() map[string]func(*testing.T) {
	const credential = "application-credential-id = a1\napplication-credential-secret = s1\n"
	clouds := func(lines, want string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			g, _, err := readOK(t, "[Global]\nclouds-file = "+writeClouds(t)+"\n"+lines).Global.complete()
			if err != nil || g.AuthURL != want {
				t.Errorf("the URL of Keystone is %q, %v, want %q", g.AuthURL, err, want)
			}
		}
	}
	const vendor, three = "https://vendor.example.com", "https://three.example.com"
	return map[string]func(*testing.T){
		"[Global] auth-url": func(t *testing.T) {
			t.Helper()
			if url, _ := asked(t, "auth-url = http://keystone.invalid/v3\n"+credential); url != "http://keystone.invalid/v3/auth/tokens" {
				t.Errorf("a token is asked for at %s", url)
			}
		},
		"[Global] region": func(t *testing.T) {
			t.Helper()
			w, err := sim.New(sim.Options{OtherRegions: []string{"RegionTwo"}})
			if err != nil {
				t.Fatal(err)
			}
			g := accountGlobal(w)
			g.Region = "RegionTwo"
			s, err := newClient(clientOptions{Global: g, Transport: w.Front().Transport()}).session(t.Context())
			if err != nil || !strings.Contains(s.endpoint([]string{api.Compute}), "/elsewhere/RegionTwo/") {
				t.Errorf("%v, want the endpoint of the region", err)
			}
		},
		"[Global] os-endpoint-type": func(t *testing.T) {
			t.Helper()
			var endpoints []tokens.Endpoint
			for _, kind := range []string{"public", "internal", "admin"} {
				endpoints = append(endpoints, tokens.Endpoint{Interface: kind, URL: "http://" + kind})
			}
			catalog := &tokens.ServiceCatalog{Entries: []tokens.CatalogEntry{{Type: api.Compute, Endpoints: endpoints}}}
			for value, want := range map[string]string{"public": "http://public", "internal": "http://internal", "admin": "http://admin", "internalURL": "http://internal"} {
				g := readOK(t, minimal+"os-endpoint-type = "+value+"\n").Global
				if got := (&session{catalog: catalog, availability: g.availability()}).endpoint([]string{api.Compute}); got != want {
					t.Errorf("%s: called at %s, want %s", value, got, want)
				}
			}
		},
		"[Global] use-clouds":  clouds("use-clouds = true\ncloud = prod\n", vendor),
		"[Global] clouds-file": clouds("use-clouds = true\ncloud = other\nregion = RegionThree\n", three),
		"[Global] cloud":       clouds("cloud = other\nregion = RegionThree\n", three),
	}
}

// overTLS is Keystone and all else of a simulated cloud behind TLS. The files are its certificate,
// which it signed itself, and the key to it: good enough for a client, too.
func overTLS(t *testing.T, wantsClients bool) (w *sim.Cloud, url, certificate, key string) {
	t.Helper()
	w, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
func lists(t *testing.T, w *sim.Cloud, url, lines string) error {
	t.Helper()
	a := w.Account()
	g := readOK(t, fmt.Sprintf("[Global]\nauth-url = %s/identity/v3\nusername = %s\npassword = %s\ntenant-name = %s\ndomain-name = %s\n%s",
		url, a.Username, a.Password, a.ProjectName, a.DomainName, lines)).Global
	c := newClient(clientOptions{Global: g})
	c.retry = cloudapi.Retry{Attempts: 1}
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
			// One that never answers is in TestEveryCallHasADeadline.
			if got := newClient(clientOptions{Global: readOK(t, minimal+lines).Global}).timeout; got != 7*time.Second {
				t.Errorf("a call may take %v, want 7s", got)
			}
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
				if got := newClient(clientOptions{Global: readOK(t, minimal+"legacy-metrics = "+value+"\n").Global}).legacy != nil; got != want {
					t.Errorf("legacy-metrics = %s: recorded %v", value, got)
				}
			}
		},
	}
}
