package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
)

// roundTripper makes a function a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// replies returns a client whose requests get these replies, each a status and a body, and the requests. The last one
// repeats.
func replies(t *testing.T, list ...string) (*Client, *[]*http.Request) {
	t.Helper()
	var requests []*http.Request
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		reply := list[min(len(requests), len(list)-1)]
		requests = append(requests, r)
		var status int
		if _, err := fmt.Sscanf(reply, "%d", &status); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(reply, " ")
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
	return New(Options{Transport: transport, Retry: cloudapi.Retry{Attempts: 1}, Config: config.Global{
		ProjectID: "p", LocalZone: "r1-b", NetworkName: "n", APIEndpoint: "https://compute.test/compute/v1/",
	}}), &requests
}

func refusal(status int, reason string) string {
	return fmt.Sprintf(`%d {"error":{"code":%d,"message":"m","errors":[{"domain":"global","reason":%q}]}}`, status, status, reason)
}

func TestErrorsHaveClasses(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]cloudapi.Class{
		refusal(404, "notFound"):                       cloudapi.NotFound,
		refusal(409, "alreadyExists"):                  cloudapi.AlreadyExists,
		refusal(400, "resourceInUseByAnotherResource"): cloudapi.Conflict,
		refusal(400, "resourceNotReady"):               cloudapi.Conflict,
		refusal(400, "invalid"):                        cloudapi.Invalid,
		refusal(412, "conditionNotMet"):                cloudapi.Conflict,
		refusal(403, "forbidden"):                      cloudapi.Denied,
		refusal(403, "quotaExceeded"):                  cloudapi.Quota,
		refusal(403, "rateLimitExceeded"):              cloudapi.Throttled,
		refusal(503, "backendError"):                   cloudapi.Unavailable,
		"404 page not found":                           cloudapi.Unknown, // not an answer about the object
		`404 {"error":{"code":404,"message":"m"}}`:     cloudapi.Unknown,
		"302 moved":  cloudapi.Unknown,
		"502 <html>": cloudapi.Unavailable,
		"200 <html>": cloudapi.Unavailable,
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			c, _ := replies(t, reply)
			err := c.Get(t.Context(), api.InstancesGet, api.Target{Zone: "r1-b", Name: "node-1"}, &api.Instance{})
			if got := cloudapi.ClassOf(err); got != want {
				t.Errorf("class %q (%v), want %q", got, err, want)
			}
		})
	}
}

func TestChangeWaitsForItsOperation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replies []string
		want    cloudapi.Class
		inUse   bool
	}{
		"done at once": {replies: []string{`200 {"name":"o","status":"DONE"}`}},
		"done later":   {replies: []string{`200 {"name":"o","status":"RUNNING","region":"x/regions/r1"}`, `200 {"name":"o","status":"DONE"}`}},
		"fails later": {replies: []string{`200 {"name":"o","status":"RUNNING","region":"x/regions/r1"}`,
			`200 {"name":"o","status":"DONE","httpErrorStatusCode":400,"error":{"errors":[{"code":"RESOURCE_IN_USE_BY_ANOTHER_RESOURCE"}]}}`},
			want: cloudapi.Conflict, inUse: true},
		"operation is gone": {replies: []string{`200 {"name":"o","status":"RUNNING","region":"x/regions/r1"}`, refusal(403, "forbidden")},
			want: cloudapi.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, requests := replies(t, tc.replies...)
			err := c.Change(t.Context(), api.ForwardingRulesDelete, api.Target{Name: "a"}, nil)
			if cloudapi.ClassOf(err) != tc.want || api.InUse(err) != tc.inUse {
				t.Errorf("%v, in use %t", err, api.InUse(err))
			}
			first := (*requests)[0]
			if first.URL.Path != "/compute/v1/projects/p/regions/r1/forwardingRules/a" || first.URL.Query().Get("requestId") == "" {
				t.Errorf("request %s", first.URL)
			}
			if len(*requests) > 1 && (*requests)[1].URL.Path != "/compute/v1/projects/p/regions/r1/operations/o/wait" {
				t.Errorf("waits at %s", (*requests)[1].URL.Path)
			}
		})
	}
}

func TestRepeatedChangeHasOneID(t *testing.T) {
	t.Parallel()
	c, requests := replies(t, refusal(503, "backendError"), `200 {"name":"o","status":"DONE"}`)
	c.retry = cloudapi.Retry{Attempts: 2, Base: 1}
	if err := c.Change(t.Context(), api.AddressesInsert, api.Target{}, api.Address{}); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, r := range *requests {
		ids[r.URL.Query().Get("requestId")] = true
	}
	if len(*requests) != 2 || len(ids) != 1 {
		t.Errorf("%d requests with %d IDs", len(*requests), len(ids))
	}
}

func TestListsReadAllPages(t *testing.T) {
	t.Parallel()
	c, _ := replies(t,
		`200 {"items":{"zones/r1-a":{"instances":[{"name":"a"}]},"zones/r1-b":{"warning":{"code":"NO_RESULTS_ON_PAGE"}}},"nextPageToken":"2"}`,
		`200 {"items":{"zones/r1-b":{"instances":[{"name":"b"}]},"zones/r1-c":{"warning":{"code":"UNREACHABLE"}}}}`)
	found, err := c.List(t.Context(), api.InstancesList, api.Target{}, nil)
	silent, other := api.Unreachable(err)
	if len(found) != 2 || other != nil || len(silent) != 1 || silent[0] != "r1-c" {
		t.Errorf("%s, silent %q, %v", found, silent, err)
	}
	if !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Errorf("an incomplete list has class %q", cloudapi.ClassOf(err))
	}
	c, _ = replies(t, `200 {"items":[{"name":"a"}],"nextPageToken":"x"}`)
	if _, err := c.List(t.Context(), api.ForwardingRulesList, api.Target{}, nil); err == nil {
		t.Error("a list without an end ends without an error")
	}
}

func TestUnknownFieldsSurvive(t *testing.T) {
	t.Parallel()
	read, err := api.Parse[api.BackendService]([]byte(`{"name":"b","protocol":"TCP","logConfig":{"enable":true},` +
		`"backends":[{"group":"g","balancingMode":"CONNECTION"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	read.SessionAffinity = api.AffinityClientIP
	content, err := api.Encode[api.BackendService](read)
	var out map[string]any
	if err != nil || json.Unmarshal(content, &out) != nil || out["logConfig"] == nil || out["sessionAffinity"] != "CLIENT_IP" ||
		!strings.Contains(string(content), "balancingMode") {
		t.Errorf("%s, %v", content, err)
	}
}

func TestEndedContextEndsTheWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	waits := 0
	_, err := poller{New(Options{}).clock}.Wait(ctx, api.Operation{}, func(context.Context, api.Operation) (api.Operation, error) {
		waits++
		cancel()
		return api.Operation{}, &cloudapi.Error{Class: cloudapi.Unavailable}
	})
	if err == nil || waits != 1 {
		t.Errorf("%v after %d waits", err, waits)
	}
}

// An operation that does not end holds its locks, and a worker, for minutes at most. So does one that is not found.
func TestOperationThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"running": nil, "not found": &cloudapi.Error{Class: cloudapi.Unavailable}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := poller{clock.RealClock{}}.Wait(t.Context(), api.Operation{}, func(context.Context, api.Operation) (api.Operation,
					error) {
					time.Sleep(30 * time.Second)
					return api.Operation{Status: "RUNNING"}, failure
				})
				if took := time.Since(start); !errors.Is(err, api.ErrRunning) || !cloudapi.Is(err, cloudapi.Unavailable) ||
					took > 3*time.Minute {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}
