package sim

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

var _ http.Handler = (*handler)(nil)

// New builds a cloud, or reads it from the state file. It reports all invalid options at once, by name.
func New(o Options) (*Cloud, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s, err := openStore(o.StateFile, o.rules(), o.Clock)
	if err != nil {
		return nil, err
	}
	c := &Cloud{options: o, store: s}
	c.handler = newHandler(c)
	c.front = sim.NewFront(sim.FrontOptions{
		Handler:   c.handler,
		Describe:  c.handler.describe,
		Dialect:   dialect(),
		Clock:     o.Clock,
		Latency:   o.Latency,
		Limits:    o.limits(),
		Seed:      o.Seed,
		ErrorRate: o.ErrorRate,
		LogLimit:  callLogLimit,
	})
	if !o.Standby {
		c.StartDataPlane()
	}
	return c, nil
}

func newHandler(c *Cloud) *handler {
	h := &handler{cloud: c, mux: http.NewServeMux(), byPattern: map[string]sim.Operation{}}
	for _, o := range operations() {
		h.byPattern[o.pattern] = o.describe()
		h.mux.HandleFunc(o.pattern, func(w http.ResponseWriter, r *http.Request) {
			response, err := o.serve(c, r)
			if err != nil {
				writeError(w, err)
				return
			}
			writeJSON(w, o.status, response)
		})
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.authorized(r) {
		writeError(w, refuse(api.CodeUnauthorized, "the token is missing or wrong"))
		return
	}
	if _, pattern := h.mux.Handler(r); pattern == "" {
		writeError(w, refuse(api.CodeNotFound, "%s %s is not an operation of this API", r.Method, r.URL.Path))
		return
	}
	h.mux.ServeHTTP(w, r)
}

func (h *handler) authorized(r *http.Request) bool {
	want := h.cloud.options.Token
	if want == "" {
		return true
	}
	have := r.Header.Get("Authorization")
	return subtle.ConstantTimeCompare([]byte(have), []byte("Bearer "+want)) == 1
}

// describe implements sim.Describe.
func (h *handler) describe(r *http.Request) sim.Operation {
	_, pattern := h.mux.Handler(r)
	if o, ok := h.byPattern[pattern]; ok {
		return o
	}
	return sim.Operation{Service: service, Name: "Unknown", Mutating: r.Method != http.MethodGet}
}

// dialect formats the errors of the front for this cloud. The front adds Retry-After.
func dialect() sim.Dialect {
	return sim.Dialect{
		Error: func(w http.ResponseWriter, _ *http.Request) {
			writeError(w, refuse(api.CodeInternal, "an internal error occurred"))
		},
		Throttled: func(w http.ResponseWriter, _ *http.Request) {
			writeError(w, refuse(api.CodeThrottled, "too many requests: try again later"))
		},
		Denied: func(w http.ResponseWriter, _ *http.Request) {
			writeError(w, refuse(api.CodeForbidden, "the credentials do not allow this call"))
		},
	}
}

func writeError(w http.ResponseWriter, err error) {
	r := refusalOf(err)
	writeJSON(w, r.status, r.body)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	content, err := json.Marshal(body)
	if err != nil { // no type of package api can fail
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// This only fails if the client has disconnected.
	_, _ = w.Write(content)
}
