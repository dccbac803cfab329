package sim_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

func newCloud(t *testing.T, o sim.Options) *sim.Cloud {
	t.Helper()
	c, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get sends a request in process.
func get(t *testing.T, c *sim.Cloud, method, path string, header http.Header) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://gce.invalid"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := c.Front().Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

const pathProject = "/compute/v1/projects/simulated"

func TestRequestsNeedAValidToken(t *testing.T) {
	c := newCloud(t, sim.Options{})
	token := c.Token()
	for name, tc := range map[string]struct {
		header http.Header
		want   int
	}{
		"none":    {http.Header{}, http.StatusUnauthorized},
		"unknown": {bearer("x"), http.StatusUnauthorized},
		"valid":   {bearer(token), http.StatusOK},
	} {
		if status, body, _ := get(t, c, "GET", pathProject, tc.header); status != tc.want {
			t.Errorf("token %s: status is %d, want %d: %s", name, status, tc.want, body)
		}
	}
	c.EndTokens()
	if status, _, _ := get(t, c, "GET", pathProject, bearer(token)); status != http.StatusUnauthorized {
		t.Errorf("status is %d after the end of all tokens", status)
	}
}

func TestErrorsHaveTheFormOfTheAPI(t *testing.T) {
	c := newCloud(t, sim.Options{})
	c.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Call: 3}, kit.Fault{Kind: kit.FaultDenied, Call: 4},
		kit.Fault{Kind: kit.FaultError, Call: 5})
	for i, tc := range []struct {
		path, reason string
		status       int
	}{
		{pathProject + "/nothing", "notFound", http.StatusNotFound},
		{pathProject + "?unknown=1", "badRequest", http.StatusBadRequest},
		{pathProject, "rateLimitExceeded", http.StatusForbidden},
		{pathProject, "forbidden", http.StatusForbidden},
		{pathProject, "internalError", http.StatusInternalServerError},
	} {
		status, body, header := get(t, c, "GET", tc.path, bearer(c.Token()))
		var e struct {
			Error struct {
				Code    int
				Message string
				Errors  []struct{ Domain, Reason, Message string }
			}
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Fatal(err)
		}
		if status != tc.status || e.Error.Code != status || e.Error.Errors[0].Reason != tc.reason ||
			e.Error.Errors[0].Message != e.Error.Message || header.Get("Retry-After") != "" {
			t.Errorf("call %d: status %d, body %s, want %d %s", i+1, status, body, tc.status, tc.reason)
		}
	}
	calls := c.Front().Log().Calls()
	if calls[1].Name != "projects.get" || calls[1].Service != "compute" || calls[1].Mutating {
		t.Errorf("call is logged as %+v", calls[1])
	}
}

// The API compares the names of fields exactly: IPAddress and ipAddress are two names.
func TestFieldNamesAreExact(t *testing.T) {
	for body, want := range map[string]int{
		`{"name": "web", "portRange": "80", "target": "regions/europe-west1/targetPools/web"}`:                            http.StatusOK,
		`{"name": "web", "portrange": "80", "target": "regions/europe-west1/targetPools/web"}`:                            http.StatusBadRequest,
		`{"name": "web", "ipAddress": "198.18.0.9", "target": "regions/europe-west1/targetPools/web"}`:                    http.StatusBadRequest,
		`{"name": "web", "target": "regions/europe-west1/targetPools/web", "labels": {"Any": "key"}, "unknown": "value"}`: http.StatusBadRequest,
	} {
		c := newCloud(t, sim.Options{})
		post(t, c, "/regions/europe-west1/targetPools", object{"name": "web"})
		if status, answer := send(t, c, "/regions/europe-west1/forwardingRules", body); status != want {
			t.Errorf("%s: status is %d, want %d: %s", body, status, want, answer)
		}
	}
	c := newCloud(t, sim.Options{})
	if status, answer := send(t, c, "/global/firewalls", `{"name": "web", "allowed": [{"ipProtocol": "tcp"}]}`); status != http.StatusBadRequest ||
		!strings.Contains(answer, `Unknown name \"ipProtocol\"`) {
		t.Errorf("status is %d: %s", status, answer)
	}
}

func TestServiceAccountGetsTokens(t *testing.T) {
	c := newCloud(t, sim.Options{})
	server := httptest.NewServer(c.Front())
	defer server.Close()
	file, err := c.KeyFile(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	config, err := google.JWTConfigFromJSON(file, "https://www.googleapis.com/auth/cloud-platform")
	if err != nil {
		t.Fatal(err)
	}
	client := config.Client(context.WithValue(t.Context(), oauth2.HTTPClient, server.Client()))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+pathProject, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status is %d", resp.StatusCode)
	}
	config.Email = "other@example.com"
	if _, err := config.TokenSource(t.Context()).Token(); err == nil || !strings.Contains(err.Error(), "Invalid issuer") {
		t.Errorf("another account: %v", err)
	}
}

func TestMetadataServerTellsAboutTheMachine(t *testing.T) {
	c := newCloud(t, sim.Options{})
	if _, err := c.Launch(world.Machine{Name: "a", Zone: "europe-west1-c"}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetSelf("a"); err != nil {
		t.Fatal(err)
	}
	flavor := http.Header{"Metadata-Flavor": {"Google"}}
	for path, want := range map[string]string{
		"project/project-id":                    "simulated",
		"instance/zone":                         "projects/100000000001/zones/europe-west1-c",
		"instance/hostname":                     "a.europe-west1-c.c.simulated.internal",
		"instance/network-interfaces/0/network": "projects/100000000001/networks/default",
		"universe/universe-domain":              "googleapis.com",
	} {
		status, body, header := get(t, c, "GET", "/computeMetadata/v1/"+path, flavor)
		if status != http.StatusOK || body != want || header.Get("Metadata-Flavor") != "Google" {
			t.Errorf("%s: status %d, %q, want %q", path, status, body, want)
		}
	}
	if status, _, _ := get(t, c, "GET", "/computeMetadata/v1/project/project-id", http.Header{}); status != http.StatusForbidden {
		t.Errorf("status without the header is %d", status)
	}
	_, body, header := get(t, c, "GET", "/computeMetadata/v1/instance/service-accounts/default/token", flavor)
	if kind := header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("type of the token is %s: google-auth compares it", kind)
	}
	var token oauth2.Token
	if err := json.Unmarshal([]byte(body), &token); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := get(t, c, "GET", pathProject, bearer(token.AccessToken)); status != http.StatusOK {
		t.Errorf("status with the token of the metadata server is %d", status)
	}
}

func TestOptionsAreValidated(t *testing.T) {
	_, err := sim.New(sim.Options{Project: "X", Zones: []string{"us-east1-b"}, SettleTime: -time.Second,
		Quotas: map[string]int{"X": 1}, ErrorRate: 2})
	for _, want := range []string{`project "X"`, `zone "us-east1-b"`, `quota "X"`, "duration -1s", "error rate 2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one about %s", err, want)
		}
	}
}
