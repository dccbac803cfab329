package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

// world is a simulated cloud with a client.
type world struct {
	*simtest.Cloud
	client *Client
	api    *api.Clients
}

func newWorld(t *testing.T, o sim.Options) *world {
	t.Helper()
	cloud := simtest.New(t, o)
	w := &world{Cloud: cloud, client: New(Options{Global: readConfig(t, cloud.Config("request-timeout = 10\n")).Global, Transport: cloud.Front().Transport(), Clock: o.Clock})}
	w.api = api.New(w.client)
	return w
}

func TestEveryMethodAuthenticates(t *testing.T) {
	t.Parallel()
	cloud := simtest.New(t, sim.Options{})
	a := cloud.Account()
	first := New(Options{Global: readConfig(t, cloud.Config("request-timeout = 10\n")).Global, Transport: cloud.Front().Transport()})
	s, err := first.session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	password := config.Global{UserID: a.UserID, Password: commonconfig.Secret(a.Password), TenantID: a.ProjectID}
	for name, g := range map[string]config.Global{
		"password by IDs":              password,
		"password by names":            {Username: a.Username, Password: commonconfig.Secret(a.Password), TenantName: a.ProjectName, DomainName: a.DomainName},
		"application credential by ID": {ApplicationCredentialID: a.ApplicationCredentialID, ApplicationCredentialSecret: commonconfig.Secret(a.ApplicationCredentialSecret)},
		"application credential by name": {ApplicationCredentialName: a.ApplicationCredentialName, ApplicationCredentialSecret: commonconfig.Secret(a.ApplicationCredentialSecret),
			Username: a.Username, UserDomainID: a.DomainID},
		"token": {Token: commonconfig.Secret(s.provider.Token()), TenantID: a.ProjectID},
		"trust": {TrustID: a.TrustID, TrusteeID: a.TrusteeID, TrusteePassword: commonconfig.Secret(a.TrusteePassword)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g.AuthURL, g.Region = simtest.URL, a.Region
			c := New(Options{Global: g, Transport: cloud.Front().Transport()})
			if _, err := api.New(c).ListServers(t.Context(), ""); err != nil {
				t.Error(err)
			}
			s, err := c.session(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if token, _ := s.provider.GetAuthResult().(api.Token); token.ID == "" || token.ProjectID != a.ProjectID {
				t.Errorf("the token is for project %q, want %q", token.ProjectID, a.ProjectID)
			}
		})
	}
}

// The first use of every service costs the token and the call: no versions are discovered.
func TestEveryCatalogFormIsUsable(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sim.Options{
		"as usual": {}, "unversioned": {UnversionedCatalogue: true}, "versioned": {VersionedCatalogue: true}, "several regions": {OtherRegions: []string{"RegionZero"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o)
			_, err1 := w.api.ListServers(t.Context(), "")
			_, err2 := w.api.ListExtensions(t.Context())
			_, err3 := w.api.ListLoadBalancers(t.Context())
			versions, err4 := w.api.ListVersions(t.Context())
			err5 := w.api.CheckSecret(t.Context(), "none")
			if err := errors.Join(err1, err2, err3, err4); err != nil || !cloudapi.Is(err5, cloudapi.NotFound) {
				t.Errorf("%v, and for a secret that does not exist: %v", err, err5)
			}
			if len(versions) == 0 || !strings.HasPrefix(versions[0], "v2.") {
				t.Errorf("versions of Octavia are %q", versions)
			}
			w.WantCalls(6)
		})
	}
}

func TestMissingServiceFailsOnlyItsCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{Without: []string{api.LoadBalancing}})
	if _, err := w.api.ListServers(t.Context(), ""); err != nil {
		t.Error(err)
	}
	_, err := w.api.ListLoadBalancers(t.Context())
	if err == nil || !strings.Contains(err.Error(),
		"no public endpoint of the service load-balancer in region RegionOne") {
		t.Errorf("error %v, want one that names the service, the region and the kind of endpoint", err)
	}
}

func TestTokensAreRenewed(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := newWorld(t, sim.Options{Clock: c, TokenLife: time.Hour})
	call := func(step time.Duration, tokens int, why string) {
		t.Helper()
		c.Step(step)
		if _, err := w.api.ListServers(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		w.client.settle()
		if got := w.Front().Log().Count()["CreateToken"]; got != tokens {
			t.Errorf("%s: %d tokens so far, want %d (%v)", why, got, tokens, w.Front().Log().Count())
		}
	}
	call(0, 1, "the first call")
	call(50*time.Minute, 1, "well before the end")
	call(6*time.Minute, 2, "shortly before the end")
	call(30*time.Minute, 2, "the new token")
	w.EndTokens()
	call(0, 3, "a token that was revoked")
	call(2*time.Hour, 4, "after the end")
}

// settle waits until no token is being issued.
func (c *Client) settle() {
	for {
		c.mu.Lock()
		r := c.renewing
		c.mu.Unlock()
		if r == nil {
			return
		}
		<-r.done
	}
}

func TestConcurrentCallersShareOneToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := w.api.ListServers(t.Context(), ""); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := w.Front().Log().Count()["CreateToken"]; got != 1 {
		t.Errorf("%d tokens, want 1", got)
	}
}

