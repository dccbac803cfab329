package sim

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
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

// New returns a cloud. It reports all problems of the options at once.
func New(o Options) (*Cloud, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &Cloud{options: o, clock: o.Clock, state: newState(), random: rand.New(rand.NewPCG(fixtureSeed, 2))}
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
	if err := c.console((*tx).createFixtures); err != nil {
		return nil, fmt.Errorf("building the simulated project: %w", err)
	}
	c.random = rand.New(rand.NewPCG(uint64(o.Seed), 1))
	return c, nil
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k, o, err := h.parseCall(r)
	var response core.Response
	if err == nil {
		if k.Body, err = io.ReadAll(r.Body); err == nil {
			response, err = h.serve(k, o)
		}
	}
	if err != nil {
		sendError(w, k, core.RefusalOf(err))
		return
	}
	send(w, k, response)
}

// parseCall returns the call and the operation of a request. With an error, the call has the parts that were parsed
// before it.
func (h *handler) parseCall(r *http.Request) (*core.Call, *operation, error) {
	service, rest := splitPath(r.URL.Path)
	k := &core.Call{Service: service, Method: r.Method, Query: r.URL.Query(), Header: r.Header, Base: baseOf(r),
		Path: r.URL.Path, Micro: nova.MinMicro}
	if slices.Contains(h.cloud.options.Without, service) {
		return k, nil, core.ErrNoResource()
	}
	if o := discoveryOperation(service, rest); o != nil && r.Method == http.MethodGet {
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
	k.Micro, err = nova.ParseMicro(r.Header)
	return k, o, err
}

// serve authenticates and runs a call.
func (h *handler) serve(k *core.Call, o *operation) (core.Response, error) {
	return h.cloud.do(k, func(t *tx) (core.Response, error) {
		if !o.Open {
			if err := t.authorize(k); err != nil {
				return core.Response{}, err
			}
		}
		if err := t.CheckVersion(); err != nil {
			return core.Response{}, err
		}
		response, err := o.Do(t)
		if err == nil && !o.Open {
			response.Body, err = withoutHidden(response.Body, t.Hidden)
		}
		if err == nil {
			// Encoded under the lock: the body refers to the state.
			err = response.Encode()
		}
		return response, err
	})
}

// authorize checks the token of a call and the policy.
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
	respond := func(status int, message string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			k, _, _ := h.parseCall(r)
			sendError(w, k, &core.RefusalError{Status: status, Message: message})
		}
	}
	return kit.Dialect{
		Error:     respond(http.StatusInternalServerError, "Unexpected API Error. Please try again later."),
		Throttled: respond(http.StatusTooManyRequests, "This request was rate-limited."),
		Denied:    respond(http.StatusForbidden, "Policy does not allow this request to be performed."),
	}
}

// Dialect returns the names of operations and the format of errors, for a front before real services. Their URLs must
// have the layout of the simulator's: all at one address, each under the path of its type.
func Dialect() (kit.Describe, kit.Dialect) {
	h := &handler{cloud: &Cloud{}, catalogue: catalogue()}
	return h.describe, h.dialect()
}

func sendError(w http.ResponseWriter, k *core.Call, e *core.RefusalError) {
	response := core.Response{Status: e.Status, Body: e.Document(k.Service)}
	if e.Status == http.StatusUnauthorized {
		response.Header = http.Header{"Www-Authenticate": {`Keystone uri="` + k.Base + `/identity"`}}
	}
	if err := response.Encode(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, k, response)
}

func send(w http.ResponseWriter, k *core.Call, response core.Response) {
	header := w.Header()
	maps.Copy(header, response.Header)
	if k.Service == core.ServiceCompute {
		version := "2." + strconv.Itoa(k.Micro)
		header.Set("OpenStack-API-Version", "compute "+version)
		header.Set("X-OpenStack-Nova-API-Version", version)
		header.Add("Vary", "OpenStack-API-Version, X-OpenStack-Nova-API-Version")
	}
	if response.Document == nil {
		w.WriteHeader(response.Status)
		return
	}
	header.Set("Content-Type", "application/json")
	w.WriteHeader(response.Status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(response.Document)
}
