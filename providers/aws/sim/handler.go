package sim

import (
	"net/http"
	"slices"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// handler serves the APIs without faults and limits, which the front adds.
type handler struct {
	cloud     *Cloud
	catalogue map[string]map[string]operation
}

var _ http.Handler = (*handler)(nil)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isMetadata(r) {
		h.cloud.serveMetadata(w, r)
		return
	}
	w.Header().Set("Date", h.cloud.now().UTC().Format(http.TimeFormat))
	c := parseCall(r)
	id := h.cloud.requestID()
	body, err := h.serve(c, r)
	if err == nil {
		var document []byte
		if document, err = responseDocument(c, id, body); err == nil {
			send(w, c, id, http.StatusOK, h.cloud.currentDisruption().truncate(document))
			return
		}
	}
	sendError(w, c, id, refusalOf(err))
}

// serve authenticates, authorizes and runs a call, in the order of AWS.
func (h *handler) serve(c call, r *http.Request) (any, error) {
	o, known := h.catalogue[c.service][c.action]
	if !known {
		return nil, unknownAction(c)
	}
	if err := h.cloud.authenticate(c, o); err != nil {
		return nil, err
	}
	if err := h.cloud.checkSignature(c, o, r); err != nil {
		return nil, err
	}
	c.mutating = o.mutating
	if !o.open {
		if err := h.cloud.authorize(c, r.Form); err != nil {
			return nil, err
		}
	}
	c.noObjects = h.cloud.currentDisruption().Empty && !o.mutating && c.service != serviceSTS
	return h.cloud.do(c, func(t *tx) (any, error) { return o.do(t, r.Form) })
}

// describe implements kit.Describe.
func (h *handler) describe(r *http.Request) kit.Operation {
	if isMetadata(r) {
		return kit.Operation{Service: serviceIMDS, Name: metadataOperation(r)}
	}
	c := parseCall(r)
	return kit.Operation{Service: c.service, Name: c.action, Mutating: h.catalogue[c.service][c.action].mutating}
}

func unknownAction(c call) error {
	switch {
	case c.action == "" && c.service == serviceEC2:
		return missingParameter("Action")
	case c.action == "":
		return refuse("MissingAction", "The request must contain the parameter Action.")
	case c.service == serviceEC2:
		return refuse("InvalidAction", "The action %s is not valid for this web service.", c.action)
	}
	return refuse("InvalidAction", "Could not find operation %s for version %s", c.action, c.version)
}

// authenticate checks who signed, and for which region.
func (c *Cloud) authenticate(k call, o operation) error {
	if o.open {
		return nil
	}
	ec2 := k.service == serviceEC2
	switch {
	case k.malformed:
		return refuse("IncompleteSignature", "Authorization header requires 'Credential' parameter. "+
			"Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter.")
	case !k.signed && ec2:
		return refuse("AuthFailure", "AWS was not able to validate the provided access credentials")
	case !k.signed:
		return refuse("MissingAuthenticationToken", "Request is missing Authentication Token")
	case !c.knowsKey(k.credential.AccessKey) && ec2:
		return refuse("AuthFailure", "AWS was not able to validate the provided access credentials")
	case !c.knowsKey(k.credential.AccessKey):
		return refuse("InvalidClientTokenId", "The security token included in the request is invalid.")
	case k.credential.Region == c.options.Region, k.service == serviceSTS && k.credential.Region == globalRegion:
		return nil
	case ec2:
		return refuse("AuthFailure", "AWS was not able to validate the provided access credentials")
	}
	return refuse("SignatureDoesNotMatch", "Credential should be scoped to a valid region. ")
}

// globalRegion is what calls to the global endpoint of STS are signed for.
const globalRegion = "us-east-1"

// knowsKey reports whether an access key is valid: one of the options', if they name any, or one that STS issued.
func (c *Cloud) knowsKey(key string) bool {
	if len(c.options.AccessKeys) == 0 || slices.Contains(c.options.AccessKeys, key) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.state.sessions[key]
	return ok && c.clock.Now().Before(s.expires)
}

// dialect formats the errors of the front. AWS sends no Retry-After.
func (h *handler) dialect() kit.Dialect {
	return kit.Dialect{
		Error: func(w http.ResponseWriter, r *http.Request) {
			code := "InternalFailure"
			c := parseCall(r)
			if c.service == serviceEC2 {
				code = "InternalError"
			}
			sendError(w, c, h.cloud.requestID(), refusalOf(refuse(code, "An internal error has occurred")))
		},
		Throttled: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Del("Retry-After")
			c := parseCall(r)
			err := refuse("Throttling", "Rate exceeded")
			if c.service == serviceEC2 {
				err = refuse("RequestLimitExceeded", "Request limit exceeded.")
			}
			sendError(w, c, h.cloud.requestID(), refusalOf(err))
		},
	}
}

func responseDocument(c call, id string, body any) ([]byte, error) {
	namespace := namespaceOf(c.service, c.version)
	if c.service == serviceEC2 {
		return query.EC2Response(c.action, namespace, id, body)
	}
	return query.QueryResponse(c.action, namespace, id, body)
}

func sendError(w http.ResponseWriter, c call, id string, e *refusalError) {
	document := query.EC2Error(e.code, e.message, id)
	if c.service != serviceEC2 {
		fault := "Sender"
		if e.status >= http.StatusInternalServerError {
			fault = "Receiver"
		}
		document = query.QueryError(namespaceOf(c.service, c.version), fault, e.code, e.message, id)
	}
	send(w, c, id, e.status, document)
}

func send(w http.ResponseWriter, c call, id string, status int, document []byte) {
	header := w.Header()
	header.Set("Content-Type", "text/xml;charset=UTF-8")
	if c.service != serviceEC2 {
		header.Set("Content-Type", "text/xml")
	}
	header["x-amzn-RequestId"] = []string{id}
	w.WriteHeader(status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(document)
}
