package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/oauth2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// errorBodyLimit limits the bytes of a response that are parsed for an error: codes and messages are short.
const errorBodyLimit = 64 << 10

// parseError returns the error in a response, which has no reasons if the response is not one of Compute Engine.
func parseError(status int, body []byte) *api.Error {
	var content struct {
		Error struct {
			Message string `json:"message"`
			Errors  []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
		} `json:"error"`
	}
	e := &api.Error{Status: status}
	if json.Unmarshal(body, &content) != nil {
		return e
	}
	e.Message = content.Error.Message
	for _, problem := range content.Error.Errors {
		if problem.Reason != "" {
			e.Reasons = append(e.Reasons, problem.Reason)
		}
	}
	return e
}

// classify classifies a response for metrics and rate limits.
func classify(resp *http.Response, err error) cloudapi.Class {
	if err != nil {
		return cloudapi.ClassOf(transportError("", err))
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return ""
	}
	return parseError(resp.StatusCode, cloudapi.PeekResponse(resp, errorBodyLimit)).Class()
}

// transportError classifies a request without a complete response. An error that has a class keeps it.
func transportError(call string, err error) error {
	var classified *cloudapi.Error
	if errors.As(err, &classified) {
		return err
	}
	var token *oauth2.RetrieveError
	if errors.As(err, &token) && token.Response != nil && token.Response.StatusCode < http.StatusInternalServerError {
		return &cloudapi.Error{Class: cloudapi.Denied, Operation: call,
			Err: fmt.Errorf("no access token: check the service account, or token-url in section [global]: %w", err)}
	}
	return &cloudapi.Error{Class: cloudapi.ClassifyStatus(nil, err), Operation: call, Err: err}
}
