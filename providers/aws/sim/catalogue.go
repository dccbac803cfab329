package sim

import (
	"net/url"
	"reflect"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/nlb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/sts"
)

// operation is one action of a service, on the state of the cloud.
type operation struct {
	mutating, open bool
	request        reflect.Type
	do             func(*tx, url.Values) (any, error)
}

// catalogue returns every operation by service and name.
func catalogue() map[string]map[string]operation {
	out := map[string]map[string]operation{}
	bind(out, core.ServiceEC2, ec2.Operations(), func(t *tx) *ec2.Tx { return t.Tx })
	bind(out, core.ServiceELBv2, nlb.Operations(), func(t *tx) *nlb.Tx { return t.nlb })
	bind(out, core.ServiceELB, classic.Operations(), func(t *tx) *classic.Tx { return t.classic })
	bind(out, core.ServiceSTS, sts.Operations(), func(t *tx) *sts.Tx { return t.sts })
	return out
}

// bind adds the operations of a service, which run on its part of the state.
func bind[T any](
	catalogue map[string]map[string]operation, service string, list []core.Operation[T], part func(*tx) T,
) {
	catalogue[service] = map[string]operation{}
	for _, o := range list {
		catalogue[service][o.Name] = operation{o.Mutating, o.Open, o.Request, func(t *tx, form url.Values) (any, error) {
			return o.Do(part(t), service, form)
		}}
	}
}
