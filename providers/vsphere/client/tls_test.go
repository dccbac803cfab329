package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

// authority is a certificate authority.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return authority{certificate, key, file}
}

// issue returns a certificate for a name and an IP address.
func (a authority) issue(t *testing.T, name, ip string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(ip)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serve starts a server on 127.0.0.1 with a certificate for a name and an IP address, and returns its port.
func (a authority) serve(t *testing.T, name, ip string) string {
	t.Helper()
	return serve(t, `{"token": "ticket"}`, &tls.Config{Certificates: []tls.Certificate{a.issue(t, name, ip)}})
}

// serve starts a server that answers every request with the same text, and returns its port.
func serve(t *testing.T, answer string, c *tls.Config) (port string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(answer))
	}))
	server.TLS = c
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL[strings.LastIndex(server.URL, ":")+1:]
}

// serveChangeable is serve with a function that changes the authority of the certificate.
func (a authority) serveChangeable(t *testing.T, answer string) (port string, present func(authority)) {
	t.Helper()
	var current atomic.Pointer[tls.Certificate]
	present = func(a authority) {
		certificate := a.issue(t, "vc.test", "127.0.0.1")
		current.Store(&certificate)
	}
	present(a)
	return serve(t, answer, &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{*current.Load()}, MinVersion: tls.VersionTLS12}, nil
		},
	}), present
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A connection to an IP address sends no server name, so that its certificate has to be compared with the address.
func TestHostOfCertificateIsVerified(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	const other = "aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd"
	for name, tc := range map[string]struct {
		server, certificateName, certificateIP, thumbprint string
		accepted                                           bool
	}{
		"address of the certificate":                   {"127.0.0.1", "vc.test", "127.0.0.1", "", true},
		"address of the certificate, and a thumbprint": {"127.0.0.1", "vc.test", "127.0.0.1", other, true},
		"another address":                              {"127.0.0.1", "vc.test", "192.0.2.1", "", false},
		"another address, and a thumbprint":            {"127.0.0.1", "vc.test", "192.0.2.1", other, false},
		"name of the certificate, and a thumbprint":    {"localhost", "localhost", "192.0.2.1", other, true},
		"another name, and a thumbprint":               {"localhost", "vc.test", "127.0.0.1", other, false},
		"another name":                                 {"localhost", "vc.test", "127.0.0.1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := New(Options{VCenter: config.VCenter{Name: "vc", Server: tc.server, Port: a.serve(t, tc.certificateName,
				tc.certificateIP), CAFile: a.file, Thumbprint: tc.thumbprint}})
			if err := c.updateTransport(); err != nil {
				t.Fatal(err)
			}
			resp, err := c.http.Get(c.address("/", ""))
			if err == nil {
				_ = resp.Body.Close()
			}
			if accepted := err == nil; accepted != tc.accepted {
				t.Errorf("accepted: %t (%v), want %t", accepted, err, tc.accepted)
			}
		})
	}
}

// The thumbprint is that of the vCenter: a session manager has another host and another certificate.
func TestSessionManagerIsVerifiedByItsOwnHost(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for ip, accepted := range map[string]bool{"127.0.0.1": true, "192.0.2.1": false} {
		c := New(Options{VCenter: config.VCenter{Name: "vc", Server: "192.0.2.9", Port: "443", CAFile: a.file,
			Thumbprint: strings.Repeat("ab", 20)}})
		if err := c.updateTransport(); err != nil {
			t.Fatal(err)
		}
		_, err := c.cloneTicket(t.Context(), config.Credentials{
			SessionManagerURL: "https://127.0.0.1:" + a.serve(t, "manager.test", ip), SessionManagerToken: "token"})
		if (err == nil) != accepted {
			t.Errorf("certificate for %s: error %v, want accepted %t", ip, err, accepted)
		}
	}
}

// The certificate of a vCenter is replaced by one of another authority, and ca-file with it. The session is from
// before, and nobody can tell whether the vCenter still has it.
func TestChangedAuthorityIsUsedDuringSession(t *testing.T) {
	t.Parallel()
	first, second := newAuthority(t), newAuthority(t)
	port, present := first.serveChangeable(t, envelopeStart+`<FindAllByUuidResponse xmlns="urn:vim25"/>`+envelopeEnd)
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	copyFile(t, first.file, caFile)
	c := New(Options{VCenter: config.VCenter{Name: "vc", Server: "127.0.0.1", Port: port, CAFile: caFile},
		Retry: cloudapi.Retry{Attempts: 1}})
	if err := c.updateTransport(); err != nil {
		t.Fatal(err)
	}
	c.current = &session{cookie: "from before"}
	find := func() error { _, err := c.FindByUUID(t.Context(), "uuid"); return err }
	if err := find(); err != nil {
		t.Fatal(err)
	}
	present(second)
	c.http.CloseIdleConnections()
	if err := find(); err == nil {
		t.Fatal("a certificate of an unknown authority is accepted")
	}
	copyFile(t, second.file, caFile)
	if err := os.Chtimes(caFile, time.Time{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c.inventory.retryAt = time.Time{}
	if err := find(); err != nil {
		t.Errorf("with the other authority: %v", err)
	}
	// A file that is missing for a moment ends nothing.
	if err := os.Remove(caFile); err != nil {
		t.Fatal(err)
	}
	if err := find(); err != nil {
		t.Errorf("without the file: %v", err)
	}
}

// The certificate of an NSX-T manager is replaced by one of another authority.
func TestChangedAuthorityOfNSXTIsUsed(t *testing.T) {
	t.Parallel()
	first, second := newAuthority(t), newAuthority(t)
	port, present := first.serveChangeable(t, `{"results": []}`)
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	copyFile(t, first.file, caFile)
	p, err := NewPolicy(PolicyOptions{NSX: config.NSX{Host: "127.0.0.1:" + port, CAFile: caFile, User: "u", Password: "p"},
		Retry: cloudapi.Retry{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	list := func() error { _, err := p.List(t.Context(), api.LBPools); return err }
	if err := list(); err != nil {
		t.Fatal(err)
	}
	present(second)
	p.http.CloseIdleConnections()
	if err := list(); err == nil {
		t.Fatal("a certificate of an unknown authority is accepted")
	}
	copyFile(t, second.file, caFile)
	if err := os.Chtimes(caFile, time.Time{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := list(); err != nil {
		t.Errorf("with the other authority: %v", err)
	}
	if err := os.Remove(caFile); err != nil {
		t.Fatal(err)
	}
	if err := list(); err != nil {
		t.Errorf("without the file: %v", err)
	}
}
