package sim

import (
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/barbican"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/keystone"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/octavia"
)

// operation is one action of a service, on the state of the cloud.
type operation struct {
	core.Operation[*tx]
	service string
}

// catalogue returns every operation by service.
func catalogue() map[string][]operation {
	out := map[string][]operation{}
	bind(out, core.ServiceIdentity, keystone.Operations(), func(t *tx) *keystone.Tx { return t.keystone })
	bind(out, core.ServiceCompute, nova.Operations(), func(t *tx) *nova.Tx { return t.nova })
	bind(out, core.ServiceNetwork, neutron.Operations(), func(t *tx) *neutron.Tx { return t.neutron })
	bind(out, core.ServiceLoadBalancer, octavia.Operations(), func(t *tx) *octavia.Tx { return t.Tx })
	bind(out, core.ServiceKeyManager, barbican.Operations(), func(t *tx) *barbican.Tx { return t.barbican })
	bind(out, core.ServiceImage, nova.ImageOperations(), func(t *tx) *nova.Tx { return t.nova })
	return out
}

// bind adds the operations of a service, which run on its part of the state.
func bind[X any](catalogue map[string][]operation, service string, list []core.Operation[X], part func(*tx) X) {
	for _, o := range list {
		catalogue[service] = append(catalogue[service], operation{service: service, Operation: core.Operation[*tx]{
			Name: o.Name, Method: o.Method, Path: o.Path, Mutating: o.Mutating, Open: o.Open,
			Do: func(t *tx) (core.Response, error) { return o.Do(part(t)) },
		}})
	}
}

// match finds the operation of a method and a path below the version.
func match(list []operation, method string, path []string) (*operation, map[string]string) {
	for i := range list {
		if list[i].Method != method || len(list[i].Path) != len(path) {
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
	for i, part := range o.Path {
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
