package core

import (
	"errors"
	"net/url"
	"reflect"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// Operation is one action of a service, on its part T of the state.
type Operation[T any] struct {
	Name     string
	Mutating bool
	// Open operations need no signature.
	Open bool
	// Request is the struct that a request is decoded into.
	Request reflect.Type
	Do      func(t T, service string, form url.Values) (any, error)
}

// Done is the response of EC2 operations without other content.
type Done struct {
	Return bool `xml:"return"`
}

// Nothing is a request or a response without members.
type Nothing struct{}

// Read builds an operation that reads; In and Out are the structs of its request and its response.
func Read[T, In, Out any](name string, do func(T, In) (Out, error)) Operation[T] {
	run := func(t T, service string, form url.Values) (any, error) {
		in, dry, err := decode[In](service, form)
		if err != nil {
			return nil, err
		}
		if dry {
			return nil, errDryRun()
		}
		return do(t, in)
	}
	return Operation[T]{Name: name, Request: reflect.TypeFor[In](), Do: run}
}

// Write builds an operation that changes the cloud.
func Write[T, In, Out any](name string, do func(T, In) (Out, error)) Operation[T] {
	o := Read(name, do)
	o.Mutating = true
	return o
}

// On returns an operation on the object in the request: it looks up the object before the operation runs.
func On[T any, In interface{ Object(T) (O, error) }, O, Out any](
	do func(T, O, In) (Out, error),
) func(T, In) (Out, error) {
	return func(t T, in In) (out Out, err error) {
		x, err := in.Object(t)
		if err != nil {
			return out, err
		}
		return do(t, x, in)
	}
}

// errDryRun returns the response to a dry run. Like in EC2 it precedes the checks of the request's values.
func errDryRun() error {
	return Refuse("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
}

// IsProtocolParameter reports whether a parameter belongs to the protocol and not to an operation.
func IsProtocolParameter(parameter string) bool {
	return parameter == "Action" || parameter == "Version" || strings.HasPrefix(parameter, "X-Amz-")
}

// decode parses a request. EC2 rejects unknown parameters, the other services ignore them.
func decode[In any](service string, form url.Values) (in In, dry bool, err error) {
	values := url.Values{}
	for name, texts := range form {
		if !IsProtocolParameter(name) {
			values[name] = texts
		}
	}
	if service == ServiceEC2 {
		dry = strings.EqualFold(values.Get("DryRun"), "true")
		values.Del("DryRun")
	}
	unknown, err := query.Decode(values, &in)
	var invalid *query.ValueError
	switch {
	case errors.As(err, &invalid) && service == ServiceEC2:
		return in, dry, InvalidValue("Invalid value '%s' for %s. Expecting a %s.", invalid.Value, invalid.Parameter,
			invalid.Type)
	case errors.As(err, &invalid):
		return in, dry, Refuse("MalformedInput", "%s is not a valid %s.", invalid.Value, invalid.Type)
	case err != nil:
		return in, dry, err
	case len(unknown) > 0 && service == ServiceEC2:
		return in, dry, Refuse("UnknownParameter", "The parameter %s is not recognized", unknown[0])
	}
	return in, dry, nil
}
