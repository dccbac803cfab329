package sdktest

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// The page "Application Credentials" of Keystone's user guide, section "Access Rules", and _path_matches of
// keystonemiddleware/auth_token: a request that no rule allows is 401, * and {name} match one segment, ** any characters.
// Only tokens of the application credential are restricted.
func TestAccessRulesOfApplicationCredentials(t *testing.T) {
	rules := []sim.AccessRule{
		{Service: "network", Method: "GET", Path: "/network/v2.0/networks/{id}"},
		{Service: "network", Method: "GET", Path: "/**/subnets"},
		{Service: "compute", Method: "GET", Path: "/**/networks"},
		{Service: "network", Method: "POST", Path: "/network/*/networks"},
	}
	cloud := newCloud(t, sim.Options{AccessRules: rules})
	a, places := cloud.Account(), cloud.Places()
	p, err := login(t, cloud, authURL, &gophercloud.AuthOptions{
		ApplicationCredentialID: a.ApplicationCredentialID, ApplicationCredentialSecret: a.ApplicationCredentialSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := clientsOf(t, cloud, a)
	restricted := *c.network
	restricted.ProviderClient = p
	if _, err := networks.Get(t.Context(), &restricted, places.PrivateNetwork).Extract(); err != nil {
		t.Errorf("a network, which a rule allows: %v", err)
	}
	if _, err := subnets.List(&restricted, subnets.ListOpts{}).AllPages(t.Context()); err != nil {
		t.Errorf("subnets, which a rule with ** allows: %v", err)
	}
	for name, err := range map[string]error{
		"a rule of another service or method": second(networks.List(&restricted, nil).AllPages(t.Context())),
		"a segment below the rule's path":     second(subnets.Get(t.Context(), &restricted, places.PrivateSubnet).Extract()),
	} {
		if !gophercloud.ResponseCodeIs(err, 401) {
			t.Errorf("%s: %v, want status 401", name, err)
		}
	}
	if unused := cloud.UnusedAccessRules(); len(unused) != 2 || unused[0] != rules[2] || unused[1] != rules[3] {
		t.Errorf("unused: %+v", unused)
	}
	if _, err := networks.List(c.network, nil).AllPages(t.Context()); err != nil {
		t.Errorf("a token by password: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
