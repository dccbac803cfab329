// Package sdktest runs the clients of gophercloud against the simulator.
package sdktest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

const authURL = "http://openstack.invalid/identity/v3"

// clients are gophercloud's, in process with a cloud.
type clients struct {
	cloud    *sim.Cloud
	provider *gophercloud.ProviderClient
	compute  *gophercloud.ServiceClient
	network  *gophercloud.ServiceClient
	balancer *gophercloud.ServiceClient
	secrets  *gophercloud.ServiceClient
}

func newCloud(t *testing.T, o sim.Options) *sim.Cloud {
	t.Helper()
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// login authenticates in process.
func login(
	t *testing.T, cloud *sim.Cloud, url string, o tokens.AuthOptionsBuilder,
) (*gophercloud.ProviderClient, error) {
	t.Helper()
	p, err := openstack.NewClient(url)
	if err != nil {
		t.Fatal(err)
	}
	p.HTTPClient = http.Client{Transport: cloud.Front().Transport()}
	return p, openstack.AuthenticateV3(t.Context(), p, o, gophercloud.EndpointOpts{})
}

func password(a sim.Account) *gophercloud.AuthOptions {
	return &gophercloud.AuthOptions{
		Username: a.Username, Password: a.Password, DomainName: a.DomainName, TenantName: a.ProjectName, AllowReauth: true,
	}
}

// newClients returns those of the manager's user.
func newClients(t *testing.T, o sim.Options) *clients {
	t.Helper()
	cloud := newCloud(t, o)
	return clientsOf(t, cloud, cloud.Account())
}

func clientsOf(t *testing.T, cloud *sim.Cloud, a sim.Account) *clients {
	t.Helper()
	p, err := login(t, cloud, authURL, password(a))
	if err != nil {
		t.Fatal(err)
	}
	eo := gophercloud.EndpointOpts{Region: a.Region}
	return &clients{
		cloud: cloud, provider: p, compute: must(openstack.NewComputeV2(p, eo))(t),
		network:  must(openstack.NewNetworkV2(p, eo))(t),
		balancer: must(openstack.NewLoadBalancerV2(p, eo))(t), secrets: must(openstack.NewKeyManagerV1(p, eo))(t),
	}
}

func (c *clients) launch(t *testing.T, machines ...world.Machine) {
	t.Helper()
	for _, m := range machines {
		if _, err := c.cloud.Launch(m); err != nil {
			t.Fatal(err)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// must returns the value of a call that has to succeed.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// all returns every element of a list, over all its pages.
func all[T any](t *testing.T, p pagination.Pager, extract func(pagination.Page) ([]T, error)) []T {
	t.Helper()
	var out []T
	err := p.EachPage(t.Context(), func(_ context.Context, page pagination.Page) (bool, error) {
		list, err := extract(page)
		out = append(out, list...)
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wantStatus fails unless the error is an answer with the status and a text.
func wantStatus(t *testing.T, err error, status int, text string) {
	t.Helper()
	var unexpected gophercloud.ErrUnexpectedResponseCode
	switch {
	case !errors.As(err, &unexpected):
		t.Errorf("error %v, want status %d", err, status)
	case unexpected.Actual != status || !strings.Contains(string(unexpected.Body), text):
		t.Errorf("status %d with %s, want %d with %q", unexpected.Actual, unexpected.Body, status, text)
	}
}
