package sim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
)

func TestWorldShowsPortableTerms(t *testing.T) {
	c, lb, _ := fixture(t, Options{})
	want := []conformance.LoadBalancer{{
		Name: "web", Addresses: lb.Addresses,
		Listeners: []conformance.Listener{{
			Protocol: v1.ProtocolTCP, Port: 80, Members: []string{"node-a", "node-b"}, MemberPort: 30080,
		}},
	}}
	if diff := cmp.Diff(want, c.cloud.LoadBalancers()); diff != "" {
		t.Error(diff)
	}
	objects := map[string]int{
		"instances": 2, "addresses": 1, "load-balancers": 1, "pools": 1, "listeners": 1, "members": 2, "routes": 0, "ssh-keys": 0,
	}
	if diff := cmp.Diff(objects, c.cloud.Objects()); diff != "" {
		t.Error(diff)
	}
}
