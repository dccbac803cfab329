package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// fixture is a simulated cloud.
type fixture struct{ world *sim.Cloud }

func newFixture(t *testing.T, o sim.Options) fixture {
	t.Helper()
	world, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	})
	return fixture{world}
}

// roundTripper makes a function a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func testClient(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientOverASocket(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sim.Options{Token: "s3cret"})
	var agent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		f.world.Front().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)

	zones, err := testClient(t, Options{Endpoint: server.URL, Token: "s3cret"}).ListZones(t.Context())
	if err != nil || len(zones) != 3 {
		t.Errorf("ListZones = %v, %v, want 3 zones", zones, err)
	}
	if !strings.HasPrefix(agent, "unified-ccm/v") || !strings.HasSuffix(agent, " provider/fake") {
		t.Errorf("User-Agent = %q", agent)
	}
	_, err = testClient(t, Options{Endpoint: server.URL, Token: "wrong"}).ListZones(t.Context())
	if !cloudapi.Is(err, cloudapi.Denied) {
		t.Errorf("with a wrong token: %v, want class %q", err, cloudapi.Denied)
	}
}

func TestClientReadsAllPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sim.Options{PageSize: 2})
	var ids []string
	for i := range 5 {
		name := fmt.Sprintf("node-%d", i)
		if _, err := f.world.Launch(conformance.Machine{Name: name}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, name)
	}
	c := testClient(t, Options{Transport: f.world.Front().Transport()})
	all, err := c.ListInstances(t.Context())
	if err != nil || len(all) != 5 {
		t.Errorf("ListInstances = %d instances, %v, want 5", len(all), err)
	}
	found, err := c.FindInstances(t.Context(), append(ids, "unknown"))
	if err != nil || len(found) != 5 {
		t.Errorf("FindInstances = %d instances, %v, want 5", len(found), err)
	}
	if none, err := c.GetInstances(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("GetInstances of nothing = %v, %v: it must not read everything", none, err)
	}
}

func TestClientEscapesNames(t *testing.T) {
	t.Parallel()
	var path string
	c := testClient(t, Options{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		path = r.URL.EscapedPath()
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
	})})
	if err := c.DeletePool(t.Context(), "../x", "a/b?c"); err != nil {
		t.Fatal(err)
	}
	if want := "/v1/load-balancers/..%2Fx/pools/a%2Fb%3Fc"; path != want {
		t.Errorf("path = %q, want %q", path, want)
	}
}

func TestClientClassifiesAnswers(t *testing.T) {
	t.Parallel()
	answer := func(status int, code string) string {
		return fmt.Sprintf("%d %s", status, `{"code":"`+code+`","message":"m"}`)
	}
	tests := map[string]cloudapi.Class{
		answer(404, api.CodeNotFound):      cloudapi.NotFound,
		answer(409, api.CodeAlreadyExists): cloudapi.AlreadyExists,
		answer(409, api.CodeBusy):          cloudapi.Conflict,
		answer(409, api.CodeInUse):         cloudapi.Conflict,
		answer(429, api.CodeThrottled):     cloudapi.Throttled,
		answer(401, api.CodeUnauthorized):  cloudapi.Denied,
		answer(403, api.CodeForbidden):     cloudapi.Denied,
		answer(403, api.CodeQuotaExceeded): cloudapi.Quota,
		answer(403, api.CodePoolExhausted): cloudapi.Quota,
		answer(400, api.CodeInvalid):       cloudapi.Invalid,
		answer(500, api.CodeInternal):      cloudapi.Unavailable,
		"404 page not found":               cloudapi.Unknown, // a proxy's word is not the cloud's
		"302 moved":                        cloudapi.Unknown,
		"403 <html>":                       cloudapi.Denied,
		"502 <html>":                       cloudapi.Unavailable,
		"200 <html>":                       cloudapi.Unavailable,
		`200 {"items":[`:                   cloudapi.Unavailable,
	}
	for reply, want := range tests {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			var status int
			var body string
			if _, err := fmt.Sscanf(reply, "%d", &status); err != nil {
				t.Fatal(err)
			}
			_, body, _ = strings.Cut(reply, " ")
			c := testClient(t, Options{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
			})})
			c.retry.Attempts = 1
			_, err := c.ListZones(t.Context())
			if got := cloudapi.ClassOf(err); got != want {
				t.Errorf("class %q (%v), want %q", got, err, want)
			}
		})
	}
}

func TestClientRepeatsWhatIsSafe(t *testing.T) {
	t.Parallel()
	for _, kind := range []kit.FaultKind{kit.FaultError, kit.FaultThrottle, kit.FaultLostReply} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, sim.Options{})
				f.world.Front().SetFaults(kit.Fault{Kind: kind, Operation: "ListZones", Times: 2})
				c := testClient(t, Options{Transport: f.world.Front().Transport()})
				if _, err := c.ListZones(t.Context()); err != nil {
					t.Error(err)
				}
				if n := f.world.Front().Injected(); n != 2 {
					t.Errorf("%d faults were injected, want 2", n)
				}
			})
		})
	}
}

func TestClientHonoursItsContextAndTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		c := testClient(t, Options{Transport: hangs})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.ListZones(ctx); !cloudapi.Is(err, cloudapi.Canceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v, want class %q", err, cloudapi.Canceled)
		}
		c.retry.Attempts = 1
		start := time.Now()
		_, err := c.ListZones(t.Context())
		if !cloudapi.Is(err, cloudapi.Unavailable) || time.Since(start) != CallTimeout {
			t.Errorf("a call that hangs: %v after %s, want class %q after %s", err, time.Since(start), cloudapi.Unavailable,
				CallTimeout)
		}
	})
}
