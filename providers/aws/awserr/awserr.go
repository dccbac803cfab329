// Package awserr classifies the errors of AWS by their codes, with the classes of package cloudapi.
package awserr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// unknownCode is what the SDK has for the code of a response without one, such as the page of a proxy.
const unknownCode = "UnknownError"

// Code returns the error code of a response, such as InvalidInstanceID.NotFound, or "" for other errors.
func Code(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() == unknownCode {
		return ""
	}
	return api.ErrorCode()
}

// Is reports whether err is a response with one of the codes.
func Is(err error, codes ...string) bool {
	code := Code(err)
	return code != "" && slices.Contains(codes, code)
}

// Classify returns the class of an error: its own if it has one, else that of its code, else that of its HTTP status.
// A nil error has no class (""). Only codes lead to NotFound: a status 404 without a code comes from proxies and wrong
// endpoints too. Elastic Load Balancing has separate codes for objects that a request refers to (SubnetNotFound),
// which are Invalid.
func Classify(err error) cloudapi.Class {
	var classified *cloudapi.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &classified):
		return classified.Class
	case errors.Is(err, context.Canceled):
		return cloudapi.Canceled
	}
	if class := ClassOfCode(Code(err)); class != "" {
		return class
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.Response != nil && response.HTTPStatusCode() >= http.StatusMultipleChoices {
		return ClassOfStatus(response.HTTPStatusCode())
	}
	var invalidParams smithy.InvalidParamsError
	switch {
	case errors.As(err, &invalidParams):
		return cloudapi.Invalid
	case outcomeUnknown(err):
		return cloudapi.Unavailable
	default:
		return cloudapi.Unknown
	}
}

// outcomeUnknown reports whether no response arrived, or an unreadable one.
func outcomeUnknown(err error) bool {
	var (
		network    net.Error
		sending    *smithyhttp.RequestSendError
		unreadable *smithy.DeserializationError
		response   *smithyhttp.ResponseError
	)
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) || errors.As(err, &sending) ||
		errors.As(err, &unreadable) || errors.As(err, &response)
}

// ClassOfStatus returns the class of an HTTP status of 300 and above without a known code.
func ClassOfStatus(status int) cloudapi.Class {
	switch class := cloudapi.ClassOfStatus(status); class {
	case cloudapi.Denied, cloudapi.Throttled, cloudapi.Unavailable:
		return class
	default:
		return cloudapi.Unknown
	}
}

// IsRefusal reports whether a wrapped error is an answer of AWS that it has not made a change, and will not make it
// now. After others the outcome is unknown, or the next reconcile makes the change.
func IsRefusal(err error) bool {
	return err != nil && !cloudapi.Is(err, cloudapi.Throttled, cloudapi.Unavailable, cloudapi.Canceled)
}

// Wrap returns err as a *cloudapi.Error with its class, and nil for nil. The message has the code and message of AWS
// but no request ID, so that equal errors have equal messages and Events about them are aggregated; the request ID is
// in the chain and in the log. Errors of the provider's clients are wrapped already: Wrap removes the frame of the SDK
// from them.
func Wrap(operation string, err error) error {
	var classified *cloudapi.Error
	var frame *smithy.OperationError
	switch {
	case err == nil:
		return nil
	//nolint:errorlint // only the outermost frame is removed
	case errors.As(err, &frame) && errors.As(frame.Err, &classified) && error(frame) == err:
		return classified
	case errors.As(err, &classified):
		return err
	}
	return &cloudapi.Error{Class: Classify(err), Operation: operation, RetryAfter: retryAfter(err), Err: &readable{err}}
}

// readable is an error of the SDK with a message for users.
type readable struct{ err error }

// Error implements error.
func (r *readable) Error() string {
	var api smithy.APIError
	if !errors.As(r.err, &api) {
		return r.err.Error()
	}
	var response *smithyhttp.ResponseError
	if Code(r.err) == "" && errors.As(r.err, &response) && response.Response != nil {
		return fmt.Sprintf("a response that is not one of AWS, with the HTTP status %d", response.HTTPStatusCode())
	}
	return fmt.Sprintf("%s (%s)", api.ErrorMessage(), api.ErrorCode())
}

// Unwrap returns the SDK's error.
func (r *readable) Unwrap() error { return r.err }

// retryAfter returns the wait that AWS requested, which it rarely does.
func retryAfter(err error) time.Duration {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil || response.Response.Response == nil {
		return 0
	}
	return cloudapi.RetryAfter(response.Response.Header, time.Now())
}
