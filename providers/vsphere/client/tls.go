package client

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // the format of thumbprints that vSphere shows
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	// connectTimeout bounds a connection and its TLS handshake each.
	connectTimeout = 10 * time.Second
	idleTimeout    = 90 * time.Second
)

// fileStamp identifies the state of a file in use.
type fileStamp struct {
	loaded  bool
	modTime time.Time
	size    int64
}

// stampOf returns the state of a file; "" is no file.
func stampOf(name string) fileStamp {
	stamp := fileStamp{loaded: true}
	if info, err := os.Stat(name); err == nil {
		stamp.modTime, stamp.size = info.ModTime(), info.Size()
	}
	return stamp
}

// tlsSettings are the TLS settings of a server. The owner is for messages.
type tlsSettings struct {
	owner             string
	insecure          bool
	caFile            string
	certFile, keyFile string
	// thumbprint is that of the certificate of host, which is a name or an IP address; "" for none.
	thumbprint, host string
}

// transport returns a transport with timeouts.
func (s tlsSettings) transport() (*http.Transport, error) {
	settings, err := s.config()
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = settings
	t.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
	t.TLSHandshakeTimeout = connectTimeout
	t.IdleConnTimeout = idleTimeout
	return t, nil
}

func (s tlsSettings) config() (*tls.Config, error) {
	//nolint:gosec // insecure-flag is the user's choice, with a warning
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.insecure}
	if s.caFile != "" {
		content, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, fmt.Errorf("ca-file of %s: %w", s.owner, err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("ca-file of %s: %s has no certificate in PEM format", s.owner, s.caFile)
		}
	}
	if s.certFile != "" {
		pair, err := tls.LoadX509KeyPair(s.certFile, s.keyFile)
		if err != nil {
			return nil, fmt.Errorf("client-auth-cert-file and client-auth-key-file of %s: %w", s.owner, err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	if s.thumbprint != "" && !s.insecure {
		// The standard verification is repeated in verifyCertificate, which also accepts the pinned certificate.
		settings.InsecureSkipVerify = true
		settings.VerifyConnection = func(state tls.ConnectionState) error {
			return verifyCertificate(state, settings.RootCAs, s.thumbprint, s.host)
		}
	}
	return settings, nil
}

// verifyCertificate accepts a certificate that an authority has signed for the host, or that has the thumbprint. A
// connection to an IP address has no server name: without the host, every certificate of the authority would be valid
// for it.
func verifyCertificate(state tls.ConnectionState, roots *x509.CertPool, thumbprint, host string) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the vCenter has sent no certificate")
	}
	leaf := state.PeerCertificates[0]
	if hasThumbprint(leaf.Raw, thumbprint) {
		return nil
	}
	options := x509.VerifyOptions{Roots: roots, DNSName: cmp.Or(state.ServerName, host), Intermediates: x509.NewCertPool()}
	for _, intermediate := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(intermediate)
	}
	if _, err := leaf.Verify(options); err != nil {
		return fmt.Errorf("the certificate has another thumbprint than the configured one: %w", err)
	}
	return nil
}

// hasThumbprint reports whether a certificate has a thumbprint: the SHA-1 or SHA-256 digest in hexadecimal, with or
// without colons.
func hasThumbprint(certificate []byte, thumbprint string) bool {
	want := strings.ToLower(strings.ReplaceAll(thumbprint, ":", ""))
	sha1Sum, sha256Sum := sha1.Sum(certificate), sha256.Sum256(certificate) //nolint:gosec // as above
	return want == hex.EncodeToString(sha1Sum[:]) || want == hex.EncodeToString(sha256Sum[:])
}
