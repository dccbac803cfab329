package core

import (
	"net/http"
	"time"
)

// WaitLimit is how long the method wait waits at most.
const WaitLimit = 2 * time.Minute

// WaitVerb is the method that answers when the operation is done; the handler waits, without the cloud's lock.
const WaitVerb = "wait"

// OperationMethods returns the methods of operations in all kinds of scopes.
func OperationMethods() []Method[*State] {
	var out []Method[*State]
	for _, service := range []struct{ name, scope, aggregated string }{
		{"globalOperations", ScopeGlobal, ""}, {"regionOperations", "regions", "-"}, {"zoneOperations", "zones", "-"},
	} {
		c := Collection[*State, *Operation]{Service: service.name, Name: "operations", Kind: "operation",
			Scope: service.scope, New: func() *Operation { return &Operation{} }, ListKindAggregated: service.aggregated}
		out = append(out, c.Methods()...)
		out = append(out, Method[*State]{ID: service.name + "." + WaitVerb, Verb: http.MethodPost, Path: c.one(WaitVerb),
			Permission: service.name + ".get", Do: c.get})
	}
	return out
}
