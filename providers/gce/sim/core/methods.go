package core

import (
	"net/http"
)

// Methods returns the methods of operations in all kinds of scopes.
func (s *State) Methods() []Method {
	var out []Method
	for _, service := range []struct{ name, scope, aggregated string }{
		{"globalOperations", ScopeGlobal, ""}, {"regionOperations", "regions", "-"}, {"zoneOperations", "zones", "-"},
	} {
		c := Collection[*Operation]{State: s, Service: service.name, Name: "operations", Scope: service.scope,
			Aggregated: service.aggregated}
		out = append(out, c.Methods(Method{ID: WaitVerb, Verb: http.MethodPost, Path: c.one(WaitVerb), Permission: "get",
			Do: c.get})...)
	}
	return out
}

// Methods returns the methods of the collection, followed by further ones.
func (c Collection[T]) Methods(further ...Method) []Method {
	out := []Method{
		{ID: "get", Verb: http.MethodGet, Path: c.one(), Query: c.GetQuery, Permission: "get", Do: c.get},
		{ID: "list", Verb: http.MethodGet, Path: c.path(), Query: listParameters, Permission: "list", Do: c.list},
	}
	if c.Aggregated != "-" && c.Scope != "" {
		out = append(out, Method{ID: "aggregatedList", Verb: http.MethodGet, Path: []string{"aggregated", c.Name},
			Query: aggregatedParameters, Permission: "list", Do: c.aggregated})
	}
	change := func(verb, method, permission string, path []string, do func(*Call) (any, error)) {
		out = append(out, Method{ID: verb, Verb: method, Path: path, Mutating: true, Permission: permission, Do: do})
	}
	if c.Insert != nil {
		change(verbInsert, http.MethodPost, "create", c.path(), c.insert)
		change(verbDelete, http.MethodDelete, "delete", c.one(), c.delete)
	}
	if c.Change != nil {
		change(verbPatch, http.MethodPatch, "update", c.one(), c.patch)
	}
	if c.Update {
		change(verbUpdate, http.MethodPut, "update", c.one(), c.update)
	}
	out = append(out, further...)
	for i := range out {
		m := &out[i]
		m.ID, m.Permission = c.service()+"."+m.ID, c.service()+"."+m.Permission
		if m.Mutating {
			m.Query = append(m.Query, "requestId")
		}
	}
	return out
}
