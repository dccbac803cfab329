package aws

import (
	"fmt"
	"net/http"
	"regexp"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// genuine takes no answer of EC2's for a success that does not say of which call it is. The SDK
// reads any well-formed page, such as a proxy's, as an answer without content: as the word of EC2
// that no instance exists. The other services' answers have another element inside, without which
// the SDK does not read them.
type genuine struct{ base http.RoundTripper }

// rootElement is the first element of an XML document, after its declaration.
var rootElement = regexp.MustCompile(`\A[\s\x{feff}]*(?:<\?[^>]*>\s*)?<([A-Za-z0-9]+)[\s/>]`)

// rootLimit is how much of an answer is looked at for its first element.
const rootLimit = 1 << 10

// RoundTrip implements http.RoundTripper.
func (g *genuine) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := g.base.RoundTrip(r)
	asked := describe(r)
	if err != nil || asked.Service != string(serviceEC2) || resp.StatusCode >= http.StatusMultipleChoices {
		return resp, err
	}
	head := cloudapi.PeekResponse(resp, rootLimit)
	if root := rootElement.FindSubmatch(head); root != nil && string(root[1]) == asked.Operation+"Response" {
		return resp, nil
	}
	_ = resp.Body.Close() // nothing of it is of use
	return nil, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: asked.Operation,
		Err: fmt.Errorf("the answer is not one of EC2: it begins with %s; see whether a proxy answers in its place", intent.Quote(string(head)))}
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (g *genuine) CloseIdleConnections() { cloudapi.CloseIdle(g.base) }
