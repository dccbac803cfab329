package loadbalancer

import (
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
)

// DiffMembers implements loadbalancer.Cloud.
func (c *Cloud) DiffMembers(
	key lbcommon.Key, in intent.Service, nodes []*v1.Node, _ SharedState, have Observed,
) (plan.Plan, error) {
	problems := in.NewProblems()
	zones := annotation.Read(in, &problems).MemberZones
	lb := have.LoadBalancer
	if err := problems.Err(in.Subject()); err != nil || lb == nil || foreign(key, lb.Cluster, lb.Tags) != "" {
		return plan.Plan{}, err
	}
	d := &differ{cloud: c, store: c.stores(key.ClusterName), key: key, have: have}
	d.active = newActiveGate(d, *lb)
	targets := inZones(c.targets(nodes), zones)
	for _, pool := range lb.Pools {
		want := pool
		if want.Members = members(targets, memberPort(in, pool)); len(want.Members) > 0 && want.Members[0].Port == 0 {
			continue // neither the pool nor the Service has a node port
		}
		if change, ok := d.membersUpdate(lb.ID, pool, want); ok {
			d.plan.Add(change)
		}
	}
	return d.plan, nil
}

// memberPort returns the port at which the members of a pool receive traffic. For a pool without members it
// is the node port of the Service.
func memberPort(in intent.Service, pool api.Pool) int32 {
	if len(pool.Members) > 0 {
		return pool.Members[0].Port
	}
	for _, p := range in.Ports {
		if portName(p.Protocol, p.Port) == pool.Name {
			return p.NodePort
		}
	}
	return 0
}
