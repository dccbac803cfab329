package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
)

// planMembers returns the changes of the members of existing pools. With invalid zones, nodes only leave.
func planMembers(key lbcommon.Key, in intent.Service, nodes []target, shared SharedState, have Observed) plan.Plan {
	problems := in.NewProblems()
	zones := annotation.Read(in, &problems).MemberZones
	checkZones(zones, shared, in.Annotations[annotation.KeyMemberZones], &problems)
	invalidZones := intent.HasProblem(problems.Err(in.Subject()), annotation.KeyMemberZones)
	lb := have.LoadBalancer
	if lb == nil || foreignOwner(key, lb.Cluster, lb.Tags) != "" {
		return plan.Plan{}
	}
	if invalidZones {
		zones = nil
	}
	targets := filterZones(nodes, zones)
	var p plan.Plan
	for _, pool := range lb.Pools {
		want, targets := pool, targets
		if invalidZones {
			targets = filterMembers(targets, pool)
		}
		if want.Members = members(targets, memberPort(in, pool)); len(want.Members) > 0 && want.Members[0].Port == 0 {
			continue // neither the pool nor the Service has a node port
		}
		if change, ok := diffMembers(*lb, pool, want); ok {
			p.Add(change)
		}
	}
	return p
}

// filterMembers returns the targets that are members of a pool.
func filterMembers(targets []target, pool api.Pool) []target {
	return slices.DeleteFunc(slices.Clone(targets), func(t target) bool {
		return !slices.ContainsFunc(pool.Members, func(m api.Member) bool { return m.InstanceID == t.instanceID })
	})
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
