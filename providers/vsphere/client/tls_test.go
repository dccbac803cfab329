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
	"testing"
	"time"

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

// serve starts a server on 127.0.0.1 with a certificate for a name and an IP address, and returns its port.
func (a authority) serve(t *testing.T, name, ip string) string {
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
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"token": "ticket"}`))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL[strings.LastIndex(server.URL, ":")+1:]
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
