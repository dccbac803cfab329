package oserr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func answer(status int, body string, header ...string) error {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return gophercloud.ErrUnexpectedResponseCode{Method: "GET", URL: "https://example.com", Actual: status, Body: []byte(body), ResponseHeader: h}
}

func octavia(status int, message string) error {
	return answer(status, fmt.Sprintf(`{"faultcode":"Client","faultstring":%q,"debuginfo":null}`, message))
}

func neutron(status int, kind, message string) error {
	return answer(status, fmt.Sprintf(`{"NeutronError":{"type":%q,"message":%q,"detail":""}}`, kind, message))
}

func nova(status int, kind, message string) error {
	return answer(status, fmt.Sprintf(`{%q:{"code":%d,"message":%q}}`, kind, status, message))
}

const html = "<html><body>nginx</body></html>"

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want cloudapi.Class
	}{
		{"nothing", nil, ""},
		{"server is gone", nova(404, "itemNotFound", "Instance x could not be found."), cloudapi.NotFound},
		{"port is gone", neutron(404, "PortNotFound", "Port x could not be found."), cloudapi.NotFound},
		{"load balancer is gone", octavia(404, "Load Balancer x not found."), cloudapi.NotFound},
		{"secret is gone", answer(404, `{"code":404,"title":"Not Found","description":"Sorry but your secret could not be found."}`), cloudapi.NotFound},
		{"a proxy knows no such path", answer(404, html), cloudapi.Unknown},
		{"a service knows no such path", answer(404, `{"message":"The resource could not be found.<br /><br />\n\n\n","code":"404 Not Found","title":"Not Found"}`), cloudapi.Unknown},
		{"an extension is switched off", neutron(404, "HTTPNotFound", "The resource could not be found."), cloudapi.Unknown},
		{"gone for good, says a proxy", answer(410, html), cloudapi.Unknown},
		{"token has ended", answer(401, `{"error":{"code":401,"title":"Unauthorized","message":"The request you have made requires authentication."}}`), cloudapi.Denied},
		{"policy", octavia(403, "Policy does not allow this request to be performed."), cloudapi.Denied},
		{"quota of Octavia", octavia(403, "Quota has been met for resources: load balancer"), cloudapi.Quota},
		{"quota of Neutron", neutron(409, "OverQuota", "Quota exceeded for resources: ['port']."), cloudapi.Quota},
		{"floating IP pool is empty", neutron(409, "IpAddressGenerationFailure", "No more IP addresses available on network x."), cloudapi.Quota},
		{"floating IP pool is empty, newer", neutron(400, "ExternalIpAddressExhausted", "Unable to find any IP address on external network x."), cloudapi.Quota},
		{"busy", octavia(409, "Load Balancer x is immutable and cannot be updated."), cloudapi.Conflict},
		{"port is taken", octavia(409, "Another Listener on this Load Balancer is already using protocol_port 80"), cloudapi.AlreadyExists},
		{"rule exists", neutron(409, "SecurityGroupRuleExists", "Security group rule already exists. Rule id is x."), cloudapi.AlreadyExists},
		{"group in use", neutron(409, "SecurityGroupInUse", "Security Group x in use."), cloudapi.Conflict},
		{"another revision", neutron(412, "RevisionNumberConstraintFailed", "Constrained to 3, but current revision is 4"), cloudapi.Conflict},
		{"too many requests", answer(429, html), cloudapi.Throttled},
		{"too many requests, older", nova(413, "overLimit", "This request was rate-limited."), cloudapi.Throttled},
		{"too many requests, at a proxy", answer(413, html, "Retry-After", "3"), cloudapi.Throttled},
		{"body too large", answer(413, html), cloudapi.Invalid},
		{"bad value", octavia(400, "Validation failure: Invalid input"), cloudapi.Invalid},
		{"driver cannot", octavia(501, "Provider 'ovn' does not support a requested option"), cloudapi.Invalid},
		{"service's version cannot", nova(406, "itemNotAcceptable", "Version 2.47 is not supported by the API."), cloudapi.Invalid},
		{"failure", octavia(500, "Provider 'amphora' reports error"), cloudapi.Unavailable},
		{"locked quota", octavia(503, "Project busy.  Unable to lock the project.  Please try again."), cloudapi.Throttled},
		{"Octavia is down", octavia(503, "Service unavailable."), cloudapi.Unavailable},
		{"proxy without a backend", answer(503, html), cloudapi.Unavailable},
		{"redirect", answer(302, html), cloudapi.Unknown},
		{"our own deadline", fmt.Errorf("call: %w", context.DeadlineExceeded), cloudapi.Unavailable},
		{"we stopped", context.Canceled, cloudapi.Canceled},
		{"no connection", &url.Error{Op: "Get", URL: "https://example.com", Err: io.ErrUnexpectedEOF}, cloudapi.Unavailable},
		{"half an answer", &json.SyntaxError{}, cloudapi.Unavailable},
		{"classified already", fmt.Errorf("x: %w", &cloudapi.Error{Class: cloudapi.Quota, Err: errors.New("y")}), cloudapi.Quota},
		{"anything else", errors.New("x"), cloudapi.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Classify(tt.err); got != tt.want {
				t.Errorf("Classify(%v) = %q, want %q", tt.err, got, tt.want)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name       string
		err        error
		text       string
		retryAfter time.Duration
	}{
		{"message and status", octavia(400, "Validation failure"), "CreateListener: load-balancer: Validation failure (HTTP 400) (invalid)", 0},
		{"the request ID is left out", nova(500, "computeFault", "Unexpected API Error. (Request-ID: req-1234)"), "CreateListener: load-balancer: Unexpected API Error. (HTTP 500) (unavailable)", 0},
		{"a proxy's answer", answer(502, html), "CreateListener: load-balancer: the response has no message of an OpenStack service; check the endpoint in the catalog (HTTP 502) (unavailable)", 0},
		{"busy", octavia(409, "Load Balancer x is immutable and cannot be updated."), "CreateListener: load-balancer: Load Balancer x is immutable and cannot be updated. (HTTP 409) (conflict)", immutableWait},
		{"Retry-After in seconds", answer(429, `{"overLimit":{"code":429,"message":"slow down"}}`, "Retry-After", "7"), "CreateListener: load-balancer: slow down (HTTP 429) (throttled)", 7 * time.Second},
		{"Retry-After of a day", answer(503, `{"error":{"code":503,"message":"later"}}`, "Retry-After", "86400"), "CreateListener: load-balancer: later (HTTP 503) (unavailable)", cloudapi.LongestRetryAfter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Wrap("load-balancer", "CreateListener", now, tt.err)
			var e *cloudapi.Error
			if !errors.As(err, &e) {
				t.Fatalf("Wrap(%v) = %v, want a *cloudapi.Error", tt.err, err)
			}
			if e.Error() != tt.text || e.RetryAfter != tt.retryAfter {
				t.Errorf("got %q, retry after %v\nwant %q, %v", e.Error(), e.RetryAfter, tt.text, tt.retryAfter)
			}
			if again := Wrap("x", "y", now, err); again != err { //nolint:errorlint // the same value is required
				t.Errorf("wrapping twice changed the error to %v", again)
			}
		})
	}
	if err := Wrap("x", "y", now, nil); err != nil {
		t.Errorf("Wrap(nil) = %v", err)
	}
}

func TestConflictPredicates(t *testing.T) {
	t.Parallel()
	busy, taken := octavia(409, "Pool x is immutable and cannot be updated."), octavia(409, "Another Listener is already using protocol_port 80")
	if !IsImmutable(fmt.Errorf("x: %w", busy)) || IsImmutable(taken) || IsImmutable(errors.New("immutable")) {
		t.Error("IsImmutable must say yes to a 409 about immutability, and to nothing else")
	}
	if !IsRevisionConflict(neutron(412, "RevisionNumberConstraintFailed", "x")) || IsRevisionConflict(taken) {
		t.Error("IsRevisionConflict must say yes to a 412, and to nothing else")
	}
	if !strings.Contains(taken.Error(), "409") || Status(taken) != 409 || Status(io.EOF) != 0 {
		t.Error("Status must be that of the answer, or 0")
	}
}
