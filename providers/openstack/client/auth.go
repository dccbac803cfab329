package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
)

// AuthOptions converts the credentials for gophercloud, which never renews a token by itself: the session
// does.
func AuthOptions(g config.Global) gophercloud.AuthOptions {
	o := gophercloud.AuthOptions{IdentityEndpoint: g.AuthURL}
	switch g.Method() {
	case config.MethodPassword:
		setUser(&o, g)
		o.Password = g.Password.Reveal()
		o.Scope = scope(g)
	case config.MethodApplicationCredential:
		o.ApplicationCredentialID = g.ApplicationCredentialID
		o.ApplicationCredentialSecret = g.ApplicationCredentialSecret.Reveal()
		if o.ApplicationCredentialID == "" {
			o.ApplicationCredentialName = g.ApplicationCredentialName
			setUser(&o, g)
		}
	case config.MethodToken:
		o.TokenID = g.Token.Reveal()
		o.Scope = scope(g)
	case config.MethodTrust:
		if g.TrusteeID != "" {
			g.UserID = g.TrusteeID
		}
		if g.TrusteePassword != "" {
			g.Password = g.TrusteePassword
		}
		setUser(&o, g)
		o.Password = g.Password.Reveal()
		o.Scope = &gophercloud.AuthScope{TrustID: g.TrustID}
	case config.MethodNone:
	}
	return o
}

func setUser(o *gophercloud.AuthOptions, g config.Global) {
	if g.UserID != "" {
		// Keystone rejects a domain beside a user ID.
		o.UserID = g.UserID
		return
	}
	o.Username = g.Username
	d := g.UserDomain()
	if o.DomainID = d.ID; d.ID == "" {
		o.DomainName = d.Name
	}
}

// scope returns the scope of the token: a project, a domain, or nil for the user's default project.
func scope(g config.Global) *gophercloud.AuthScope {
	d := g.ProjectDomain()
	if d.ID != "" {
		d.Name = ""
	}
	switch {
	case g.TenantID != "":
		return &gophercloud.AuthScope{ProjectID: g.TenantID}
	case g.TenantName != "":
		return &gophercloud.AuthScope{ProjectName: g.TenantName, DomainID: d.ID, DomainName: d.Name}
	case g.DomainID != "":
		return &gophercloud.AuthScope{DomainID: g.DomainID}
	case g.DomainName != "":
		return &gophercloud.AuthScope{DomainName: g.DomainName}
	}
	return nil
}

// availability returns the endpoint interface that services are called at.
func availability(g config.Global) gophercloud.Availability {
	switch a := gophercloud.Availability(g.Interface()); a {
	case gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin:
		return a
	default:
		return gophercloud.AvailabilityPublic
	}
}

// newTLSConfig reads the certificates that the section references. It returns nil for Go's default.
func newTLSConfig(g config.Global) (*tls.Config, error) {
	if g.CAFile == "" && g.CertFile == "" && !g.Insecure() {
		return nil, nil //nolint:nilnil // http.Transport uses its default for nil
	}
	c := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: g.Insecure(), //nolint:gosec // the user's choice, with a warning
	}
	if g.CAFile != "" {
		pem, err := os.ReadFile(g.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca-file in section [Global]: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca-file in section [Global]: %s has no certificate in PEM form", g.CAFile)
		}
	}
	if g.CertFile != "" && g.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(g.CertFile, g.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("cert-file and key-file in section [Global]: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
