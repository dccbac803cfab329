package sim

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// service is the service of all operations in the call log.
const service = "fake"

// operation is one line of the table in the documentation of package api.
type operation struct {
	pattern string
	name    string
	// status of a successful response.
	status int
	serve  func(c *Cloud, r *http.Request) (any, error)
}

func (o operation) describe() sim.Operation {
	return sim.Operation{Service: service, Name: o.name, Mutating: !strings.HasPrefix(o.pattern, http.MethodGet)}
}

func operations() []operation {
	return slices.Concat(machineOperations(), loadBalancerOperations(), regionOperations())
}

// Statuses of successful responses.
const (
	statusOK      = http.StatusOK
	statusCreated = http.StatusCreated
	statusDeleted = http.StatusNoContent
)

func machineOperations() []operation {
	return []operation{
		{"GET /v1/instances", "ListInstances", statusOK, listInstances},
		{"POST /v1/instances", "LaunchInstances", statusOK,
			changeOp(func(t *tx, _ *http.Request, specs []api.InstanceSpec) (any, error) {
				return pageOrError(t.launch(specs))
			})},
		{"DELETE /v1/instances/{id}", "TerminateInstance", statusDeleted, deleteOp(func(t *tx, r *http.Request) error {
			return t.terminate(r.PathValue("id"))
		})},
		{"POST /v1/instances/{id}/state", "SetInstanceState", statusOK,
			changeOp(func(t *tx, r *http.Request, s api.InstanceState) (any, error) {
				return t.setInstanceState(r.PathValue("id"), s.State)
			})},
	}
}

func loadBalancerOperations() []operation {
	return []operation{
		{"GET /v1/addresses", "ListAddresses", statusOK, listAddresses},
		{"POST /v1/addresses", "AllocateAddress", statusCreated,
			changeOp(func(t *tx, _ *http.Request, s api.AddressSpec) (any, error) {
				return t.allocateAddress(s)
			})},
		{"DELETE /v1/addresses/{id}", "ReleaseAddress", statusDeleted, deleteOp(func(t *tx, r *http.Request) error {
			return t.releaseAddress(r.PathValue("id"))
		})},
		{"GET /v1/load-balancers", "ListLoadBalancers", statusOK, listLoadBalancers},
		{"POST /v1/load-balancers", "CreateLoadBalancer", statusCreated,
			changeOp(func(t *tx, _ *http.Request, s api.LoadBalancerSpec) (any, error) {
				return t.createLoadBalancer(s)
			})},
		{"PATCH /v1/load-balancers/{id}", "UpdateLoadBalancer", statusOK,
			changeOp(func(t *tx, r *http.Request, p api.LoadBalancerPatch) (any, error) {
				return t.updateLoadBalancer(r.PathValue("id"), p)
			})},
		{"DELETE /v1/load-balancers/{id}", "DeleteLoadBalancer", statusDeleted, deleteOp(func(t *tx, r *http.Request) error {
			return t.deleteLoadBalancer(r.PathValue("id"))
		})},
		{"POST /v1/load-balancers/{id}/pools", "CreatePool", statusCreated,
			changeOp(func(t *tx, r *http.Request, p api.Pool) (any, error) {
				return t.createPool(r.PathValue("id"), p)
			})},
		{"PATCH /v1/load-balancers/{id}/pools/{name}", "UpdatePool", statusOK,
			changeOp(func(t *tx, r *http.Request, p api.PoolPatch) (any, error) {
				return t.updatePool(r.PathValue("id"), r.PathValue("name"), p)
			})},
		{"DELETE /v1/load-balancers/{id}/pools/{name}", "DeletePool", statusDeleted,
			deleteOp(func(t *tx, r *http.Request) error {
				return t.deletePool(r.PathValue("id"), r.PathValue("name"))
			})},
		{"PUT /v1/load-balancers/{id}/pools/{name}/members", "SetMembers", statusOK,
			changeOp(func(t *tx, r *http.Request, m []api.Member) (any, error) {
				return t.setMembers(r.PathValue("id"), r.PathValue("name"), m)
			})},
		{"POST /v1/load-balancers/{id}/listeners", "CreateListener", statusCreated,
			changeOp(func(t *tx, r *http.Request, l api.Listener) (any, error) {
				return t.createListener(r.PathValue("id"), l)
			})},
		{"PATCH /v1/load-balancers/{id}/listeners/{name}", "UpdateListener", statusOK,
			changeOp(func(t *tx, r *http.Request, p api.ListenerPatch) (any, error) {
				return t.updateListener(r.PathValue("id"), r.PathValue("name"), p)
			})},
		{"DELETE /v1/load-balancers/{id}/listeners/{name}", "DeleteListener", statusDeleted,
			deleteOp(func(t *tx, r *http.Request) error {
				return t.deleteListener(r.PathValue("id"), r.PathValue("name"))
			})},
	}
}

