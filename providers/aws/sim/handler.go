package sim

import (
	"math/rand/v2"
	"net/http"
	"slices"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/imds"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// handler serves the APIs. The front adds faults and rate limits.
type handler struct {
	cloud     *Cloud
	catalogue map[string]map[string]operation
}

var _ http.Handler = (*handler)(nil)

// New returns a cloud. It reports all problems of the options at once.
func New(o Options) (*Cloud, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &Cloud{options: o, clock: o.Clock, state: newState(), random: rand.New(rand.NewPCG(uint64(o.Seed), 1)),
		used: map[string]int{}, permissions: NewPermissions()}
	if len(o.Policy) > 0 {
		policy, err := iam.Parse(o.Policy)
		if err != nil {
			return nil, err
		}
		c.policy = &policy
	}
	h := &handler{cloud: c, catalogue: catalogue()}
	c.front = kit.NewFront(kit.FrontOptions{
		Handler:   h,
		Describe:  h.describe,
		Dialect:   h.dialect(),
		Clock:     o.Clock,
		Latency:   o.Latency,
		Limits:    o.Limits,
		Seed:      o.Seed,
		ErrorRate: o.ErrorRate,
		LogLimit:  callLogLimit,
	})
	c.inspect(func(t *tx) { t.CreateFixtures() })
	return c, nil
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if imds.IsRequest(r) {
		imds.Service{Now: h.cloud.clock.Now, Inspect: func(read func(*imds.Tx)) {
			h.cloud.inspect(func(t *tx) { read(t.imds) })
		}}.ServeHTTP(w, r)
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
	sendError(w, c, id, core.RefusalOf(err))
}

// serve authenticates, authorizes and runs a call, in the same order as AWS.
func (h *handler) serve(c core.Call, r *http.Request) (any, error) {
	o, known := h.catalogue[c.Service][c.Action]
	if !known {
		return nil, unknownAction(c)
	}
	if err := h.cloud.authenticate(c, o); err != nil {
		return nil, err
	}
	if err := h.cloud.checkSignature(c, o, r); err != nil {
		return nil, err
	}
	c.Mutating = o.mutating
	if !o.open {
		if err := h.cloud.authorize(c, r.Form); err != nil {
			return nil, err
		}
	}
	if err := checkModel(c, r.Form); err != nil {
		return nil, err
	}
	c.NoObjects = h.cloud.currentDisruption().Empty && !o.mutating && c.Service != core.ServiceSTS
	return h.cloud.do(c, func(t *tx) (any, error) { return o.do(t, r.Form) })
}

// describe implements kit.Describe.
func (h *handler) describe(r *http.Request) kit.Operation {
	if imds.IsRequest(r) {
		return kit.Operation{Service: core.ServiceIMDS, Name: imds.Operation(r)}
	}
	c := parseCall(r)
	return kit.Operation{Service: c.Service, Name: c.Action, Mutating: h.catalogue[c.Service][c.Action].mutating}
}

func unknownAction(c core.Call) error {
	switch {
	case c.Action == "" && c.Service == core.ServiceEC2:
		return core.MissingParameter("Action")
	case c.Action == "":
		return core.Refuse("MissingAction", "The request must contain the parameter Action.")
	case c.Service == core.ServiceEC2:
		return core.Refuse("InvalidAction", "The action %s is not valid for this web service.", c.Action)
	}
	return core.Refuse("InvalidAction", "Could not find operation %s for version %s", c.Action, c.Version)
}

// authenticate checks the access key and the region of a call.
func (c *Cloud) authenticate(k core.Call, o operation) error {
	if o.open {
		return nil
	}
	known := k.Signed && c.knowsKey(k.Credential.AccessKey)
	inRegion := k.Credential.Region == c.options.Region ||
		k.Service == core.ServiceSTS && k.Credential.Region == core.GlobalRegion
	switch {
	case k.Malformed:
		return core.Refuse("IncompleteSignature", "Authorization header requires 'Credential' parameter. "+
			"Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter.")
	case known && inRegion:
		return nil
	case k.Service == core.ServiceEC2:
		return errAuthFailure()
	case !k.Signed:
		return core.Refuse("MissingAuthenticationToken", "Request is missing Authentication Token")
	case !known:
		return core.Refuse("InvalidClientTokenId", "The security token included in the request is invalid.")
	}
	return core.Refuse("SignatureDoesNotMatch", "Credential should be scoped to a valid region. ")
}

// knowsKey reports whether an access key is valid: any key if the options list none, else a key of the options or of an
// STS session that has not expired.
func (c *Cloud) knowsKey(key string) bool {
	if len(c.options.AccessKeys) == 0 || slices.Contains(c.options.AccessKeys, key) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.state.sts.Sessions[key]
	return ok && c.clock.Now().Before(s.Expires)
}

// dialect formats the errors that the front returns. AWS sends no Retry-After.
func (h *handler) dialect() kit.Dialect {
	respond := func(errEC2, errOther error) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Del("Retry-After")
			c, err := parseCall(r), errOther
			if c.Service == core.ServiceEC2 {
				err = errEC2
			}
			sendError(w, c, h.cloud.requestID(), core.RefusalOf(err))
		}
	}
	const internal = "An internal error has occurred"
	return kit.Dialect{
		Error: respond(core.Refuse("InternalError", internal), core.Refuse("InternalFailure", internal)),
		Throttled: respond(core.Refuse("RequestLimitExceeded", "Request limit exceeded."),
			core.Refuse("Throttling", "Rate exceeded")),
		Denied: respond(core.Refuse("UnauthorizedOperation", "You are not authorized to perform this operation."),
			core.Refuse("AccessDenied", "User is not authorized to perform this action")),
	}
}

func responseDocument(c core.Call, id string, body any) ([]byte, error) {
	namespace := namespaceOf(c.Service, c.Version)
	if c.Service == core.ServiceEC2 {
		return query.EC2Response(c.Action, namespace, id, body)
	}
	return query.QueryResponse(c.Action, namespace, id, body)
}

func sendError(w http.ResponseWriter, c core.Call, id string, e *core.RefusalError) {
	document := query.EC2Error(e.Code, e.Message, id)
	if c.Service != core.ServiceEC2 {
		fault := "Sender"
		if e.Status >= http.StatusInternalServerError {
			fault = "Receiver"
		}
		document = query.QueryError(namespaceOf(c.Service, c.Version), fault, e.Code, e.Message, id)
	}
	send(w, c, id, e.Status, document)
}

func send(w http.ResponseWriter, c core.Call, id string, status int, document []byte) {
	header := w.Header()
	header.Set("Content-Type", "text/xml;charset=UTF-8")
	if c.Service != core.ServiceEC2 {
		header.Set("Content-Type", "text/xml")
	}
	header["x-amzn-RequestId"] = []string{id}
	w.WriteHeader(status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(document)
}
