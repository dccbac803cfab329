package client

import (
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

// tlsFiles identifies the file of certificate authorities in use.
type tlsFiles struct {
	known bool
	at    time.Time
	size  int64
}

// updateTransport builds the transport if the file of certificate authorities has changed, unless the caller of New
// provided it.
func (c *Client) updateTransport() error {
	if c.options.Transport != nil {
		return nil
	}
	stamp := tlsFiles{known: true}
	if name := c.options.VCenter.CAFile; name != "" {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("ca-file of vCenter %s: %w", c.Name(), err)
		}
		stamp.at, stamp.size = info.ModTime(), info.Size()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tls == stamp {
		return nil
	}
	settings, err := c.tlsConfig()
	if err != nil {
		return err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = settings
	t.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
	t.TLSHandshakeTimeout = connectTimeout
	t.IdleConnTimeout = idleTimeout
	c.base.Set(t)
	c.tls = stamp
	return nil
}

func (c *Client) tlsConfig() (*tls.Config, error) {
	v := c.options.VCenter
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: v.Insecure}
	if v.CAFile != "" {
		content, err := os.ReadFile(v.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca-file of vCenter %s: %w", v.Name, err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("ca-file of vCenter %s: %s has no certificate in PEM format", v.Name, v.CAFile)
		}
	}
	if v.Thumbprint != "" && !v.Insecure {
		// The standard verification is repeated in verify, which also accepts the pinned certificate.
		settings.InsecureSkipVerify = true
		settings.VerifyConnection = func(state tls.ConnectionState) error {
			return verify(state, settings.RootCAs, v.Thumbprint)
		}
	}
	return settings, nil
}

// verify accepts a certificate that an authority has signed, or that has the thumbprint.
func verify(state tls.ConnectionState, roots *x509.CertPool, thumbprint string) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the vCenter has sent no certificate")
	}
	leaf := state.PeerCertificates[0]
	if hasThumbprint(leaf.Raw, thumbprint) {
		return nil
	}
	options := x509.VerifyOptions{Roots: roots, DNSName: state.ServerName, Intermediates: x509.NewCertPool()}
	for _, one := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(one)
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
	short, long := sha1.Sum(certificate), sha256.Sum256(certificate) //nolint:gosec // as above
	return want == hex.EncodeToString(short[:]) || want == hex.EncodeToString(long[:])
}
