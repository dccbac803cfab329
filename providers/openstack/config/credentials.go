package config

import (
	"slices"
	"strings"
)

// Method is a way to authenticate.
type Method int

// The methods, by what the section contains.
const (
	MethodNone Method = iota
	MethodPassword
	MethodApplicationCredential
	MethodToken
	MethodTrust
)

// Method returns how the section authenticates.
func (g Global) Method() Method {
	switch {
	case g.TrustID != "":
		return MethodTrust
	case g.ApplicationCredentialID != "" || g.ApplicationCredentialName != "" || g.ApplicationCredentialSecret != "":
		return MethodApplicationCredential
	case g.Token != "":
		return MethodToken
	case g.Username != "" || g.UserID != "" || g.Password != "":
		return MethodPassword
	}
	return MethodNone
}

// reportFunc records a problem with a key of the section.
type reportFunc func(key, format string, args ...any)

// validateCredentials checks that the section is enough to authenticate with, by one method.
func (g Global) validateCredentials(report reportFunc) {
	if g.AuthURL == "" {
		report("auth-url", "is missing: write the URL of Keystone, such as https://keystone.example.com:5000/v3")
	}
	switch g.Method() {
	case MethodNone:
		report("",
			"has no credentials: give username (or user-id) and password, or application-credential-id and "+
				"application-credential-secret")
	case MethodPassword:
		g.validateUser(report, "username", "password")
		if g.Password == "" {
			report("password", "is missing for the user")
		}
		g.validateScope(report)
	case MethodApplicationCredential:
		g.validateApplicationCredential(report)
	case MethodToken:
		if !g.hasProject() {
			report("token", "needs the project that it is for: give tenant-id, or tenant-name and its domain")
		}
		g.validateScope(report)
	case MethodTrust:
		g.validateTrust(report)
	}
}

func (g Global) validateUser(report reportFunc, key, secret string) {
	switch {
	case g.UserID == "" && g.Username == "":
		report(secret, "is given without username or user-id")
	case g.UserID == "" && g.UserDomain() == (Domain{}):
		report(key, "needs the user's domain: give user-domain-name, or domain-name for user and project")
	}
}

func (g Global) validateScope(report reportFunc) {
	if g.TenantName != "" && g.TenantID == "" && g.ProjectDomain() == (Domain{}) {
		report("tenant-name", "needs the project's domain: give tenant-domain-name, or domain-name for user and project")
	}
}

func (g Global) validateApplicationCredential(report reportFunc) {
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

func (g Global) validateTrust(report reportFunc) {
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

// Domain references a domain by ID or by name.
type Domain struct{ ID, Name string }

func (g Global) hasProject() bool { return g.TenantID != "" || g.TenantName != "" }

// UserDomain returns the user's own domain, else the one for everything. Without a project the latter is
// the scope of the token, and is the user's domain as well.
func (g Global) UserDomain() Domain {
	if g.UserDomainID != "" || g.UserDomainName != "" {
		return Domain{g.UserDomainID, g.UserDomainName}
	}
	return Domain{g.DomainID, g.DomainName}
}

// ProjectDomain returns the project's own domain, else the one for everything.
func (g Global) ProjectDomain() Domain {
	if g.TenantDomainID != "" || g.TenantDomainName != "" {
		return Domain{g.TenantDomainID, g.TenantDomainName}
	}
	return Domain{g.DomainID, g.DomainName}
}

// Interface returns the endpoint interface that services are called at; "" if the section has none.
func (g Global) Interface() string { return strings.TrimSuffix(g.EndpointType, suffixURL) }

// Insecure reports whether certificates are not verified.
func (g Global) Insecure() bool { return g.TLSInsecure == insecureTrue }

// Files returns the TLS files that the section references.
func (g Global) Files() []string {
	return slices.DeleteFunc([]string{g.CAFile, g.CertFile, g.KeyFile}, func(name string) bool { return name == "" })
}

// Secrets returns the credentials that must not be printed.
func (g Global) Secrets() []string {
	return []string{
		g.Password.Reveal(), g.TrusteePassword.Reveal(), g.ApplicationCredentialSecret.Reveal(), g.Token.Reveal(),
	}
}
