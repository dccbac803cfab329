package sim

import (
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
)

func TestConsoleManagesMachines(t *testing.T) {
	c, err := New(Options{IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	baseline := c.Objects()
	node, err := c.Launch(world.Machine{Name: "a", Zone: "az-2", PodCIDRs: []string{"10.244.0.0/24"}})
	if err != nil || node.Spec.PodCIDR != "10.244.0.0/24" || node.Spec.ProviderID != "" || len(node.Spec.Taints) != 1 {
		t.Fatalf("node %+v, %v", node, err)
	}
	m, err := c.Machine("a")
	if err != nil || m.Region != "RegionOne" || m.Type != nova.DefaultFlavor || m.Zone != "az-2" {
		t.Errorf("machine %+v, %v", m, err)
	}
	for _, bad := range []world.Machine{{Name: "a"}, {Zone: "nowhere"}, {Type: "huge"}} {
		if _, err := c.Launch(bad); err == nil {
			t.Errorf("%+v was launched", bad)
		}
	}
	places := c.Places()
	if _, err := c.AttachPort("a", places.PrivateNetwork); err != nil {
		t.Error(err)
	}
	if _, err := c.AttachSubPort("a", places.PrivateNetwork); err != nil {
		t.Error(err)
	}
	if err := c.ExhaustSubnet(places.PublicSubnet); err != nil {
		t.Error(err)
	}
	if a, err := c.AttachFloatingIP("a"); err == nil {
		t.Errorf("a dry subnet gave %s", a)
	}
	if places.PrivateSubnet6 == "" || len(c.Leaks()) != 0 {
		t.Errorf("places %+v, leaks %v", places, c.Leaks())
	}
	if err := c.Terminate("a"); err != nil {
		t.Error(err)
	}
	if err := c.Terminate("a"); err == nil {
		t.Error("a machine was terminated twice")
	}
	for kind, n := range c.Objects() {
		// The sub-port is the user's own to delete.
		if kind == "ports" {
			n--
		}
		if n != baseline[kind] {
			t.Errorf("%d %s, at first %d", n, kind, baseline[kind])
		}
	}
	if c.Front().Log().Len() != 0 {
		t.Error("the console is in the call log")
	}
}

func TestCloudConfigIsIndependentOfSeed(t *testing.T) {
	var configs []string
	for _, seed := range []int64{1, 2} {
		c, err := New(Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		configs = append(configs, c.CloudConfig("http://127.0.0.1:1"))
	}
	if configs[0] != configs[1] || !strings.Contains(configs[0], `auth-url = "http://127.0.0.1:1/identity/v3"`) {
		t.Errorf("the configurations of two clouds are\n%s\nand\n%s", configs[0], configs[1])
	}
}

func TestCheckReportsObjectsOfNeutron(t *testing.T) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.inspect(func(t *tx) { t.DefaultGroup(t.Cluster.Project).Rules = nil })
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "which has no such rule") {
		t.Errorf("error %v, want one about a rule without its security group", err)
	}
}
