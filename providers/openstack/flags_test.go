package openstack

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

// agents records the User-Agent header of the last request.
type agents struct {
	next http.RoundTripper
	last string
}

func (a *agents) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last = r.Header.Get("User-Agent")
	return a.next.RoundTrip(r)
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	w := simtest.New(t, sim.Options{})
	f := &flags{}
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.add(set)
	if err := set.Parse([]string{"--user-agent=team-a", "--user-agent=prod"}); err != nil {
		t.Fatal(err)
	}
	seen := &agents{next: w.Front().Transport()}
	c := client.New(client.Options{Global: readConfig(t, w.Config("request-timeout = 10\n")).Global, Transport: seen, UserAgent: f.userAgent})
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(seen.last, "prod team-a unified-ccm/") || !strings.Contains(seen.last, "provider/openstack") {
		t.Errorf("User-Agent is %q", seen.last)
	}
}

// Credentials come only from the configuration: the environment variables of OpenStack's CLI must not
// override them.
func TestEnvironmentOfTheCLIIsIgnored(t *testing.T) {
	for name, value := range map[string]string{"OS_USERNAME": "env-user", "OS_PASSWORD": "env-password", "OS_AUTH_URL": "http://env.invalid",
		"OS_TOKEN": "env-token", "OS_REGION_NAME": "Nowhere"} {
		t.Setenv(name, value)
	}
	url, body := authenticate(t, "auth-url = "+simtest.URL+"\nuser-id = u1\npassword = p1\ntenant-id = t1\n")
	if !strings.HasPrefix(url, simtest.URL) || !strings.Contains(body, `"user":{"id":"u1","password":"p1"}`) || strings.Contains(body, "env-") {
		t.Errorf("requested %s with %s", url, body)
	}
}
