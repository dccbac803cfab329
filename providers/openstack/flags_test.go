package openstack

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
	"github.com/unified-ccm/unified-ccm/providers/openstack/internal/testcloud"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// agents keeps the names by which requests were made.
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
	w := testcloud.New(t, sim.Options{})
	f := &flags{}
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.add(set)
	if err := set.Parse([]string{"--user-agent=team-a", "--user-agent=prod"}); err != nil {
		t.Fatal(err)
	}
	seen := &agents{next: w.Front().Transport()}
	c := client.New(client.Options{Global: w.Global(), Transport: seen, UserAgent: f.userAgent})
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(seen.last, "prod team-a unified-ccm/") || !strings.Contains(seen.last, "provider/openstack") {
		t.Errorf("the cloud is told %q", seen.last)
	}
}

// Credentials come from the configuration alone: variables that are meant for the command line of
// whoever starts the manager must not mix with them.
func TestVariablesOfTheCommandLineAreNotRead(t *testing.T) {
	for name, value := range map[string]string{"OS_USERNAME": "somebody", "OS_PASSWORD": "else", "OS_AUTH_URL": "http://elsewhere.invalid", "OS_TOKEN": "stray", "OS_REGION_NAME": "Nowhere"} {
		t.Setenv(name, value)
	}
	url, body := authenticate(t, "auth-url = "+testcloud.URL+"\nuser-id = u1\npassword = p1\ntenant-id = t1\n")
	if !strings.HasPrefix(url, testcloud.URL) || !strings.Contains(body, `"user":{"id":"u1","password":"p1"}`) || strings.Contains(body, "somebody") || strings.Contains(body, "stray") {
		t.Errorf("asked %s with %s", url, body)
	}
}
