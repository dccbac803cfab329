package openstack

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
)

// method is how a manager says who it is.
type method int

const (
	methodNone method = iota
	methodPassword
	methodApplicationCredential
	methodToken
	methodTrust
)

// method returns how the section authenticates.
func (g Global) method() method {
	switch {
	case g.TrustID != "":
		return methodTrust
	case g.ApplicationCredentialID != "" || g.ApplicationCredentialName != "" || g.ApplicationCredentialSecret != "":
		return methodApplicationCredential
	case g.Token != "":
		return methodToken
	case g.Username != "" || g.UserID != "" || g.Password != "":
		return methodPassword
	}
	return methodNone
}

// report takes a problem with a key of the section.
type report func(key, format string, args ...any)

// validateCredentials checks that the section is enough to authenticate with, by one method.
func (g Global) validateCredentials(report report) {
	if g.AuthURL == "" {
		report("auth-url", "is missing: write the URL of Keystone, such as https://keystone.example.com:5000/v3")
	}
	switch g.method() {
	case methodNone:
		report("", "has no credentials: give username (or user-id) and password, or application-credential-id and application-credential-secret")
	case methodPassword:
		g.validateUser(report, "username", "password")
		if g.Password == "" {
			report("password", "is missing for the user")
		}
		g.validateScope(report)
	case methodApplicationCredential:
		g.validateApplicationCredential(report)
	case methodToken:
		if !g.hasProject() {
			report("token", "needs the project that it is for: give tenant-id, or tenant-name and its domain")
		}
		g.validateScope(report)
	case methodTrust:
		g.validateTrust(report)
	}
}

func (g Global) validateUser(report report, key, secret string) {
	switch {
	case g.UserID == "" && g.Username == "":
		report(secret, "is given without username or user-id")
	case g.UserID == "" && g.userDomain() == (domain{}):
		report(key, "needs the user's domain: give user-domain-name, or domain-name for user and project")
	}
}

func (g Global) validateScope(report report) {
	if g.TenantName != "" && g.TenantID == "" && g.projectDomain() == (domain{}) {
		report("tenant-name", "needs the project's domain: give tenant-domain-name, or domain-name for user and project")
	}
}

func (g Global) validateApplicationCredential(report report) {
	if g.ApplicationCredentialSecret == "" {
		report("application-credential-secret", "is missing for the application credential")
	}
	switch {
	case g.ApplicationCredentialID != "":
	case g.ApplicationCredentialName == "":
		report("application-credential-secret", "is given without application-credential-id")
	default:
		g.validateUser(report, "application-credential-name", "application-credential-name")
	}
}

func (g Global) validateTrust(report report) {
	if g.Token != "" {
		report("token", "does not go with trust-id: a trust is used by the trustee's password")
	}
	if g.TrusteeID == "" {
		g.validateUser(report, "username", "trust-id")
	}
	if g.Password == "" && g.TrusteePassword == "" {
		report("trust-id", "needs the trustee's password: give password, or trustee-id and trustee-password")
	}
}

// domain names a domain by ID or by name.
type domain struct{ id, name string }

func (g Global) hasProject() bool { return g.TenantID != "" || g.TenantName != "" }

// userDomain is the user's own, else the one for everything. Without a project the latter is what
// the user asks to work on, and is the user's domain as well.
func (g Global) userDomain() domain {
	if g.UserDomainID != "" || g.UserDomainName != "" {
		return domain{g.UserDomainID, g.UserDomainName}
	}
	return domain{g.DomainID, g.DomainName}
}

func (g Global) projectDomain() domain {
	if g.TenantDomainID != "" || g.TenantDomainName != "" {
		return domain{g.TenantDomainID, g.TenantDomainName}
	}
	return domain{g.DomainID, g.DomainName}
}

// authOptions are the credentials in the words of the SDK, which never renews a token by itself: that
// is our session's business.
func (g Global) authOptions() gophercloud.AuthOptions {
	o := gophercloud.AuthOptions{IdentityEndpoint: g.AuthURL}
	switch g.method() {
	case methodPassword:
		g.setUser(&o)
		o.Password = g.Password.Reveal()
		o.Scope = g.scope()
	case methodApplicationCredential:
		o.ApplicationCredentialID, o.ApplicationCredentialSecret = g.ApplicationCredentialID, g.ApplicationCredentialSecret.Reveal()
		if o.ApplicationCredentialID == "" {
			o.ApplicationCredentialName = g.ApplicationCredentialName
			g.setUser(&o)
		}
	case methodToken:
		o.TokenID = g.Token.Reveal()
		o.Scope = g.scope()
	case methodTrust:
		if g.TrusteeID != "" {
			g.UserID = g.TrusteeID
		}
		if g.TrusteePassword != "" {
			g.Password = g.TrusteePassword
		}
		g.setUser(&o)
		o.Password = g.Password.Reveal()
		o.Scope = &gophercloud.AuthScope{TrustID: g.TrustID}
	case methodNone:
	}
	return o
}

func (g Global) setUser(o *gophercloud.AuthOptions) {
	if g.UserID != "" {
		// Keystone refuses a domain beside an ID.
		o.UserID = g.UserID
		return
	}
	o.Username = g.Username
	d := g.userDomain()
	if o.DomainID = d.id; d.id == "" {
		o.DomainName = d.name
	}
}

// scope is what the token shall be good for: a project, a domain, or the user's default project.
func (g Global) scope() *gophercloud.AuthScope {
	d := g.projectDomain()
	if d.id != "" {
		d.name = ""
	}
	switch {
	case g.TenantID != "":
		return &gophercloud.AuthScope{ProjectID: g.TenantID}
	case g.TenantName != "":
		return &gophercloud.AuthScope{ProjectName: g.TenantName, DomainID: d.id, DomainName: d.name}
	case g.DomainID != "":
		return &gophercloud.AuthScope{DomainID: g.DomainID}
	case g.DomainName != "":
		return &gophercloud.AuthScope{DomainName: g.DomainName}
	}
	return nil
}

// availability is which of its endpoints a service is called at.
func (g Global) availability() gophercloud.Availability {
	switch strings.TrimSuffix(g.EndpointType, suffixURL) {
	case endpointInternal:
		return gophercloud.AvailabilityInternal
	case endpointAdmin:
		return gophercloud.AvailabilityAdmin
	}
	return gophercloud.AvailabilityPublic
}

// tlsConfig reads the certificates that the section names; nil is Go's default.
func (g Global) tlsConfig() (*tls.Config, error) {
	if g.CAFile == "" && g.CertFile == "" && g.TLSInsecure != insecureYes {
		return nil, nil //nolint:nilnil // nil is what http.Transport takes for its default
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: g.TLSInsecure == insecureYes} //nolint:gosec // the user's choice, with a warning
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

// files are the files that the credentials depend on, beside the configuration itself.
func (g Global) files() []string {
	var out []string
	for _, name := range []string{g.CAFile, g.CertFile, g.KeyFile} {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// complete returns the section with what clouds.yaml adds to it, and all files that were read. An
// error names every key that is missing.
func (g Global) complete() (Global, []string, error) {
	var read []string
	if g.UseClouds || g.Cloud != "" {
		entry, files, err := readClouds(g)
		read = append(read, files...)
		if err != nil {
			return g, read, err
		}
		g = g.fill(entry)
	}
	var problems []error
	g.validateCredentials(func(key, format string, args ...any) {
		problems = append(problems, fmt.Errorf("[%s] %s %s", sectionGlobal, key, fmt.Sprintf(format, args...)))
	})
	return g, append(read, g.files()...), errors.Join(problems...)
}
