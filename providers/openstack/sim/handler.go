package sim

import (
	"io"
	"net/http"
	"slices"
	"strconv"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// handler serves the APIs without faults and limits, which the front adds.
type handler struct {
	cloud     *Cloud
	catalogue map[string][]operation
}

var _ http.Handler = (*handler)(nil)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k, err := h.parseCall(r)
	var a answer
	if err == nil {
		if body, bad := io.ReadAll(r.Body); bad == nil {
			k.body = body
		}
		a, err = h.serve(k)
	}
	if err != nil {
		sendError(w, k, refusalOf(err))
		return
	}
	send(w, k, a)
}

// parseCall finds the operation of a request. With an error, the call holds what was parsed before it.
func (h *handler) parseCall(r *http.Request) (*call, error) {
	service, rest := serviceOf(r.URL.Path)
	k := &call{service: service, query: r.URL.Query(), header: r.Header, base: baseOf(r), path: r.URL.Path,
		micro: minMicro}
	if slices.Contains(h.cloud.options.Without, service) {
		return k, errNoResource()
	}
	if o := discovery(service, rest); o != nil && r.Method == http.MethodGet {
		k.op = o
		return k, nil
	}
	if len(rest) < 2 || !slices.Contains(versionsOf(service), rest[0]) {
		return k, errNoResource()
	}
	if k.op, k.params = match(h.catalogue[service], r.Method, rest[1:]); k.op == nil {
		return k, errNoResource()
	}
	if service != serviceCompute {
		return k, nil
	}
	var err error
	k.micro, err = microOf(r.Header)
	return k, err
}

// versionsOf returns the versions that a service answers at.
func versionsOf(service string) []string {
	switch service {
	case serviceLoadBalancer:
		return []string{"v2.0", "v2"}
	case serviceCompute:
		return []string{"v2.1", "v2"}
	}
	return []string{versionOf(service)}
}

// serve authenticates and runs a call.
func (h *handler) serve(k *call) (answer, error) {
	return h.cloud.do(k, func(t *tx) (answer, error) {
		if !k.op.open {
			if err := t.authorize(k); err != nil {
				return answer{}, err
			}
		}
		if err := t.checkVersion(); err != nil {
			return answer{}, err
		}
		a, err := k.op.do(t)
		if err == nil {
			a.body, err = t.withoutHidden(a.body)
		}
		if err == nil {
			// Encoded under the lock: the body refers to the state.
			err = a.encode()
		}
		return a, err
	})
}

// authorize checks the token of a call and what it may do.
func (t *tx) authorize(k *call) error {
	if k.token = t.valid(k.header.Get("X-Auth-Token")); k.token == nil {
		return errUnauthorized()
	}
	if t.tokensEndAfter > 0 {
		if t.tokensEndAfter--; t.tokensEndAfter == 0 {
			clear(t.tokens)
		}
	}
	unscoped := k.service != serviceIdentity && k.token.project == ""
	if unscoped || t.o.Deny != nil && !k.token.admin && t.o.Deny(k.service, k.op.name) {
		return refuse(http.StatusForbidden, "", "Policy does not allow this request to be performed.")
	}
	return nil
}

// describe implements kit.Describe.
func (h *handler) describe(r *http.Request) kit.Operation {
	k, _ := h.parseCall(r)
	if k.op == nil {
		return kit.Operation{Service: k.service, Name: "Unknown", Mutating: r.Method != http.MethodGet &&
			r.Method != http.MethodHead}
	}
	return kit.Operation{Service: k.service, Name: k.op.name, Mutating: k.op.mutating}
}

// dialect formats the errors of the front.
func (h *handler) dialect() kit.Dialect {
	return kit.Dialect{
		Error: func(w http.ResponseWriter, r *http.Request) {
			k, _ := h.parseCall(r)
			sendError(w, k, &refusalError{status: http.StatusInternalServerError,
				message: "Unexpected API Error. Please try again later."})
		},
		Throttled: func(w http.ResponseWriter, r *http.Request) {
			k, _ := h.parseCall(r)
			sendError(w, k, &refusalError{status: http.StatusTooManyRequests, message: "This request was rate-limited."})
		},
	}
}

// Dialect returns how the APIs name operations and format errors, for a front before services that were not simulated.
// Their URLs must be laid out as the simulator's are: all at one address, each at the path that is its type.
func Dialect() (kit.Describe, kit.Dialect) {
	h := &handler{cloud: &Cloud{}, catalogue: catalogue()}
	return h.describe, h.dialect()
}

func sendError(w http.ResponseWriter, k *call, e *refusalError) {
	a := answer{status: e.status, body: e.document(k.service)}
	if e.status == http.StatusUnauthorized {
		a.header = http.Header{"Www-Authenticate": {`Keystone uri="` + k.base + `/identity"`}}
	}
	if err := a.encode(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, k, a)
}

func send(w http.ResponseWriter, k *call, a answer) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = values
	}
	if k.service == serviceCompute {
		version := "2." + strconv.Itoa(k.micro)
		header.Set("OpenStack-API-Version", "compute "+version)
		header.Set("X-OpenStack-Nova-API-Version", version)
		header.Add("Vary", "OpenStack-API-Version, X-OpenStack-Nova-API-Version")
	}
	if a.document == nil {
		w.WriteHeader(a.status)
		return
	}
	header.Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(a.document)
}
