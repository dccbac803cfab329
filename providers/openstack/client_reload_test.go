package openstack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// A clouds.yaml that changes is read again, as the configuration is.
func TestCloudsYAMLIsReadAgain(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w, err := sim.New(sim.Options{Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	a, file := w.Account(), filepath.Join(t.TempDir(), "clouds.yaml")
	write := func(password string) {
		content := fmt.Sprintf("clouds:\n  sim:\n    auth: {auth_url: %q, username: %q, password: %q, project_name: %q, user_domain_id: %q, project_domain_id: %q}\n    region_name: %s\n",
			simURL, a.Username, password, a.ProjectName, a.DomainID, a.DomainID, a.Region)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(a.Password)
	conf := filepath.Join(t.TempDir(), "cloud.conf")
	content := "[Global]\nuse-clouds = true\nclouds-file = " + file + "\n"
	if err := os.WriteFile(conf, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := api.New(newClient(clientOptions{Global: readOK(t, content).Global, ConfigFile: conf, Transport: w.Front().Transport(), Clock: c}))
	if _, err := calls.ListServers(t.Context(), ""); err != nil {
		t.Fatalf("with credentials out of clouds.yaml: %v", err)
	}
	w.SetPassword("rotated-password")
	w.EndTokens()
	if _, err := calls.ListServers(t.Context(), ""); !cloudapi.Is(err, cloudapi.Denied) {
		t.Errorf("with the old password: %v, want Denied", err)
	}
	write("rotated-password")
	c.Step(filesPause)
	if _, err := calls.ListServers(t.Context(), ""); err != nil {
		t.Errorf("with the new password in clouds.yaml: %v", err)
	}
}

// A certificate authority that was renewed is trusted without a restart.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	w, url, certificate, _ := overTLS(t, false)
	valid, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	write := func(content []byte) {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(foreignAuthority(t))
	a, c := w.Account(), testingclock.NewFakeClock(time.Now())
	g := readOK(t, fmt.Sprintf("[Global]\nauth-url = %s/identity/v3\nuser-id = %s\npassword = %s\ntenant-id = %s\nca-file = %s\n", url, a.UserID, a.Password, a.ProjectID, file)).Global
	client := newClient(clientOptions{Global: g, Clock: c})
	client.retry = cloudapi.Retry{Attempts: 1}
	if _, err := client.session(t.Context()); err == nil {
		t.Fatal("a certificate of nobody's was trusted")
	}
	write(valid)
	c.Step(filesPause)
	if _, err := client.session(t.Context()); err != nil {
		t.Errorf("with the right authority in the file: %v", err)
	}
}

// foreignAuthority is a certificate in PEM form that has signed nothing here.
func foreignAuthority(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nobody"}, NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// No call may hang: neither one to a service nor one for a token, the first or a later one.
func TestEveryCallHasADeadline(t *testing.T) {
	t.Parallel()
	w, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var hangs atomic.Value // of func(path string) bool
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if hangs.Load().(func(string) bool)(r.URL.Path) {
			// A server learns that a client has gone only once it has read what it sent.
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		w.Front().ServeHTTP(rw, r)
	}))
	defer server.Close()
	const tokens = "/identity/v3/auth/tokens"
	for _, tt := range []struct {
		name  string
		hangs func(string) bool
		again bool
	}{
		{"the first token", func(p string) bool { return p == tokens }, false},
		{"a service", func(p string) bool { return p != tokens }, false},
		{"a later token", func(p string) bool { return p == tokens }, true},
	} {
		a := w.Account()
		g := readOK(t, fmt.Sprintf("[Global]\nauth-url = %s/identity/v3\nuser-id = %s\npassword = %s\ntenant-id = %s\nrequest-timeout = 1\n", server.URL, a.UserID, a.Password, a.ProjectID)).Global
		c := newClient(clientOptions{Global: g})
		c.retry = cloudapi.Retry{Attempts: 1}
		hangs.Store(func(string) bool { return false })
		if tt.again {
			if _, err := api.New(c).ListServers(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			w.EndTokens()
		}
		c.timeout = 50 * time.Millisecond // nothing that answers is asked any more
		hangs.Store(tt.hangs)
		if _, err := api.New(c).ListServers(t.Context(), ""); !cloudapi.Is(err, cloudapi.Unavailable) {
			t.Errorf("%s: error %v, want Unavailable", tt.name, err)
		}
	}
}

// A token that ends between two steps of a plan is replaced, and the plan goes on: nothing is made
// twice, and the Service is not told.
func TestTokenEndsInTheMiddleOfAPlan(t *testing.T) {
	t.Parallel()
	for calls := range 8 {
		after := calls + 1
		synctest.Test(t, func(t *testing.T) {
			w, err := sim.New(sim.Options{ProvisionTime: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			m := &madeBalancer{t: t, world: w, places: w.Places()}
			m.cloud = cloudOn(t, w, fmt.Sprintf("[LoadBalancer]\nsubnet-id = %s\nfloating-network-id = %s\nmanage-security-groups = true\n", m.places.PrivateSubnet, m.places.PublicNetwork))
			m.api = api.New(m.cloud.client)
			m.cloud.SetRuntime(provider.Runtime{Recorder: record.NewFakeRecorder(1000), ClusterUID: clusterUID})
			m.nodes = []*v1.Node{m.node("node-0"), m.node("node-1")}
			w.Front().Log().Reset()
			w.EndTokensAfter(after)
			if _, err := m.ensure(webService()); err != nil {
				t.Errorf("the token ends after %d calls: %v", after, err)
			}
			if got := m.calls("CreateToken"); got != 1 {
				t.Errorf("the token ends after %d calls: %d new ones, want 1", after, got)
			}
			if m.balancer(); len(m.floatingIPs()) != 1 {
				t.Errorf("the token ends after %d calls: %d floating IPs, want 1", after, len(m.floatingIPs()))
			}
		})
	}
}
