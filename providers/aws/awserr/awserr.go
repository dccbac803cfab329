// Package awserr sorts the errors of AWS into the classes of package cloudapi, by their codes.
package awserr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Code returns the error code that AWS answered with, such as InvalidInstanceID.NotFound, and ""
// for an error that is no answer of AWS.
func Code(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	return api.ErrorCode()
}

// Is says whether AWS answered with one of the codes.
func Is(err error, codes ...string) bool {
	have := Code(err)
	for _, code := range codes {
		if have != "" && have == code {
			return true
		}
	}
	return false
}

// Classify returns the class of an error: the one that it carries already, else the one of its
// code, else of its HTTP status. A nil error has no class (""). The class is NotFound only where a code
// says so: a status 404 alone comes from proxies and wrong endpoints too. Elastic Load Balancing
// has codes of its own for what a request merely refers to (SubnetNotFound), which are Invalid.
func Classify(err error) cloudapi.Class {
	var own *cloudapi.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &own):
		return own.Class
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
	var incomplete smithy.InvalidParamsError
	switch {
	case errors.As(err, &incomplete):
		return cloudapi.Invalid
	case noAnswer(err):
		return cloudapi.Unavailable
	default:
		return cloudapi.Unknown
	}
}

// noAnswer says whether what was done is unknown because no answer arrived, or none that can be read.
func noAnswer(err error) bool {
	var (
		network    net.Error
		sending    *smithyhttp.RequestSendError
		unreadable *smithy.DeserializationError
		answered   *smithyhttp.ResponseError
	)
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) || errors.As(err, &sending) ||
		errors.As(err, &unreadable) || errors.As(err, &answered)
}

// ClassOfStatus returns the class of an HTTP status of 300 and above without a code that is known.
func ClassOfStatus(status int) cloudapi.Class {
	switch class := cloudapi.ClassOfStatus(status); class {
	case cloudapi.Denied, cloudapi.Throttled, cloudapi.Unavailable:
		return class
	default:
		return cloudapi.Unknown
	}
}

// Wrap returns err as a *cloudapi.Error with its class, and nil for nil. Its text has the code and
// AWS' message but no request ID, so that the same error always reads the same and events about it
// are counted instead of repeated; the request ID is in the chain, and in the log. What the
// provider's own clients return has been wrapped already: of that the SDK's frame is taken off.
func Wrap(operation string, err error) error {
	var own *cloudapi.Error
	var frame *smithy.OperationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &frame) && errors.As(frame.Err, &own) && error(frame) == err: //nolint:errorlint // the outermost
		return own
	case errors.As(err, &own):
		return err
	}
	return &cloudapi.Error{Class: Classify(err), Operation: operation, RetryAfter: retryAfter(err), Err: &readable{err}}
}

// readable is an error of the SDK with a text for users.
type readable struct{ err error }

// Error implements error.
func (r *readable) Error() string {
	var api smithy.APIError
	if errors.As(r.err, &api) {
		return fmt.Sprintf("%s (%s)", api.ErrorMessage(), api.ErrorCode())
	}
	return r.err.Error()
}

// Unwrap returns the SDK's error.
func (r *readable) Unwrap() error { return r.err }

// retryAfter is how long AWS asked to wait, which it rarely says.
func retryAfter(err error) time.Duration {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil || response.Response.Response == nil {
		return 0
	}
	return cloudapi.RetryAfter(response.Response.Header, time.Now())
}
