package realservices

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"path"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

var _ world.Certificates = (*Cloud)(nil)

// referenceRoot begins the references to certificates. Barbican's client uses only the ID in a reference, and
// Octavia returns the reference that it got. The URL of Barbican would not do: the proxy replaces it in Octavia's
// responses, and the manager would see another certificate than the Service has.
const referenceRoot = "http://barbican.invalid/v1/containers/"

// The lists of Barbican: secrets are parts of containers.
const (
	secretsPath    = "key-manager/secrets"
	containersPath = "key-manager/containers"
)

// Certificate implements world.Certificates: it stores a container with a self-signed certificate in Barbican. After
// an error it returns an invalid reference with the error, so that a check fails with it.
func (c *Cloud) Certificate() string {
	ctx, cancel := withTimeout()
	defer cancel()
	id, err := c.createCertificate(ctx)
	if err != nil {
		return "creating a certificate: " + err.Error()
	}
	return referenceRoot + id
}

// createCertificate returns the ID of the container.
func (c *Cloud) createCertificate(ctx context.Context) (id string, err error) {
	certificate, key, err := selfSigned()
	if err != nil {
		return "", err
	}
	certificateRef, err := c.createSecret(ctx, "certificate", certificate)
	if err != nil {
		return "", err
	}
	keyRef, err := c.createSecret(ctx, "private_key", key)
	if err != nil {
		return "", err
	}
	var out stored
	err = c.tenant.call(ctx, "POST "+containersPath, object{
		"name": "web", "type": "certificate", "secret_refs": []object{
			{"name": "certificate", "secret_ref": certificateRef}, {"name": "private_key", "secret_ref": keyRef},
		},
	}, &out)
	return path.Base(out.Container), err
}

// createSecret returns the reference of a secret with a text.
func (c *Cloud) createSecret(ctx context.Context, name string, content []byte) (ref string, err error) {
	var out stored
	err = c.tenant.call(ctx, "POST "+secretsPath, object{
		"name": name, "payload": string(content), "payload_content_type": "text/plain",
	}, &out)
	return out.Secret, err
}

// stored is an object of Barbican, which has one of the references.
type stored struct {
	Container string `json:"container_ref"`
	Secret    string `json:"secret_ref"`
}

// removeCertificates deletes the project's containers, then its secrets. Barbican keeps both when the project is
// deleted.
func (c *Cloud) removeCertificates(ctx context.Context) error {
	var errs []error
	for _, kind := range []string{containersPath, secretsPath} {
		objects, err := list[stored](ctx, c.tenant, kind)
		errs = append(errs, err)
		for _, o := range objects {
			errs = append(errs, c.tenant.remove(ctx, kind+"/"+path.Base(o.Container+o.Secret)))
		}
	}
	return errors.Join(errs...)
}

// selfSigned returns a certificate and its key in PEM format.
func selfSigned() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "web.example.org"}, DNSNames: []string{"web.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
}
