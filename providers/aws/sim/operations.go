package sim

import (
	"errors"
	"net/url"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// operation is one action of a service.
type operation struct {
	service, name string
	mutating      bool
	// open operations need no signature.
	open bool
	do   func(t *tx, form url.Values) (any, error)
}

// done is the response of EC2 operations that return nothing else.
type done struct {
	Return bool `xml:"return"`
}

// nothing is the result of operations without members in it.
type nothing struct{}

// read builds an operation that reads; In and Out are the structs of its request and its response.
func read[In, Out any](name string, do func(*tx, In) (Out, error)) operation {
	return operation{name: name, do: func(t *tx, form url.Values) (any, error) {
		in, dry, err := decode[In](t.call.service, form)
		if err != nil {
			return nil, err
		}
		if dry {
			return nil, errDryRun()
		}
		return do(t, in)
	}}
}

// write builds an operation that changes the cloud.
func write[In, Out any](name string, do func(*tx, In) (Out, error)) operation {
	o := read(name, do)
	o.mutating = true
	return o
}

// on returns an operation on the object that the request names: the object is looked up before the operation runs.
func on[In interface{ object(*tx) (O, error) }, O, Out any](
	do func(*tx, O, In) (Out, error),
) func(*tx, In) (Out, error) {
	return func(t *tx, in In) (out Out, err error) {
		x, err := in.object(t)
		if err != nil {
			return out, err
		}
		return do(t, x, in)
	}
}

// These are the parts of requests that name an object.
type (
	ofClassic     struct{ LoadBalancerName string }
	ofBalancer    struct{ LoadBalancerArn string }
	ofTargetGroup struct{ TargetGroupArn string }
	ofListener    struct{ ListenerArn string }
)

func (n ofClassic) object(t *tx) (*classic, error)         { return t.classicOf(n.LoadBalancerName) }
func (n ofBalancer) object(t *tx) (*balancer, error)       { return t.balancerOf(n.LoadBalancerArn) }
func (n ofTargetGroup) object(t *tx) (*targetGroup, error) { return t.targetGroupOf(n.TargetGroupArn) }
func (n ofListener) object(t *tx) (*listener, error)       { return t.listenerOf(n.ListenerArn) }

// errDryRun returns the response to a dry run. Like EC2 it comes before the values of the request are checked.
func errDryRun() error {
	return refuse("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
}

// decode reads a request. EC2 refuses parameters that it does not know, the other services ignore them.
func decode[In any](service string, form url.Values) (in In, dry bool, err error) {
	values := url.Values{}
	for name, texts := range form {
		if name != "Action" && name != "Version" && !strings.HasPrefix(name, "X-Amz-") {
			values[name] = texts
		}
	}
	if service == serviceEC2 {
		dry = strings.EqualFold(values.Get("DryRun"), "true")
		values.Del("DryRun")
	}
	unknown, err := query.Decode(values, &in)
	var bad *query.ValueError
	switch {
	case errors.As(err, &bad) && service == serviceEC2:
		return in, dry, invalidValue("Invalid value '%s' for %s. Expecting a %s.", bad.Value, bad.Parameter, bad.Type)
	case errors.As(err, &bad):
		return in, dry, refuse("MalformedInput", "%s is not a valid %s.", bad.Value, bad.Type)
	case err != nil:
		return in, dry, err
	case len(unknown) > 0 && service == serviceEC2:
		return in, dry, refuse("UnknownParameter", "The parameter %s is not recognized", unknown[0])
	}
	return in, dry, nil
}

// catalogue returns every operation by service and name.
func catalogue() map[string]map[string]operation {
	out := map[string]map[string]operation{}
	add := func(service string, lists ...[]operation) {
		out[service] = map[string]operation{}
		for _, list := range lists {
			for _, o := range list {
				o.service = service
				out[service][o.name] = o
			}
		}
	}
	add(serviceEC2, instanceOperations(), networkOperations(), routeOperations(), securityGroupOperations(),
		interfaceOperations(), addressOperations(), tagOperations())
	add(serviceELBv2, v2BalancerOperations(), v2ListenerOperations(), v2TargetGroupOperations(), v2TargetOperations(),
		v2TagOperations())
	add(serviceELB, classicBalancerOperations(), classicListenerOperations(), classicPolicyOperations(),
		classicInstanceOperations())
	add(serviceSTS, stsOperations())
	return out
}
