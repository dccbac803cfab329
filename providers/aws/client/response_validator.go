package client

import (
	"fmt"
	"net/http"
	"regexp"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// responseValidator rejects successful responses of EC2 that do not name the called operation. The
// SDK parses any well-formed page, such as a proxy's, as an empty response: as if EC2 said that no
// instance exists. Responses of the other services have a nested result element, without which the
// SDK returns an error itself.
type responseValidator struct{ base http.RoundTripper }

// rootElement matches the root element of an XML document, after its declaration.
var rootElement = regexp.MustCompile(`\A[\s\x{feff}]*(?:<\?[^>]*>\s*)?<([A-Za-z0-9]+)[\s/>]`)

// rootLimit bounds the bytes that are searched for the root element.
const rootLimit = 1 << 10

// RoundTrip implements http.RoundTripper.
func (v *responseValidator) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := v.base.RoundTrip(r)
	req := describe(r)
	if err != nil || req.Service != string(api.ServiceEC2) || resp.StatusCode >= http.StatusMultipleChoices {
		return resp, err
	}
	head := cloudapi.PeekResponse(resp, rootLimit)
	if root := rootElement.FindSubmatch(head); root != nil && string(root[1]) == req.Operation+"Response" {
		return resp, nil
	}
	_ = resp.Body.Close() // the response is discarded
	return nil, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: req.Operation, Err: fmt.Errorf(
		"unexpected response from EC2 (starts with %s): check for a proxy between ccm and AWS", intent.Quote(string(head)))}
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (v *responseValidator) CloseIdleConnections() { cloudapi.CloseIdleConnections(v.base) }
