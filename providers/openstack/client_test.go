package openstack

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
	"github.com/unified-ccm/unified-ccm/pkg/common/config"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestEveryMethodAuthenticates(t *testing.T) {
	t.Parallel()
	cloud, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := cloud.Account()
	first := newClient(clientOptions{Global: accountGlobal(cloud), Transport: cloud.Front().Transport()})
	s, err := first.session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	password := Global{UserID: a.UserID, Password: config.Secret(a.Password), TenantID: a.ProjectID}
	for name, g := range map[string]Global{
		"password by IDs":              password,
		"password by names":            {Username: a.Username, Password: config.Secret(a.Password), TenantName: a.ProjectName, DomainName: a.DomainName},
		"application credential by ID": {ApplicationCredentialID: a.ApplicationCredentialID, ApplicationCredentialSecret: config.Secret(a.ApplicationCredentialSecret)},
		"application credential by name": {ApplicationCredentialName: a.ApplicationCredentialName, ApplicationCredentialSecret: config.Secret(a.ApplicationCredentialSecret),
			Username: a.Username, UserDomainID: a.DomainID},
		"token": {Token: config.Secret(s.provider.Token()), TenantID: a.ProjectID},
		"trust": {TrustID: a.TrustID, TrusteeID: a.TrusteeID, TrusteePassword: config.Secret(a.TrusteePassword)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g.AuthURL, g.Region = simURL, a.Region
			c := api.New(newClient(clientOptions{Global: g, Transport: cloud.Front().Transport()}))
			if _, err := c.ListServers(t.Context(), ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// The first use of every service costs the token and the call: no service is asked for its versions.
func TestCatalogueForms(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sim.Options{
		"as usual": {}, "unversioned": {UnversionedCatalogue: true}, "versioned": {VersionedCatalogue: true}, "several regions": {OtherRegions: []string{"RegionZero"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNodeWorld(t, o, Networking{})
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
			w.wantCalls(6)
		})
	}
}

func TestAMissingServiceFailsOnlyWhatNeedsIt(t *testing.T) {
	t.Parallel()
	w := newNodeWorld(t, sim.Options{Without: []string{api.LoadBalancing}}, Networking{})
	if _, err := w.api.ListServers(t.Context(), ""); err != nil {
		t.Error(err)
	}
	_, err := w.api.ListLoadBalancers(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no public endpoint of the service load-balancer in region RegionOne") {
		t.Errorf("error %v, want one that names the service, the region and the kind of endpoint", err)
	}
}

func TestTokensAreRenewed(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := newNodeWorld(t, sim.Options{Clock: c, TokenLife: time.Hour}, Networking{})
	call := func(step time.Duration, tokens int, why string) {
		t.Helper()
		c.Step(step)
		if _, err := w.api.ListServers(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		w.client.settle()
		if got := w.cloud.Front().Log().Count()["CreateToken"]; got != tokens {
			t.Errorf("%s: %d tokens so far, want %d (%v)", why, got, tokens, w.cloud.Front().Log().Count())
		}
	}
	call(0, 1, "the first call")
	call(50*time.Minute, 1, "well before the end")
	call(6*time.Minute, 2, "shortly before the end")
	call(30*time.Minute, 2, "the new token")
	w.cloud.EndTokens()
	call(0, 3, "a token that was revoked")
	call(2*time.Hour, 4, "after the end")
}

// settle waits until no token is being issued.
func (c *client) settle() {
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

func TestManyCallersShareOneToken(t *testing.T) {
	t.Parallel()
	w := newNodeWorld(t, sim.Options{}, Networking{})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := w.api.ListServers(t.Context(), ""); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := w.cloud.Front().Log().Count()["CreateToken"]; got != 1 {
		t.Errorf("%d tokens, want 1", got)
	}
}

func TestRefusedCredentialsAreNotTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := newNodeWorld(t, sim.Options{Clock: c}, Networking{})
	w.client.global.ApplicationCredentialSecret = "wrong"
	for range 3 {
		_, err := w.api.ListServers(t.Context(), "")
		if !cloudapi.Is(err, cloudapi.Denied) || !strings.Contains(err.Error(), "check application-credential-id and application-credential-secret in section [Global]") {
			t.Errorf("error %v, want Denied and the keys to check", err)
		}
	}
	w.wantCalls(1)
	c.Step(refusedPause)
	if _, err := w.api.ListServers(t.Context(), ""); err == nil {
		t.Error("wrong credentials were accepted")
	}
	if w.cloud.Front().Log().Len() != 1 {
		t.Error("the credentials were not tried again after the pause")
	}
}

func TestCredentialsAreReadAgain(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	cloud, err := sim.New(sim.Options{Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	a := cloud.Account()
	file := filepath.Join(t.TempDir(), "cloud.conf")
	write := func(password string) Config {
		content := "[Global]\nauth-url = " + simURL + "\nuser-id = " + a.UserID + "\ntenant-id = " + a.ProjectID + "\npassword = " + password + "\n"
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := ReadConfig(file, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	cfg := write(a.Password)
	client := newClient(clientOptions{Global: cfg.Global, ConfigFile: file, Transport: cloud.Front().Transport(), Clock: c})
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
	c.Step(filesPause)
	if _, err := clients.ListServers(t.Context(), ""); err != nil {
		t.Errorf("with the new password in the file: %v", err)
	}
	if err := os.WriteFile(file, []byte("[Global]\nnonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Step(filesPause)
	if _, err := clients.ListServers(t.Context(), ""); err != nil {
		t.Errorf("a file that is not valid must change nothing: %v", err)
	}
}

// A Keystone that does not answer must not hold up calls for longer than the time limit.
func TestAuthenticationHasADeadline(t *testing.T) {
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
	g := Global{AuthURL: server.URL, UserID: "u", Password: "p", RequestTimeout: config.Duration{Duration: 50 * time.Millisecond}}
	c := newClient(clientOptions{Global: g})
	c.retry = cloudapi.Retry{Attempts: 1}
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
			w := newNodeWorld(t, sim.Options{}, Networking{})
			w.cloud.Front().SetFaults(tt.fault)
			if _, err := w.api.ListServers(t.Context(), ""); err != nil {
				t.Errorf("a read must get over it: %v", err)
			}
			if w.cloud.Front().Injected() == 0 {
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
		{api.KeyManager, "https://v1.example.com/key-manager", ends{"https://v1.example.com/key-manager/", "https://v1.example.com/key-manager/v1/"}},
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
