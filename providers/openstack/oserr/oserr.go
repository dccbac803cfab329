// Package oserr classifies the errors of OpenStack's services, with the classes of package cloudapi. The
// services report errors in different ways: by status alone (Octavia), by type (Neutron), by the key of the
// object that holds the message (Nova).
package oserr

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// immutableWait is the time until the retry of a change that Octavia rejects because of another change in
// progress. The fastest driver takes about as long.
const immutableWait = time.Second

// Status returns the HTTP status of a response, and 0 for other errors.
func Status(err error) int {
	var response gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &response) {
		return 0
	}
	return response.Actual
}

// Kind returns the type of a Neutron error, such as NetworkNotFound, and "" for other errors.
func Kind(err error) string {
	var response gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &response) {
		return ""
	}
	return parse(response.Body).kind
}

// IsImmutable reports whether Octavia rejected a change because another change of the load balancer is in
// progress. The same change is accepted afterwards.
func IsImmutable(err error) bool {
	return Status(err) == http.StatusConflict && isImmutableMessage(messageOf(err))
}

// IsRevisionConflict reports whether Neutron rejected a change because the object has another revision than the one in
// the request. The caller must read it again.
func IsRevisionConflict(err error) bool { return Status(err) == http.StatusPreconditionFailed }

// Classify returns the class of an error: its own if it has one, else the one of the service's message, else
// of its status. A nil error has no class (""). The class is NotFound only if the service itself reports it:
// a status 404 alone comes from proxies and wrong endpoints too.
func Classify(err error) cloudapi.Class {
	var (
		classified *cloudapi.Error
		response   gophercloud.ErrUnexpectedResponseCode
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &classified):
		return classified.Class
	case errors.Is(err, context.Canceled):
		return cloudapi.Canceled
	case errors.As(err, &response):
		return ClassOfResponse(response.Actual, response.ResponseHeader, response.Body)
	case isUnanswered(err):
		return cloudapi.Unavailable
	}
	return cloudapi.Unknown
}

// isUnanswered reports whether the outcome is unknown because no response arrived, or none that can be
// parsed.
func isUnanswered(err error) bool {
	var (
		network net.Error
		syntax  *json.SyntaxError
		typ     *json.UnmarshalTypeError
	)
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) || errors.As(err, &syntax) ||
		errors.As(err, &typ)
}

// ClassOfResponse classifies a response with a status of 300 and above.
func ClassOfResponse(status int, header http.Header, body []byte) cloudapi.Class {
	e := parse(body)
	switch status {
	case http.StatusNotFound:
		if e.service && !e.isUnknownPath() {
			return cloudapi.NotFound
		}
		return cloudapi.Unknown
	case http.StatusConflict:
		return classOfConflict(e)
	case http.StatusNotImplemented, http.StatusNotAcceptable:
		// The driver of a load balancer, or the version of the service, does not support the request.
		return cloudapi.Invalid
	case http.StatusGone:
		return cloudapi.Unknown
	}
	return cmp.Or(e.classWith(status, header), cloudapi.ClassOfStatus(status), cloudapi.Unknown)
}

// classWith returns the class of a response whose message says more than its status; "" for others.
func (f fault) classWith(status int, header http.Header) cloudapi.Class {
	switch status {
	case http.StatusForbidden:
		if f.isQuota() {
			return cloudapi.Quota
		}
	case http.StatusRequestEntityTooLarge:
		// Nova's older form of "too many requests". From a proxy the status has its usual meaning.
		if f.kind == "overLimit" || header.Get("Retry-After") != "" {
			return cloudapi.Throttled
		}
	case http.StatusBadRequest:
		if f.kind == "ExternalIpAddressExhausted" {
			return cloudapi.Quota
		}
	case http.StatusServiceUnavailable:
		// Two changes of one project have locked its quota in Octavia's database: this one was rolled back.
		if strings.HasPrefix(f.message, "Project busy.") {
			return cloudapi.Throttled
		}
	}
	return ""
}

func classOfConflict(e fault) cloudapi.Class {
	switch {
	case e.isQuota(), e.kind == "IpAddressGenerationFailure", e.kind == "ExternalIpAddressExhausted":
		return cloudapi.Quota
	case isImmutableMessage(e.message):
		return cloudapi.Conflict
	case strings.HasSuffix(e.kind, "Exists"), strings.Contains(e.message, "already using protocol_port"),
		strings.Contains(e.message, "already has a health monitor"), strings.Contains(e.message, "already present"):
		return cloudapi.AlreadyExists
	}
	return cloudapi.Conflict
}

