package loadbalancer

import (
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/record"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// disruptiveEdit is an edit of a Service with the ports 80 and 443.
type disruptiveEdit struct {
	// before prepares the Service that is edited; may be nil.
	before, edit func(*v1.Service)
	// calls are those that the edit makes, and the further port does not.
	calls []string
}

// unlistedGroup is the edit that removes a security group from the Service.
const unlistedGroup = "no listed security group"

// port443 edits the port 443, if the Service still has it.
func port443(edit func(*v1.ServicePort)) func(*v1.Service) {
	return func(s *v1.Service) {
		for i := range s.Spec.Ports {
			if s.Spec.Ports[i].Port == 443 {
				edit(&s.Spec.Ports[i])
			}
		}
	}
}

func editsOfBoth() map[string]disruptiveEdit {
	tls := func(policy string) func(*v1.Service) {
		return annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443", annotation.KeyTLSPolicy, policy)
	}
	return map[string]disruptiveEdit{
		"a port is removed": {nil, func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] },
			[]string{"DeleteListener", "DeleteTargetGroup", "DeleteLoadBalancerListeners"}},
		"TLS": {nil, tls("ELBSecurityPolicy-2016-08"),
			[]string{"ModifyListener", "DeleteLoadBalancerListeners", "AddListenerCertificates"}},
		"no TLS": {tls("ELBSecurityPolicy-2016-08"), func(s *v1.Service) {
			for _, key := range []string{annotation.KeyCertificates, annotation.KeyTLSPorts, annotation.KeyTLSPolicy} {
				delete(s.Annotations, key)
			}
		}, []string{"ModifyListener", "DeleteLoadBalancerListeners", "RemoveListenerCertificates"}},
		"another TLS policy": {tls("ELBSecurityPolicy-2016-08"), tls("ELBSecurityPolicy-TLS-1-2-2017-01"),
			[]string{"ModifyListener", "SetLoadBalancerPoliciesOfListener"}},
		"fewer clients": {nil, func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16"} },
			[]string{"RevokeSecurityGroupIngress"}},
		"other subnets": {annotate(annotation.KeySubnets, "{public-0},{public-1}"), annotate(annotation.KeySubnets, "{public-0},{public-2}"),
			[]string{"SetSubnets", "DetachLoadBalancerFromSubnets"}},
		"another node port": {nil, port443(func(p *v1.ServicePort) { p.NodePort = 30999 }),
			[]string{"ModifyListener", "DeleteLoadBalancerListeners"}},
		// The load balancer joins its own group, which serves the further port, and stays in the listed one.
		unlistedGroup: {annotate(annotation.KeySecurityGroups, "{group-own}"), without(annotation.KeySecurityGroups), nil},
	}
}

func editsOfNetwork() map[string]disruptiveEdit {
	all := editsOfBoth()
	all["PROXY protocol"] = disruptiveEdit{nil, annotate(annotation.KeyGroupAttributes, "proxy_protocol_v2.enabled=true"), nil}
	all["UDP instead of TCP"] = disruptiveEdit{nil, port443(func(p *v1.ServicePort) { p.Protocol = v1.ProtocolUDP }),
		[]string{"DeleteListener", "DeleteTargetGroup"}}
	all["targets by address"] = disruptiveEdit{nil, annotate(annotation.KeyTargetType, "ip"), []string{"ModifyListener"}}
	all["IPv6"] = disruptiveEdit{nil, func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} },
		[]string{"SetSubnets", "SetIpAddressType", "ModifyListener"}}
	return all
}

func editsOfClassic() map[string]disruptiveEdit {
	all := editsOfBoth()
	all["PROXY protocol"] = disruptiveEdit{nil, annotate(annotation.KeyProxyProtocol, "*"), nil}
	all["HTTP"] = disruptiveEdit{nil, annotate(annotation.KeyBackendProtocol, "http"), []string{"DeleteLoadBalancerListeners"}}
	return all
}

