package awserr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// answered is an error as the SDK returns it: an answer with a status and, where code is not empty, an error of the API.
func answered(status int, code string, headers ...string) error {
	err := errors.New("no body")
	if code != "" {
		err = &smithy.GenericAPIError{Code: code, Message: "the message"}
	}
	response := &http.Response{StatusCode: status, Header: http.Header{}}
	for i := 0; i+1 < len(headers); i += 2 {
		response.Header.Set(headers[i], headers[i+1])
	}
	return &smithy.OperationError{ServiceID: "EC2", OperationName: "DescribeInstances",
		Err: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: response}, Err: err}}
}

func TestClassOfCode(t *testing.T) {
	for code, want := range map[string]cloudapi.Class{
		"InvalidInstanceID.NotFound": cloudapi.NotFound, "InvalidGroup.NotFound": cloudapi.NotFound, "InvalidRoute.NotFound": cloudapi.NotFound,
		"InvalidPermission.NotFound": cloudapi.NotFound, "LoadBalancerNotFound": cloudapi.NotFound, "TargetGroupNotFound": cloudapi.NotFound,
		"ListenerNotFound": cloudapi.NotFound,

		"SubnetNotFound": cloudapi.Invalid, "CertificateNotFound": cloudapi.Invalid, "InvalidInstanceID.Malformed": cloudapi.Invalid,
		"InvalidParameterValue": cloudapi.Invalid, "ValidationError": cloudapi.Invalid, "MissingParameter": cloudapi.Invalid,
		"UnsupportedOperation": cloudapi.Invalid, "InvalidTarget": cloudapi.Invalid,

		"InvalidGroup.Duplicate": cloudapi.AlreadyExists, "InvalidPermission.Duplicate": cloudapi.AlreadyExists,
		"DuplicateTargetGroupName": cloudapi.AlreadyExists, "RouteAlreadyExists": cloudapi.AlreadyExists,

		"DependencyViolation": cloudapi.Conflict, "ResourceInUse": cloudapi.Conflict, "InvalidGroup.InUse": cloudapi.Conflict,

		"RequestLimitExceeded": cloudapi.Throttled, "Throttling": cloudapi.Throttled, "ThrottlingException": cloudapi.Throttled,
		"TooManyRequestsException": cloudapi.Throttled,

		"UnauthorizedOperation": cloudapi.Denied, "AccessDenied": cloudapi.Denied, "AuthFailure": cloudapi.Denied, "ExpiredToken": cloudapi.Denied,
		"InvalidClientTokenId": cloudapi.Denied, "SignatureDoesNotMatch": cloudapi.Denied, "RequestExpired": cloudapi.Denied,
		"InvalidAccessKeyId": cloudapi.Denied,

		"TooManyTargets": cloudapi.Quota, "TooManyLoadBalancers": cloudapi.Quota, "RulesPerSecurityGroupLimitExceeded": cloudapi.Quota,
		"RouteLimitExceeded": cloudapi.Quota, "SecurityGroupLimitExceeded": cloudapi.Quota,

		"InternalError": cloudapi.Unavailable, "Unavailable": cloudapi.Unavailable, "ServiceUnavailable": cloudapi.Unavailable,

		"": "", "SomethingNew": "",
	} {
		if got := ClassOfCode(code); got != want {
			t.Errorf("%q: got %q, want %q", code, got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want cloudapi.Class
	}{
		{name: "nil"},
		{name: "code", err: answered(400, "InvalidInstanceID.NotFound"), want: cloudapi.NotFound},
		{name: "code before status", err: answered(503, "Throttling"), want: cloudapi.Throttled},
		{name: "new code, the status decides", err: answered(503, "SomethingNew"), want: cloudapi.Unavailable},
		{name: "new code, the status says little", err: answered(400, "SomethingNew"), want: cloudapi.Unknown},
		{name: "a 404 without a code is not gone", err: answered(404, ""), want: cloudapi.Unknown},
		{name: "a redirect", err: answered(302, ""), want: cloudapi.Unknown},
		{name: "denied without a code", err: answered(403, ""), want: cloudapi.Denied},
		{name: "gateway", err: answered(502, ""), want: cloudapi.Unavailable},
		{name: "the SDK's code for none, the status decides", err: answered(503, "UnknownError"), want: cloudapi.Unavailable},
		{name: "the SDK's code for none, denied", err: answered(403, "UnknownError"), want: cloudapi.Denied},
		{name: "a success that cannot be read", err: answered(200, ""), want: cloudapi.Unavailable},
		{name: "unreadable", err: fmt.Errorf("x: %w", &smithy.DeserializationError{Err: errors.New("EOF")}), want: cloudapi.Unavailable},
		{name: "not sent", err: &smithyhttp.RequestSendError{Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, want: cloudapi.Unavailable},
		{name: "deadline", err: fmt.Errorf("x: %w", context.DeadlineExceeded), want: cloudapi.Unavailable},
		{name: "we stopped", err: &smithy.CanceledError{Err: context.Canceled}, want: cloudapi.Canceled},
		{name: "a class of our own", err: fmt.Errorf("x: %w", &cloudapi.Error{Class: cloudapi.Throttled, Err: context.Canceled}), want: cloudapi.Throttled},
		{name: "refused by the SDK itself", err: fmt.Errorf("x: %w", smithy.InvalidParamsError{Context: "CreateTagsInput"}), want: cloudapi.Invalid},
		{name: "something else", err: errors.New("x"), want: cloudapi.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Classify(tt.err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := cloudapi.ClassOf(Wrap("Operation", tt.err)); got != tt.want {
				t.Errorf("wrapped: got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	err := Wrap("DescribeInstances", answered(503, "RequestLimitExceeded", "Retry-After", "7", "X-Amzn-Requestid", "abc-1"))
	if got, want := err.Error(), "DescribeInstances: the message (RequestLimitExceeded) (throttled)"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	var own *cloudapi.Error
	if !errors.As(err, &own) || own.RetryAfter != 7*time.Second {
		t.Errorf("%v: want to wait 7s", err)
	}
	if again := Wrap("Other", fmt.Errorf("x: %w", err)); !errors.As(again, &own) || own.Operation != "DescribeInstances" {
		t.Errorf("wrapped twice: %v", again)
	}
	framed := &smithy.OperationError{ServiceID: "EC2", OperationName: "DescribeInstances", Err: err}
	if got := Wrap("Other", framed); got.Error() != err.Error() {
		t.Errorf("what a client returns reads %q", got)
	}
	if !Is(err, "Throttling", "RequestLimitExceeded") || Is(err, "Throttling") || Is(errors.New("x"), "") {
		t.Error("Is does not go by the code")
	}
	if Wrap("X", nil) != nil {
		t.Error("nil becomes an error")
	}
}

func TestPageOfAProxyHasAMessage(t *testing.T) {
	err := Wrap("DescribeInstances", answered(503, "UnknownError"))
	if want := "DescribeInstances: a response that is not one of AWS, with the HTTP status 503 (unavailable)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