func TestDeniedCredentialsAreRetriedAfterDelay(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := newWorld(t, sim.Options{Clock: c})
	w.client.global.ApplicationCredentialSecret = "wrong"
	for range 3 {
		_, err := w.api.ListServers(t.Context(), "")
		if !cloudapi.Is(err, cloudapi.Denied) || !strings.Contains(err.Error(),
			"check application-credential-id and application-credential-secret in section [Global]") {
			t.Errorf("error %v, want Denied and the keys to check", err)
		}
	}
	w.WantCalls(1)
	c.Step(deniedRetryAfter)
	if _, err := w.api.ListServers(t.Context(), ""); err == nil {
		t.Error("wrong credentials were accepted")
	}
	if w.Front().Log().Len() != 1 {
		t.Error("the credentials were not tried again after the pause")
	}
}

func TestCredentialsAreReloaded(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	cloud, err := sim.New(sim.Options{Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	a := cloud.Account()
	file := filepath.Join(t.TempDir(), "cloud.conf")
	write := func(password string) config.Config {
		content := "[Global]\nauth-url = " + simtest.URL + "\nuser-id = " + a.UserID + "\ntenant-id = " + a.ProjectID + "\npassword = " + password + "\n"
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := config.Read(file, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	cfg := write(a.Password)
	client := New(Options{Global: cfg.Global, ConfigFile: file, Transport: cloud.Front().Transport(), Clock: c})
	clients := api.New(client)
	if _, err := clients.ListServers(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	cloud.SetPassword("rotated-password")
	cloud.EndTokens()
	if _, err := clients.ListServers(t.Context(), ""); !cloudapi.Is(err, cloudapi.Denied) {
		t.Errorf("with the old password: %v, want Denied", err)
	}
	write("rotated-password")
	c.Step(reloadInterval)
	if _, err := clients.ListServers(t.Context(), ""); err != nil {
		t.Errorf("with the new password in the file: %v", err)
	}
	if err := os.WriteFile(file, []byte("[Global]\nnonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Step(reloadInterval)
	if _, err := clients.ListServers(t.Context(), ""); err != nil {
		t.Errorf("with an invalid file: %v, want the previous credentials", err)
	}
}

// A Keystone that does not answer must not hold up calls for longer than the time limit.
func TestAuthenticationTimesOut(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-block:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(block)
	g := config.Global{AuthURL: server.URL, UserID: "u", Password: "p", RequestTimeout: commonconfig.Duration{Duration: 50 * time.Millisecond}}
	c := New(Options{Global: g, Retry: cloudapi.Retry{Attempts: 1}})
	done := make(chan error, 1)
	go func() {
		_, err := api.New(c).ListServers(t.Context(), "")
		done <- err
	}()
	select {
	case err := <-done:
		if !cloudapi.Is(err, cloudapi.Unavailable) {
			t.Errorf("error %v, want Unavailable", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the call hangs")
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault kit.Fault
	}{
		{"an error of the service", kit.Fault{Operation: "ListServersDetailed", Kind: kit.FaultError}},
		{"a lost answer", kit.Fault{Operation: "ListServersDetailed", Kind: kit.FaultLostReply}},
		{"too many requests", kit.Fault{Operation: "ListServersDetailed", Kind: kit.FaultThrottle}},
		{"no token", kit.Fault{Operation: "CreateToken", Kind: kit.FaultError}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sim.Options{})
			w.Front().SetFaults(tt.fault)
			if _, err := w.api.ListServers(t.Context(), ""); err != nil {
				t.Errorf("a read is not retried: %v", err)
			}
			if w.Front().Injected() == 0 {
				t.Error("the fault was not injected")
			}
		})
	}
}

func TestSplitEndpoint(t *testing.T) {
	t.Parallel()
	type ends struct{ Root, Base string }
	for _, tt := range []struct {
		service, endpoint string
		want              ends
	}{
		{api.Network, "http://c:9696", ends{"http://c:9696/", "http://c:9696/v2.0/"}},
		{api.Network, "http://c:9696/v2.0/", ends{"http://c:9696/", "http://c:9696/v2.0/"}},
		{api.LoadBalancing, "https://c/load-balancer", ends{"https://c/load-balancer/", "https://c/load-balancer/v2.0/"}},
		{api.LoadBalancing, "https://c/load-balancer/v2.0/lbaas", ends{"https://c/load-balancer/", "https://c/load-balancer/v2.0/"}},
		{api.LoadBalancing, "https://c/v2", ends{"https://c/", "https://c/v2.0/"}},
		{api.Compute, "https://c:8774/v2.1/0123abcd", ends{"https://c:8774/", "https://c:8774/v2.1/0123abcd/"}},
		{api.Compute, "https://c/compute", ends{"https://c/compute/", "https://c/compute/v2.1/"}},
		{api.KeyManager, "https://v1.example.com/key-manager", ends{"https://v1.example.com/key-manager/",
			"https://v1.example.com/key-manager/v1/"}},
	} {
		root, base := splitEndpoint(tt.endpoint, serviceForms()[tt.service])
		if diff := cmp.Diff(tt.want, ends{root, base}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.endpoint, diff)
		}
	}
}

func TestKeystoneURL(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"https://k:5000": "https://k:5000/v3/", "https://k:5000/": "https://k:5000/v3/", "https://k/identity/v3/": "https://k/identity/v3/", "https://k:5000/v2.0": "https://k:5000/v3/",
	} {
		if got := keystoneURL(from); got != want {
			t.Errorf("keystoneURL(%q) = %q, want %q", from, got, want)
		}
	}
}

// An older Nova rejects the microversion, and works without it.
func TestMicroversionIsDisabledOnce(t *testing.T) {
	t.Parallel()
	s := &session{}
	if !s.disableMicroversion() || s.disableMicroversion() {
		t.Error("the microversion must be disabled once")
	}
}
