package sim

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

func TestLoadBalancersInPortableTerms(t *testing.T) {
	c, lb, _ := fixture(t, Options{})
	want := []world.LoadBalancer{{
		Name: "web", Addresses: lb.Addresses,
		Listeners: []world.Listener{{
			Protocol: v1.ProtocolTCP, Port: 80, Members: []string{"node-a", "node-b"}, MemberPort: 30080,
		}},
	}}
	if diff := cmp.Diff(want, c.cloud.LoadBalancers()); diff != "" {
		t.Error(diff)
	}
	objects := map[string]int{
		"instances": 2, "addresses": 1, "load-balancers": 1, "pools": 1, "listeners": 1, "members": 2, "routes": 0,
	}
	if diff := cmp.Diff(objects, c.cloud.Objects()); diff != "" {
		t.Error(diff)
	}
	if err := c.cloud.DeleteLoadBalancer("web"); err != nil {
		t.Fatal(err)
	}
	left := map[string]int{"instances": 2, "addresses": 1, "load-balancers": 0, "routes": 0}
	if diff := cmp.Diff(left, c.cloud.Objects()); diff != "" {
		t.Errorf("left over by a deletion: %s", diff)
	}
	if a := must[api.Page[api.Address]](c, "GET", "/v1/addresses", nil).Items[0]; a.LoadBalancer != "" {
		t.Errorf("the address still belongs to %s", a.LoadBalancer)
	}
}

func TestLaunchReturnsTheKubeletsNode(t *testing.T) {
	c := newCloud(t, Options{})
	m := world.Machine{Name: "node-a", PodCIDRs: []string{"10.1.0.0/24", "fd00::/64"}}
	got, err := c.Launch(m)
	if err != nil {
		t.Fatal(err)
	}
	want := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-a", Labels: map[string]string{
			"kubernetes.io/hostname": "node-a", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		}},
		Spec: v1.NodeSpec{
			PodCIDR: "10.1.0.0/24", PodCIDRs: []string{"10.1.0.0/24", "fd00::/64"},
			Taints: []v1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true",
				Effect: v1.TaintEffectNoSchedule}},
		},
		Status: v1.NodeStatus{
			Addresses:  []v1.NodeAddress{{Type: v1.NodeHostName, Address: "node-a"}},
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	m.Zone, m.Type, m.Region = "fake-1a", "fake.small", "fake-1"
	machine, err := c.Machine("node-a")
	if diff := cmp.Diff(m, machine); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := c.Launch(m); err == nil {
		t.Error("a machine was launched twice")
	}
}

func TestStopAndTerminate(t *testing.T) {
	c := newClient(t, Options{})
	c.launch("node-a")
	if err := c.cloud.Stop("node-a"); err != nil {
		t.Fatal(err)
	}
	if i := must[api.Page[api.Instance]](c, "GET", "/v1/instances?names=node-a",
		nil).Items; i[0].State != api.StateStopped {
		t.Errorf("state is %s", i[0].State)
	}
	if err := c.cloud.Terminate("node-a"); err != nil {
		t.Fatal(err)
	}
	if i := must[api.Page[api.Instance]](c, "GET", "/v1/instances?names=node-a", nil).Items; len(i) != 0 {
		t.Errorf("still there: %+v", i)
	}
	for name, do := range map[string]func(string) error{
		"stop": c.cloud.Stop, "terminate": c.cloud.Terminate, "delete": c.cloud.DeleteLoadBalancer,
		"machine": func(n string) error { _, err := c.cloud.Machine(n); return err },
		"drift":   func(n string) error { _, err := c.cloud.Drift(n); return err },
	} {
		if err := do("none"); refusalOf(err).body.Code != api.CodeNotFound {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
}

func TestDriftNamesWhatItChanged(t *testing.T) {
	c, before, _ := fixture(t, Options{})
	fields, err := c.cloud.Drift("web")
	if err != nil {
		t.Fatal(err)
	}
	after := c.loadBalancer("web")
	changed := map[string]bool{
		"sourceRanges":                !slices.Equal(before.Listeners[0].SourceRanges, after.Listeners[0].SourceRanges),
		"healthCheck.intervalSeconds": before.Pools[0].HealthCheck.IntervalSeconds != after.Pools[0].HealthCheck.IntervalSeconds,
		"affinitySeconds":             before.Pools[0].AffinitySeconds != after.Pools[0].AffinitySeconds,
		"members":                     !slices.Equal(before.Pools[0].Members, after.Pools[0].Members),
	}
	if len(fields) != len(changed) {
		t.Errorf("named %v", fields)
	}
	for _, field := range fields {
		if !changed[field] {
			t.Errorf("%s is named and did not change", field)
		}
	}
}

func TestRoutesOfTheWorld(t *testing.T) {
	c := newClient(t, Options{})
	nodes := c.launch("node-a", "node-b")
	must[api.Page[api.RouteResult]](c, "POST", "/v1/routes", []api.Route{
		{Name: "b", Cluster: "c", Destination: "10.2.0.0/24", InstanceID: nodes[1].ID},
		{Name: "a", Cluster: "c", Destination: "10.1.0.0/24", InstanceID: nodes[0].ID},
	})
	if err := c.cloud.AddForeignRoute("10.9.0.0/16"); err != nil {
		t.Fatal(err)
	}
	if err := c.cloud.AddForeignRoute("10.9.0.0/16"); err == nil {
		t.Error("a route was added twice")
	}
	if err := c.cloud.Terminate("node-b"); err != nil {
		t.Fatal(err)
	}
	want := []world.Route{
		{Destination: "10.1.0.0/24", NodeName: "node-a", Owned: true},
		{Destination: "10.2.0.0/24", Blackhole: true, Owned: true},
		{Destination: "10.9.0.0/16"},
	}
	if diff := cmp.Diff(want, c.cloud.Routes(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