func regionOperations() []operation {
	return []operation{
		{"GET /v1/routes", "ListRoutes", statusOK, listRoutes},
		{"POST /v1/routes", "CreateRoutes", statusOK, changeOp(func(t *tx, _ *http.Request, batch []api.Route) (any, error) {
			return pageOrError(eachRoute(batch, t.createRoute))
		})},
		{"POST /v1/routes/delete", "DeleteRoutes", statusOK,
			changeOp(func(t *tx, _ *http.Request, batch []api.Route) (any, error) {
				return pageOrError(eachRoute(batch, t.deleteRoute))
			})},
		{"GET /v1/zones", "ListZones", statusOK, readOp(func(t *tx) any { return singlePage(t.rules.zoneList()) })},
		{"GET /v1/instance-types", "ListInstanceTypes", statusOK,
			readOp(func(*tx) any { return singlePage(instanceTypes()) })},
		{"GET /v1/quotas", "ListQuotas", statusOK, readOp(func(t *tx) any { return singlePage(t.quotas()) })},
	}
}

func (r *rules) zoneList() []api.Zone {
	out := make([]api.Zone, 0, len(r.zones))
	for _, name := range r.zones {
		out = append(out, api.Zone{Name: name, Region: r.region})
	}
	return out
}

// readOp returns an operation without arguments and changes.
func readOp(read func(*tx) any) func(*Cloud, *http.Request) (any, error) {
	return func(c *Cloud, r *http.Request) (response any, err error) {
		err = c.store.view(r.Context(), func(t *tx) error {
			response = read(t)
			return nil
		})
		return response, err
	}
}

// changeOp returns an operation with a body of type B.
func changeOp[B any](change func(*tx, *http.Request, B) (any, error)) func(*Cloud, *http.Request) (any, error) {
	return func(c *Cloud, r *http.Request) (response any, err error) {
		body, err := decode[B](r)
		if err != nil {
			return nil, err
		}
		err = c.store.update(r.Context(), func(t *tx) (err error) {
			response, err = change(t, r, body)
			return err
		})
		return response, err
	}
}

// deleteOp returns an operation without request and response body.
func deleteOp(remove func(*tx, *http.Request) error) func(*Cloud, *http.Request) (any, error) {
	return func(c *Cloud, r *http.Request) (any, error) {
		return nil, c.store.update(r.Context(), func(t *tx) error { return remove(t, r) })
	}
}

// maxBodyBytes is far above the largest request, 10,000 members of a pool.
const maxBodyBytes = 16 << 20

// decode is strict: ignoring an unknown field would silently drop a requested change.
func decode[B any](r *http.Request) (body B, err error) {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBodyBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return body, invalid("the body of the request is not valid for %s %s, or names a field that cannot be changed: %v",
			r.Method, r.Pattern, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return body, invalid("the body of the request continues after its JSON document")
	}
	return body, nil
}

func pageOrError[T any](items []T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return singlePage(items), nil
}

// singlePage returns all objects as one page, for lists that stay short.
func singlePage[T any](items []T) api.Page[T] { return api.Page[T]{Items: orEmpty(items)} }
