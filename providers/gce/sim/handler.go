package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/auth"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/lb"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// Names of the other services than Compute Engine in the call log.
const (
	serviceTokens   = "oauth2"
	serviceMetadata = "metadata"
)

// pathAPI is the root of the API.
const pathAPI = "/compute/v1/"

// handler serves the APIs without faults and limits, which the front adds.
type handler struct {
	cloud   *Cloud
	methods []core.Method
}

var _ http.Handler = (*handler)(nil)

// New returns a cloud. It reports all problems of the options at once.
func New(o Options) (*Cloud, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &Cloud{options: o, clock: o.Clock, random: rand.New(rand.NewPCG(uint64(o.Seed), 1)), deny: o.Deny,
		used: map[string]bool{}}
	base := core.NewState(&c.options, c.random)
	c.state = lb.NewState(vm.NewState(vpc.NewState(base)))
	c.tokens = &auth.Tokens{Clock: o.Clock, Life: o.TokenLife, Account: o.User(), Project: o.Project,
		Secret: func() string { return fmt.Sprintf("%016x%016x", c.random.Uint64(), c.random.Uint64()) }}
	h := &handler{cloud: c, methods: c.state.Methods()}
	c.front = kit.NewFront(kit.FrontOptions{
		Handler:   h,
		Describe:  h.describe,
		Dialect:   dialect(),
		Clock:     o.Clock,
		Latency:   o.Latency,
		Limits:    o.Limits,
		Seed:      o.Seed,
		ErrorRate: o.ErrorRate,
		LogLimit:  callLogLimit,
	})
	c.inspect(createFixtures)
	return c, nil
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case auth.IsRequest(r):
		h.cloud.inspect(func(*lb.State) { h.cloud.tokens.Serve(w, r) })
		return
	case auth.IsMetadata(r):
		h.cloud.inspect(func(s *lb.State) { h.cloud.tokens.ServeMetadata(w, r, h.cloud.machine(s)) })
		return
	}
	document, err := h.serve(r)
	if err != nil {
		sendError(w, core.RefusalOf(err))
		return
	}
	send(w, http.StatusOK, document)
}

// parse returns the call and the method of a request. Without a method the call has no parameters.
func (h *handler) parse(r *http.Request) (*core.Call, *core.Method) {
	k := &core.Call{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query()}
	rest, ok := strings.CutPrefix(r.URL.Path, pathAPI)
	parts := core.SplitPath(rest)
	if !ok || len(parts) < 2 || parts[0] != "projects" {
		return k, nil
	}
	if len(parts) == 2 {
		parts = append(parts, "")
	}
	m, params := match(h.methods, r.Method, slices.DeleteFunc(parts[2:], func(p string) bool { return p == "" }))
	if m == nil {
		return k, nil
	}
	params["project"] = h.cloud.options.ProjectID(parts[1])
	k.ID, k.Params = m.ID, params
	k.Target = core.Ref{Project: params["project"], Scope: k.Scope()}
	if params["project"] == "" {
		k.Target.Project = parts[1]
	}
	return k, m
}

// serve runs a call and encodes its result.
func (h *handler) serve(r *http.Request) ([]byte, error) {
	k, m := h.parse(r)
	if m == nil {
		return nil, core.ErrNoMethod(r.Method, r.URL.Path)
	}
	var err error
	if k.Body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	if strings.HasSuffix(m.ID, "."+core.WaitVerb) {
		h.wait(r.Context(), k)
	}
	return ask(h.cloud, func(s *lb.State) ([]byte, error) {
		if !h.cloud.tokens.Allows(r) {
			return nil, core.ErrUnauthorized()
		}
		body, err := h.cloud.run(s, k, m)
		if err != nil {
			return nil, err
		}
		if body, err = core.SelectFields(k.Query.Get("fields"), body); err != nil {
			return nil, err
		}
		// Encoded under the lock: the body refers to the state.
		return json.Marshal(body)
	})
}

// wait waits until the operation of a call is done, or for two minutes. It does not hold the lock of the cloud.
func (h *handler) wait(ctx context.Context, k *core.Call) {
	deadline := h.cloud.clock.Now().Add(core.WaitLimit)
	for now := h.cloud.clock.Now(); now.Before(deadline); now = h.cloud.clock.Now() {
		var until time.Time
		h.cloud.inspect(func(s *lb.State) { until = s.Wait(k) })
		if until.IsZero() || clocks.Sleep(ctx, h.cloud.clock, min(until.Sub(now), deadline.Sub(now))) != nil {
			return
		}
	}
}

