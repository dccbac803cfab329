package client

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// errorBodyLimit limits the bytes of a response that are parsed for an error: codes and messages are short.
const errorBodyLimit = 64 << 10

// ClassOfCode returns the class of a code of the API. It is empty for unknown codes: their HTTP status has the class.
func ClassOfCode(code string) cloudapi.Class {
	switch code {
	case api.CodeNotFound:
		return cloudapi.NotFound
	case api.CodeAlreadyExists:
		return cloudapi.AlreadyExists
	case api.CodeBusy, api.CodeInUse:
		return cloudapi.Conflict
	case api.CodeThrottled:
		return cloudapi.Throttled
	case api.CodeUnauthorized, api.CodeForbidden:
		return cloudapi.Denied
	case api.CodeQuotaExceeded, api.CodePoolExhausted:
		return cloudapi.Quota
	case api.CodeInvalid:
		return cloudapi.Invalid
	case api.CodeInternal:
		return cloudapi.Unavailable
	default:
		return ""
	}
}

// classOf classifies a response with a status of 400 and above.
func classOf(status int, body api.Error) cloudapi.Class {
	if class := ClassOfCode(body.Code); class != "" {
		return class
	}
	class := cloudapi.ClassOfStatus(status)
	if class == cloudapi.NotFound || class == "" {
		// A 404 without the API's own code comes from a proxy or a wrong endpoint, and a redirect does not come
		// from this API: neither is evidence about the object.
		return cloudapi.Unknown
	}
	return class
}

// classify classifies a response for metrics.
func classify(resp *http.Response, err error) cloudapi.Class {
	if err != nil || resp.StatusCode < http.StatusMultipleChoices {
		return cloudapi.ClassifyStatus(resp, err)
	}
	return classOf(resp.StatusCode, parseError(cloudapi.PeekResponse(resp, errorBodyLimit)))
}

func parseError(body []byte) api.Error {
	var e api.Error
	if json.Unmarshal(body, &e) != nil {
		return api.Error{}
	}
	return e
}

// transportError classifies a request without a complete response. An error of the transport that has a class
// (our own rate limiter) keeps it.
func transportError(operation string, err error) error {
	var classified *cloudapi.Error
	if errors.As(err, &classified) {
		return err
	}
	return &cloudapi.Error{Class: cloudapi.ClassifyStatus(nil, err), Operation: operation, Err: err}
}
