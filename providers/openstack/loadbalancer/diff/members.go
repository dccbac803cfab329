package diff

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// Members returns the changes of the members of existing pools, so that nodes join and leave while other changes are
// held or the Service is invalid. New members copy the settings of existing ones in the pool.
func Members(key observe.Key, input model.Input, have observe.Observed) (plan.Plan, error) {
	d := newDiffer(key, have)
	lb := have.LoadBalancer
	if lb == nil || d.owner && d.key.Foreign(*lb) != "" || !d.isProven() {
		return d.plan, nil
	}
	d.want.Serial = input.Settings.Serial
	service, ignored := ignoreInvalidSelector(input.Service)
	input.Service = service
	var pools []observe.Pool
	for _, l := range have.Listeners {
		pool, ok := d.poolOf(l.DefaultPoolID)
		// Members that were not read equal the desired ones, or Diff plans their change.
		if !ok || !d.ownsListener(l) || d.planned[pool.ID] || pool.Checksum != "" {
			continue
		}
		d.planned[pool.ID] = true
		port := model.Port{Transport: transportOf(l.Protocol), Number: l.ProtocolPort}
		if port.Members, port.Unowned = input.MembersLike(d.memberTemplate(pool, service, port)); port.Members != nil {
			if ignored {
				port.Members = filterExisting(port.Members, pool.Members)
			}
			pools, d.want.Ports = append(pools, pool), append(d.want.Ports, port)
		}
	}
	d.keepUnowned()
	for i, pool := range pools {
		if change, ok := d.membersUpdate(pool, d.want.Ports[i]); ok {
			d.add(change)
		}
	}
	d.plan = holdInError(d.plan, *lb)
	d.openMembers(input)
	return d.plan, nil
}

// openMembers attaches the Service's security group to the ports of members, which otherwise receive no traffic.
// Ports of other nodes keep it until the Service is valid: the members of pools that were not read are unknown here.
func (d *differ) openMembers(input model.Input) {
	if len(d.have.Groups) == 0 {
		return
	}
	var list []api.Member
	for _, port := range d.want.Ports {
		list = append(list, port.Members...)
	}
	group := d.have.Groups[0]
	for _, port := range input.GroupPorts(list) {
		if !d.hasGroup(port.ID, group.ID) {
			d.add(d.portAttach(port, reference{ID: group.ID, Name: group.Name}, nil))
		}
	}
}

// holdInError holds the changes of a load balancer in the state ERROR, which Octavia does not accept.
func holdInError(p plan.Plan, lb api.LoadBalancer) plan.Plan {
	if lb.ProvisioningStatus != api.Error {
		return p
	}
	for _, change := range p.Changes {
		p.Held = append(p.Held, plan.HeldChange{Change: change, Reason: "the load balancer is in the state ERROR"})
	}
	p.Changes = nil
	return p
}

// ignoreInvalidSelector returns a Service that selects all nodes in place of one with an invalid selector, and reports
// whether the selector is invalid.
func ignoreInvalidSelector(in intent.Service) (out intent.Service, ignored bool) {
	if _, err := annotation.Read(in); !intent.HasProblem(err, annotation.KeyNodeSelector) {
		return in, false
	}
	in.Annotations = maps.Clone(in.Annotations)
	in.Annotations[annotation.KeyNodeSelector] = ""
	return in, true
}

// filterExisting returns the wanted members that exist in a pool.
func filterExisting(want, have []api.Member) []api.Member {
	return slices.DeleteFunc(want, func(m api.Member) bool {
		return !slices.ContainsFunc(have, func(h api.Member) bool { return model.SameIP(h.Address, m.Address) })
	})
}

// memberTemplate returns a member of a pool, with the settings for others. A pool without members takes them from
// another pool, and the port from the Service.
func (d *differ) memberTemplate(pool observe.Pool, in intent.Service, port model.Port) api.Member {
	if len(pool.Members) > 0 {
		return pool.Members[0]
	}
	template := api.Member{}
	for _, other := range d.have.Pools {
		if len(other.Members) > 0 && d.hasOurName(other) {
			template = other.Members[0]
		}
	}
	template.Port = int(in.NodePort(v1.Protocol(port.Transport), int32(port.Number))) //nolint:gosec // at most 65535
	return template
}