// run checks and runs a call in the order of the API: the query, the project, the permission, the place.
func (c *Cloud) run(s *lb.State, k *core.Call, m *core.Method) (any, error) {
	if err := k.CheckQuery(m.Query); err != nil {
		return nil, err
	}
	if k.Project() == "" {
		return nil, core.ErrNotFound(core.Ref{Project: k.Target.Project})
	}
	k.Allow = c.allow
	if err := k.Permit(m.Permission, core.Ref{Project: k.Project()}); err != nil {
		return nil, err
	}
	if err := c.checkPlace(k, m); err != nil {
		return nil, err
	}
	if !m.Mutating {
		return m.Do(k)
	}
	if op, err := s.Repeated(k); op != nil || err != nil {
		return op, err
	}
	body, err := m.Do(k)
	if err != nil {
		r := core.RefusalOf(err)
		if !c.options.LateErrors || !r.MayBeLate {
			return nil, err
		}
		body = s.FailLater(k, r)
	}
	if op, ok := body.(*core.Operation); ok {
		s.Remember(k, op)
	}
	return body, nil
}

// checkPlace checks that the zone or the region of a call exists.
func (c *Cloud) checkPlace(k *core.Call, m *core.Method) error {
	if zone, ok := k.Params["zone"]; ok && m.ID != "zones.get" && !slices.Contains(c.options.AllZones(), zone) {
		return core.Invalid("zone", zone, "Unknown zone.")
	}
	if region, ok := k.Params["region"]; ok && m.ID != "regions.get" && !slices.Contains(c.options.Regions(), region) {
		return core.Invalid("region", region, "Unknown region.")
	}
	return nil
}

// allow decides about a permission and records it.
func (c *Cloud) allow(permission, project string) bool {
	if c.deny != nil && c.deny(permission, project) {
		return false
	}
	c.used[permission+" in "+project] = true
	return true
}

// describe implements kit.Describe.
func (h *handler) describe(r *http.Request) kit.Operation {
	switch {
	case auth.IsRequest(r):
		return kit.Operation{Service: serviceTokens, Name: serviceTokens + ".token"}
	case auth.IsMetadata(r):
		return kit.Operation{Service: serviceMetadata, Name: serviceMetadata + ".get"}
	}
	k, m := h.parse(r)
	if m == nil {
		return kit.Operation{Service: core.ServiceCompute, Name: "Unknown", Mutating: r.Method != http.MethodGet}
	}
	return kit.Operation{Service: core.ServiceCompute, Name: k.ID, Mutating: m.Mutating}
}

// dialect formats the errors of the front. The API sends no Retry-After.
func dialect() kit.Dialect {
	respond := func(refusal *core.RefusalError) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("Retry-After")
			sendError(w, refusal)
		}
	}
	return kit.Dialect{
		Error: respond(core.ErrInternal()), Throttled: respond(core.ErrRate()),
		Denied: respond(core.RefusalOf(core.ErrForbidden("compute.projects.get", "projects"))),
	}
}

func sendError(w http.ResponseWriter, e *core.RefusalError) {
	document, err := json.Marshal(e.Document())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, e.Status, document)
}

func send(w http.ResponseWriter, status int, document []byte) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(document)
}

// match finds the method of a verb of HTTP and a path below the project.
func match(list []core.Method, verb string, path []string) (*core.Method, map[string]string) {
	for i := range list {
		if list[i].Verb != verb || len(list[i].Path) != len(path) {
			continue
		}
		if params, ok := paramsOf(list[i].Path, path); ok {
			return &list[i], params
		}
	}
	return nil, nil
}

// paramsOf reads the variable parts of a path, written as {name}.
func paramsOf(pattern, path []string) (map[string]string, bool) {
	out := map[string]string{}
	for i, part := range pattern {
		if name, ok := strings.CutPrefix(part, "{"); ok && path[i] != "" {
			out[strings.TrimSuffix(name, "}")] = path[i]
		} else if part != path[i] {
			return nil, false
		}
	}
	return out, true
}

// Methods returns all methods of the API that are simulated.
func (c *Cloud) Methods() []core.Method { return c.state.Methods() }
