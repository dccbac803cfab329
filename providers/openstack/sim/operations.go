package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// operation is one action of a service. Its path is below the service's version.
type operation struct {
	service, name string
	method        string
	path          []string
	mutating      bool
	// open operations need no token.
	open bool
	do   func(*tx) (answer, error)
}

// answer is the result of an operation; a body of nil is sent as none.
type answer struct {
	status int
	body   any
	header http.Header
	// document is the body as it is sent.
	document []byte
}

func (a *answer) encode() (err error) {
	if a.body != nil {
		a.document, err = json.Marshal(a.body)
	}
	return err
}

// read builds an operation that reads.
func read(name, path string, do func(*tx) (any, error)) operation {
	return operation{name: name, method: http.MethodGet, path: split(path), do: func(t *tx) (answer, error) {
		body, err := do(t)
		return answer{status: http.StatusOK, body: body}, err
	}}
}

// write builds an operation that changes the cloud.
func write(name, method, path string, status int, do func(*tx) (any, error)) operation {
	return operation{name: name, method: method, path: split(path), mutating: true, do: func(t *tx) (answer, error) {
		body, err := do(t)
		return answer{status: status, body: body}, err
	}}
}

// create, change and remove are the writes of the usual methods and statuses.
func create(name, path string, do func(*tx) (any, error)) operation {
	return write(name, http.MethodPost, path, http.StatusCreated, do)
}

func change(name, path string, do func(*tx) (any, error)) operation {
	return write(name, http.MethodPut, path, http.StatusOK, do)
}

func remove(name, path string, do func(*tx) error) operation {
	return write(name, http.MethodDelete, path, http.StatusNoContent, func(t *tx) (any, error) { return nil, do(t) })
}

func split(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// catalogue returns every operation by service.
func catalogue() map[string][]operation {
	out := map[string][]operation{}
	add := func(service string, lists ...[]operation) {
		for _, list := range lists {
			for _, o := range list {
				o.service = service
				out[service] = append(out[service], o)
			}
		}
	}
	add(serviceIdentity, identityOperations())
	add(serviceCompute, serverOperations(), flavorOperations())
	add(serviceNetwork, networkOperations(), portOperations(), routerOperations(), floatingIPOperations(),
		securityGroupOperations(), tagOperations())
	add(serviceLoadBalancer, balancerOperations(), listenerOperations(), poolOperations(), memberOperations(),
		monitorOperations(), choiceOperations())
	add(serviceKeyManager, secretOperations())
	add(serviceImage, imageOperations())
	return out
}

// match finds the operation of a method and a path below the version.
func match(list []operation, method string, path []string) (*operation, map[string]string) {
	for i := range list {
		if list[i].method != method || len(list[i].path) != len(path) {
			continue
		}
		if params, ok := list[i].params(path); ok {
			return &list[i], params
		}
	}
	return nil, nil
}

// params reads the variable parts of a path, written as {name}.
func (o *operation) params(path []string) (map[string]string, bool) {
	var out map[string]string
	for i, part := range o.path {
		if name, ok := strings.CutPrefix(part, "{"); ok && path[i] != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[strings.TrimSuffix(name, "}")] = path[i]
		} else if part != path[i] {
			return nil, false
		}
	}
	return out, true
}

// decode reads the body's object under key into a struct. Like the services it refuses what it does not know.
func decode[T any](t *tx, key string) (T, error) {
	var in T
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(t.call.body, &envelope); err != nil {
		return in, malformed(t.call.service)
	}
	raw, ok := envelope[key]
	if !ok {
		return in, badBody(t.call.service, "Unable to find '%s' in request body", key)
	}
	return in, strict(t.call.service, raw, &in)
}

// strict decodes JSON and refuses unknown fields and wrong types.
func strict(service string, raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &wrong):
		return badBody(service, "Invalid input for field/attribute %s. Value: '%s'. Wrong type.", wrong.Field, wrong.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = strings.Trim(name, `"`)
		if service == serviceNetwork {
			return badBody(service, "Unrecognized attribute(s) '%s'", name)
		}
		return badBody(service, "Unknown attribute: %s", name)
	}
	return malformed(service)
}

func malformed(service string) error {
	if service == serviceLoadBalancer {
		return badBody(service, "Request is not in valid JSON format")
	}
	return badBody(service, "Malformed request body: it is not valid JSON.")
}

func badBody(service, format string, args ...any) error {
	kind := ""
	if service == serviceNetwork {
		kind = "HTTPBadRequest"
	}
	return refuse(http.StatusBadRequest, kind, format, args...)
}