// isImmutableMessage detects both of Octavia's messages: the one about parts of a load balancer, and the one about
// the load balancer.
func isImmutableMessage(message string) bool {
	return strings.Contains(message, "immutable") || strings.Contains(message, "Invalid state PENDING_")
}

// Wrap returns err as a *cloudapi.Error with its class, and nil for nil. Its message has the service's
// message and the status, and no request ID, so that equal errors have equal messages and Events about them
// are aggregated. service and operation identify the call.
func Wrap(service, operation string, now time.Time, err error) error {
	var classified *cloudapi.Error
	if err == nil || errors.As(err, &classified) {
		return err
	}
	return &cloudapi.Error{
		Class: Classify(err), Operation: operation, RetryAfter: retryAfter(err, now),
		Err: &serviceError{service: service, err: err},
	}
}

// retryAfter returns the time after which the service accepts a retry; 0 if it is unknown.
func retryAfter(err error, now time.Time) time.Duration {
	var response gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &response) {
		return 0
	}
	if wait := cloudapi.RetryAfter(response.ResponseHeader, now); wait > 0 {
		return wait
	}
	if IsImmutable(err) {
		return immutableWait
	}
	return 0
}

// serviceError is an error of the SDK with a message for users.
type serviceError struct {
	service string
	err     error
}

// Error implements error.
func (e *serviceError) Error() string {
	var response gophercloud.ErrUnexpectedResponseCode
	if !errors.As(e.err, &response) {
		return e.service + ": " + e.err.Error()
	}
	text := parse(response.Body).message
	if text == "" {
		text = "the response has no message of an OpenStack service; check the endpoint in the catalog"
	}
	return fmt.Sprintf("%s: %s (HTTP %d)", e.service, text, response.Actual)
}

// Unwrap returns the SDK's error.
func (e *serviceError) Unwrap() error { return e.err }

func messageOf(err error) string {
	var response gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &response) {
		return ""
	}
	return parse(response.Body).message
}

// fault is the error in a response.
type fault struct {
	// kind is Neutron's type, or Nova's key of the message.
	kind, message string
	// service reports that the body has the form of one of the services.
	service bool
}

// requestID matches the suffix of messages of Nova and Keystone.
var requestID = regexp.MustCompile(`\s*(\(Request-ID:? |<br ?/>|\n|req-)[^\n]*\z`)

// parse parses the body of an error.
func parse(body []byte) fault {
	var document map[string]json.RawMessage
	if json.Unmarshal(body, &document) != nil {
		return fault{}
	}
	if text, ok := stringAt(document, "faultstring"); ok { // Octavia
		return fault{message: clean(text), service: true}
	}
	if text, ok := stringAt(document, "description"); ok { // Barbican
		return fault{message: clean(text), service: true}
	}
	for kind, raw := range document { // the other services send one key
		var inner struct {
			Type    string `json:"type"`
			Message string `json:"message"`
			Title   string `json:"title"`
		}
		if json.Unmarshal(raw, &inner) == nil && inner.Message != "" {
			if inner.Type != "" {
				kind = inner.Type
			}
			return fault{kind: kind, message: clean(inner.Message), service: true}
		}
		var text string
		if kind == "NeutronError" && json.Unmarshal(raw, &text) == nil {
			return fault{kind: kind, message: clean(text), service: true}
		}
	}
	// Written by the web framework under a service for an unknown path.
	text, _ := stringAt(document, "message")
	return fault{message: clean(text)}
}

// isUnknownPath reports whether the service does not have the path, for example because an extension is
// disabled.
func (f fault) isUnknownPath() bool {
	return f.kind == "HTTPNotFound" || f.message == "The resource could not be found."
}

func (f fault) isQuota() bool {
	return f.kind == "OverQuota" || strings.Contains(strings.ToLower(f.message), "quota")
}

func stringAt(document map[string]json.RawMessage, key string) (string, bool) {
	var text string
	ok := json.Unmarshal(document[key], &text) == nil
	return text, ok
}

// clean removes the request ID from a message, so that equal errors have equal messages.
func clean(message string) string {
	return strings.TrimSpace(requestID.ReplaceAllString(strings.TrimSpace(message), ""))
}
