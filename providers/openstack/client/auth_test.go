package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
)

// readConfig reads a valid configuration.
func readConfig(t *testing.T, content string) config.Config {
	t.Helper()
	cfg, _, err := config.Read("cloud.conf", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// readGlobal reads the section [Global] of a valid configuration.
func readGlobal(t *testing.T, content string) config.Global {
	t.Helper()
	return readConfig(t, content).Global
}

func TestAuthOptions(t *testing.T) {
	t.Parallel()
	const url = "[Global]\nauth-url = https://k.example.com\n"
	for _, tt := range []struct {
		name, content string
		want          gophercloud.AuthOptions
	}{
		{"password", "username = u\npassword = p\ntenant-name = t\ndomain-name = Default\n", gophercloud.AuthOptions{
			Username: "u", Password: "p", DomainName: "Default", Scope: &gophercloud.AuthScope{ProjectName: "t", DomainName: "Default"}}},
		{"password, by IDs", "user-id = u\npassword = p\ntenant-id = t\ndomain-name = Default\n", gophercloud.AuthOptions{
			UserID: "u", Password: "p", Scope: &gophercloud.AuthScope{ProjectID: "t"}}},
		{"password, two domains",
			"username = u\npassword = p\ntenant-name = t\nuser-domain-id = a\ntenant-domain-id = " +
				"b\n", gophercloud.AuthOptions{
				Username: "u", Password: "p", DomainID: "a", Scope: &gophercloud.AuthScope{ProjectName: "t", DomainID: "b"}}},
		{"password, for a domain", "user-id = u\npassword = p\ndomain-name = d\n", gophercloud.AuthOptions{
			UserID: "u", Password: "p", Scope: &gophercloud.AuthScope{DomainName: "d"}}},
		{"application credential",
			"application-credential-id = i\napplication-credential-secret = s\ntenant-id = t\n", gophercloud.AuthOptions{
				ApplicationCredentialID: "i", ApplicationCredentialSecret: "s"}},
		{"application credential, by name",
			"application-credential-name = n\napplication-credential-secret = s\nusername = " +
				"u\ndomain-id = d\n", gophercloud.AuthOptions{
				ApplicationCredentialName: "n", ApplicationCredentialSecret: "s", Username: "u", DomainID: "d"}},
		{"token", "token = k\ntenant-id = t\n", gophercloud.AuthOptions{TokenID: "k", Scope: &gophercloud.AuthScope{ProjectID: "t"}}},
		{"trust",
			"trust-id = x\nuser-id = u\npassword = p\n", gophercloud.AuthOptions{UserID: "u", Password: "p", Scope: &gophercloud.AuthScope{TrustID: "x"}}},
		{"trust, with a trustee",
			"trust-id = x\nuser-id = u\npassword = p\ntrustee-id = v\ntrustee-password = q\n", gophercloud.AuthOptions{
				UserID: "v", Password: "q", Scope: &gophercloud.AuthScope{TrustID: "x"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want.IdentityEndpoint = "https://k.example.com"
			if diff := cmp.Diff(tt.want, AuthOptions(readGlobal(t, url+tt.content))); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}