// Each disruptive edit, and each pair of them, is held without holding anything else: a further port is created, members
// follow, the cloud accepts every request, and the next plan is empty. Once they are allowed, they are applied.
func TestHeldEditsHoldNothingElse(t *testing.T) {
	held := plan.DifferenceSet{}
	for kind, edits := range map[string]map[string]disruptiveEdit{"network": editsOfNetwork(), "classic": editsOfClassic()} {
		for _, groups := range []bool{true, false} {
			if kind == "classic" && !groups {
				continue // always has security groups
			}
			if !groups { // Those that a Service does not list are not ours.
				delete(edits, unlistedGroup)
			}
			names := slices.Sorted(maps.Keys(edits))
			for i, first := range names {
				for _, second := range names[i:] {
					if !groups && second != first {
						continue // as with security groups
					}
					name := kind + map[bool]string{true: ", security groups, ", false: ", by address, "}[groups] + first + ", " + second
					t.Run(name, func(t *testing.T) {
						r := newRig(t, sim.Options{}, func(s *Settings) { s.ManagedGroups = groups })
						base := service()
						if kind == "classic" {
							base = service(without(annotation.KeyType))
						}
						held.Add(r.holdEdits(base, edits[first], edits[second])...)
					})
				}
			}
		}
	}
	if t.Failed() {
		return
	}
	for _, e := range Effects() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(held)), func(d plan.Difference) bool {
			d.Disrupts = e.Disrupts
			return e.Covers(d)
		}) {
			t.Errorf("no edit is held because %s", e.Change)
		}
	}
}

// setDisruption sets the policy of the manager.
func (r *rig) setDisruption(policy provider.DisruptionPolicy) {
	r.recorder = record.NewFakeRecorder(1000)
	r.manager.SetRuntime(provider.Runtime{Recorder: r.recorder, ClusterUID: "cluster-1", Disruption: policy})
}

// planOf returns the plan of a Service without records.
func (r *rig) planOf(svc *v1.Service) plan.Plan {
	r.t.Helper()
	p, err := r.manager.PlanLoadBalancer(r.t.Context(), clusterName, svc, r.nodes, lbcommon.PlanOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	// Records of members are written later.
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c plan.Change) bool { return c.Kind == lbcommon.KindRecord })
	return p
}

// holdEdits creates a load balancer, and holds edits of its Service beside a further port. It returns what is held.
func (r *rig) holdEdits(svc *v1.Service, edits ...disruptiveEdit) []plan.Difference {
	r.t.Helper()
	expand := func() {
		for key, value := range svc.Annotations {
			svc.Annotations[key] = r.named.Expand(value)
		}
	}
	r.name()
	for _, e := range edits {
		if e.before != nil {
			e.before(svc)
		}
	}
	expand()
	r.ensure(svc)
	r.setDisruption(provider.HoldAllDisruption)
	before := svc.DeepCopy()
	for _, e := range edits {
		e.edit(svc)
	}
	expand()
	if equality.Semantic.DeepEqual(before, svc) {
		r.t.Skip("the edits undo each other")
	}
	if _, err := r.manager.PlanLoadBalancer(r.t.Context(), clusterName, svc, r.nodes, lbcommon.PlanOptions{}); err != nil {
		r.t.Skipf("the edits exclude each other: %v", err)
	}
	svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "more", Protocol: v1.ProtocolTCP, Port: 9443, NodePort: 30943})
	r.log().Reset()
	r.ensure(svc)
	calls := r.log().Count()
	if calls["CreateListener"]+calls["CreateLoadBalancerListeners"] == 0 {
		r.t.Errorf("the further port is not created: %v", calls)
	}
	for _, e := range edits {
		for _, call := range e.calls {
			if calls[call] > 0 {
				r.t.Errorf("held, and calls %s: %v", call, calls)
			}
		}
	}
	p := r.planOf(svc)
	if !p.Empty() || len(p.Held) == 0 {
		r.t.Errorf("held: plan %s, held %v", plan.Summary(p), p.Held)
	}
	r.log().Reset()
	all := r.nodes
	r.nodes = slices.Clone(all[:2])
	r.ensure(svc)
	calls = r.log().Count()
	if calls["DeregisterTargets"]+calls["DeregisterInstancesFromLoadBalancer"] == 0 {
		r.t.Errorf("a node does not leave: %v", calls)
	}
	if p := r.planOf(svc); !p.Empty() {
		r.t.Errorf("after a node has left: plan %s", plan.Summary(p))
	}
	r.nodes = all
	r.setDisruption(provider.HoldDisruption)
	r.ensure(svc)
	if p := r.planOf(svc); !p.Empty() || len(p.Held) > 0 {
		r.t.Errorf("allowed: plan %s, held %v", plan.Summary(p), p.Held)
	}
	return p.Differences()
}
