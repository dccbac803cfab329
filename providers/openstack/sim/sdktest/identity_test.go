package sdktest

import (
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestAuthentication(t *testing.T) {
	cloud := newCloud(t, sim.Options{})
	a := cloud.Account()
	first, err := login(t, cloud, authURL, password(a))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, url string
		options   tokens.AuthOptionsBuilder
		status    int
	}{
		{"password by names", authURL, password(a), 0},
		{"password by IDs", authURL, &gophercloud.AuthOptions{UserID: a.UserID, Password: a.Password, TenantID: a.ProjectID}, 0},
		{"version discovery", "http://openstack.invalid/identity", password(a), 0},
		{"wrong password", authURL, &gophercloud.AuthOptions{UserID: a.UserID, Password: "x", TenantID: a.ProjectID}, 401},
		{"someone else's project", authURL, &gophercloud.AuthOptions{UserID: a.UserID, Password: a.Password, TenantID: cloud.OtherAccount().ProjectID}, 401},
		{"application credential", authURL, &gophercloud.AuthOptions{ApplicationCredentialID: a.ApplicationCredentialID, ApplicationCredentialSecret: a.ApplicationCredentialSecret}, 0},
		{"application credential by name", authURL, &gophercloud.AuthOptions{ApplicationCredentialName: a.ApplicationCredentialName,
			ApplicationCredentialSecret: a.ApplicationCredentialSecret, Username: a.Username, DomainID: a.DomainID}, 0},
		{"wrong application credential", authURL, &gophercloud.AuthOptions{ApplicationCredentialID: a.ApplicationCredentialID, ApplicationCredentialSecret: "x"}, 401},
		{"token", authURL, &gophercloud.AuthOptions{TokenID: first.Token(), TenantID: a.ProjectID}, 0},
		{"unknown token", authURL, &gophercloud.AuthOptions{TokenID: "x", TenantID: a.ProjectID}, 401},
		{"trust", authURL, &tokens.AuthOptions{UserID: a.TrusteeID, Password: a.TrusteePassword, Scope: tokens.Scope{TrustID: a.TrustID}}, 0},
		{"trust of a user that is no trustee", authURL, &tokens.AuthOptions{UserID: a.UserID, Password: a.Password, Scope: tokens.Scope{TrustID: a.TrustID}}, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := login(t, cloud, tc.url, tc.options)
			if tc.status != 0 {
				wantStatus(t, err, tc.status, "")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			n := must(openstack.NewNetworkV2(p, gophercloud.EndpointOpts{Region: a.Region}))(t)
			if got := all(t, ports.List(n, ports.ListOpts{}), ports.ExtractPorts); len(got) != 1 ||
				got[0].ProjectID != a.ProjectID {
				t.Errorf("sees ports %+v", got)
			}
		})
	}
}

func TestCatalogue(t *testing.T) {
	for name, o := range map[string]sim.Options{
		"as usual": {}, "unversioned": {UnversionedCatalogue: true}, "other regions": {OtherRegions: []string{"RegionTwo"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClients(t, o)
			c.cloud.Front().Log().Reset()
			all(t, ports.List(c.network, nil), ports.ExtractPorts)
			if name != "unversioned" { // gophercloud takes Nova's URL as it is.
				all(t, servers.List(c.compute, nil), servers.ExtractServers)
			}
		})
	}
	c := newCloud(t, sim.Options{Without: []string{"load-balancer"}})
	p, err := login(t, c, authURL, password(c.Account()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openstack.NewLoadBalancerV2(p, gophercloud.EndpointOpts{}); err == nil {
		t.Error("there is an Octavia")
	}
}

func TestExpiredTokenIsRejected(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	c := newClients(t, sim.Options{Clock: clock, TokenLife: time.Hour})
	list := func() map[string]int {
		c.cloud.Front().Log().Reset()
		all(t, ports.List(c.network, nil), ports.ExtractPorts)
		return c.cloud.Front().Log().Count()
	}
	if n := list(); n["CreateToken"] != 0 {
		t.Errorf("%v", n)
	}
	clock.Step(time.Hour)
	if n := list(); n["CreateToken"] != 1 || n["ListPorts"] != 2 {
		t.Errorf("after an hour: %v", n)
	}
	c.cloud.EndTokens()
	if n := list(); n["CreateToken"] != 1 || n["ListPorts"] != 2 {
		t.Errorf("after the end of tokens: %v", n)
	}
	c.cloud.EndTokensAfter(1)
	if n := list(); n["CreateToken"] != 0 {
		t.Errorf("the last call of tokens: %v", n)
	}
	if n := list(); n["CreateToken"] != 1 {
		t.Errorf("after the last call of tokens: %v", n)
	}
	c.cloud.EndTokens()
	c.cloud.SetPassword("new")
	_, err := ports.List(c.network, nil).AllPages(t.Context())
	if err == nil {
		t.Error("the old password is still good")
	}
}
