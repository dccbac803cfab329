package sim

import (
	"io"
	"net/http"
	"slices"
	"strconv"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
)

// handler serves the APIs without faults and limits, which the front adds.
type handler struct {
	cloud     *Cloud
	catalogue map[string][]operation
}

var _ http.Handler = (*handler)(nil)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k, o, err := h.parseCall(r)
	var a core.Answer
	if err == nil {
		if body, bad := io.ReadAll(r.Body); bad == nil {
			k.Body = body
		}
		a, err = h.serve(k, o)
	}
	if err != nil {
		sendError(w, k, core.RefusalOf(err))
		return
	}
	send(w, k, a)
}

// parseCall finds the operation of a request. With an error, the call holds what was parsed before it.
func (h *handler) parseCall(r *http.Request) (*core.Call, *operation, error) {
	service, rest := serviceOf(r.URL.Path)
	k := &core.Call{Service: service, Method: r.Method, Query: r.URL.Query(), Header: r.Header, Base: baseOf(r),
		Path: r.URL.Path, Micro: nova.MinMicro}
	if slices.Contains(h.cloud.options.Without, service) {
		return k, nil, core.ErrNoResource()
	}
	if o := discovery(service, rest); o != nil && r.Method == http.MethodGet {
		return k, o, nil
	}
	if len(rest) < 2 || !slices.Contains(versionsOf(service), rest[0]) {
		return k, nil, core.ErrNoResource()
	}
	o, params := match(h.catalogue[service], r.Method, rest[1:])
	if o == nil {
		return k, nil, core.ErrNoResource()
	}
	k.Params, k.Operation = params, o.Name
	if service != core.ServiceCompute {
		return k, o, nil
	}
	var err error
	k.Micro, err = nova.MicroOf(r.Header)
	return k, o, err
}

// versionsOf returns the versions that a service answers at.
func versionsOf(service string) []string {
	switch service {
	case core.ServiceLoadBalancer:
		return []string{"v2.0", "v2"}
	case core.ServiceCompute:
		return []string{"v2.1", "v2"}
	}
	return []string{core.VersionOf(service)}
}

// serve authenticates and runs a call.
func (h *handler) serve(k *core.Call, o *operation) (core.Answer, error) {
	return h.cloud.do(k, func(t *tx) (core.Answer, error) {
		if !o.Open {
			if err := t.authorize(k); err != nil {
				return core.Answer{}, err
			}
		}
		if err := t.CheckVersion(); err != nil {
			return core.Answer{}, err
		}
		a, err := o.Do(t)
		if err == nil && !o.Open {
			a.Body, err = withoutHidden(a.Body, t.Hidden)
		}
		if err == nil {
			// Encoded under the lock: the body refers to the state.
			err = a.Encode()
		}
		return a, err
	})
}

// authorize checks the token of a call and what it may do.
func (t *tx) authorize(k *core.Call) error {
	if err := t.keystone.Identify(k); err != nil {
		return err
	}
	unscoped := k.Service != core.ServiceIdentity && k.Caller.Project == ""
	if unscoped || t.Options.Deny != nil && !k.Caller.Admin && t.Options.Deny(k.Service, k.Operation) {
		return core.ErrPolicy()
	}
	return nil
}

// describe implements kit.Describe.
func (h *handler) describe(r *http.Request) kit.Operation {
	k, o, _ := h.parseCall(r)
	if o == nil {
		return kit.Operation{Service: k.Service, Name: "Unknown", Mutating: r.Method != http.MethodGet &&
			r.Method != http.MethodHead}
	}
	return kit.Operation{Service: k.Service, Name: o.Name, Mutating: o.Mutating}
}

// dialect formats the errors of the front.
func (h *handler) dialect() kit.Dialect {
	return kit.Dialect{
		Error: func(w http.ResponseWriter, r *http.Request) {
			k, _, _ := h.parseCall(r)
			sendError(w, k, &core.RefusalError{Status: http.StatusInternalServerError,
				Message: "Unexpected API Error. Please try again later."})
		},
		Throttled: func(w http.ResponseWriter, r *http.Request) {
			k, _, _ := h.parseCall(r)
			sendError(w, k, &core.RefusalError{Status: http.StatusTooManyRequests, Message: "This request was rate-limited."})
		},
		Denied: func(w http.ResponseWriter, r *http.Request) {
			k, _, _ := h.parseCall(r)
			sendError(w, k, &core.RefusalError{Status: http.StatusForbidden,
				Message: "Policy does not allow this request to be performed."})
		},
	}
}

// Dialect returns how the APIs name operations and format errors, for a front before real services. Their
// URLs must have the layout of the simulator's: all at one address, each under the path of its type.
func Dialect() (kit.Describe, kit.Dialect) {
	h := &handler{cloud: &Cloud{}, catalogue: catalogue()}
	return h.describe, h.dialect()
}

func sendError(w http.ResponseWriter, k *core.Call, e *core.RefusalError) {
	a := core.Answer{Status: e.Status, Body: e.Document(k.Service)}
	if e.Status == http.StatusUnauthorized {
		a.Header = http.Header{"Www-Authenticate": {`Keystone uri="` + k.Base + `/identity"`}}
	}
	if err := a.Encode(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, k, a)
}

func send(w http.ResponseWriter, k *core.Call, a core.Answer) {
	header := w.Header()
	for name, values := range a.Header {
		header[name] = values
	}
	if k.Service == core.ServiceCompute {
		version := "2." + strconv.Itoa(k.Micro)
		header.Set("OpenStack-API-Version", "compute "+version)
		header.Set("X-OpenStack-Nova-API-Version", version)
		header.Add("Vary", "OpenStack-API-Version, X-OpenStack-Nova-API-Version")
	}
	if a.Document == nil {
		w.WriteHeader(a.Status)
		return
	}
	header.Set("Content-Type", "application/json")
	w.WriteHeader(a.Status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(a.Document)
}
