package model

import "testing"

// A load balancer that is impaired still serves, and keeps its address in the Service's status.
func TestImpairedLoadBalancerKeepsItsAddress(t *testing.T) {
	for state, addresses := range map[string]int{"active": 1, "provisioning": 1, "active_impaired": 1, "failed": 0} {
		status := Status(Observed{Balancer: &Balancer{DNSName: "web.elb", State: state}})
		if len(status.Ingress) != addresses {
			t.Errorf("%s: %+v", state, status)
		}
	}
	if Status(Observed{}) != nil {
		t.Error("no load balancer has a status")
	}
}

// wanted is a load balancer with one port and one node.
func wanted(change ...func(*Desired)) *Desired {
	d := &Desired{Listeners: []DesiredListener{{Port: 80, Protocol: "TCP", Group: DesiredGroup{
		Name: "group", Protocol: "TCP", Port: 30080, TargetType: "instance", AddressType: "ipv4",
		Targets: []DesiredTarget{{Target: Target{ID: "i-1", Port: 30080}}},
	}}}}
	for _, f := range change {
		f(d)
	}
	return d
}

func TestRecordCoversStateAndMembers(t *testing.T) {
	state := func(d *Desired) string { return d.AppliedRecord(nil).State }
	members := func(d *Desired) string { return d.AppliedRecord(nil).Members }
	base := wanted()
	node := wanted(func(d *Desired) {
		d.Listeners[0].Group.Targets = append(d.Listeners[0].Group.Targets, DesiredTarget{Target: Target{ID: "i-2", Port: 30080}})
	})
	policy := wanted(func(d *Desired) { d.Listeners[0].Policy = "x" })
	port := wanted(func(d *Desired) { d.Listeners[0].Group.Targets[0].Port = 1 })
	stopped := wanted(func(d *Desired) { d.Listeners[0].Group.Targets[0].Keep = true })
	if state(base) == "" || state(base) != state(node) || state(base) == state(policy) {
		t.Error("the digest of the state covers the targets, or leaves out the rest")
	}
	if members(base) == members(node) || members(base) != members(port) || members(stopped) != "" {
		t.Error("the digest of the members is not that of their nodes")
	}
	if len(base.Listeners[0].Group.Targets) != 1 {
		t.Error("the digest changes the desired state")
	}
}
