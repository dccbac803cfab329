package sim_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// post sends a body and fails the test unless the cloud accepts it.
func post(t *testing.T, c *sim.Cloud, path string, body any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := send(t, c, path, string(raw)); status != http.StatusOK {
		t.Fatalf("%s: %s", path, answer)
	}
}

// send sends a body, and returns the status and the body of the response.
func send(t *testing.T, c *sim.Cloud, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gce.invalid"+pathProject+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = bearer(c.Token())
	resp, err := c.Front().Direct().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

type object map[string]any

func balancer(t *testing.T, c *sim.Cloud) {
	t.Helper()
	for i := range 2 {
		if _, err := c.Launch(world.Machine{Name: fmt.Sprintf("n%d", i), Zone: "europe-west1-b"}); err != nil {
			t.Fatal(err)
		}
	}
	post(t, c, "/regions/europe-west1/targetPools", object{"name": "web", "instances": []string{
		"zones/europe-west1-b/instances/n0", "zones/europe-west1-b/instances/n1"}})
	post(t, c, "/regions/europe-west1/forwardingRules", object{"name": "web", "portRange": "80",
		"target": "regions/europe-west1/targetPools/web"})
}

func TestWorldChangesLoadBalancersByHand(t *testing.T) {
	c := newCloud(t, sim.Options{})
	empty := c.Objects()
	balancer(t, c)
	if lbs := c.LoadBalancers(); len(lbs) != 1 || len(lbs[0].Listeners) != 1 || lbs[0].Listeners[0].SourceRanges[0] != "none" {
		t.Fatalf("load balancers are %+v", lbs)
	}
	before := c.Inventory()
	fields, err := c.Drift("web")
	if err != nil || len(fields) != 1 || fields[0] != "instances" {
		t.Errorf("changed fields are %v: %v", fields, err)
	}
	if changed := world.ChangedObjects(before, c.Inventory()); len(changed) != 1 || changed[0].Kind != "target pool" {
		t.Errorf("changed objects are %+v", changed)
	}
	if err := c.DeleteLoadBalancer("web"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Drift("web"); err == nil {
		t.Error("a load balancer that was deleted can be changed")
	}
	want := map[string]int{"target-pools": 1, "target-pool-instances": 1, "instances": 2}
	for kind, n := range c.Objects() {
		if n-empty[kind] != want[kind] {
			t.Errorf("there are %d more %s than at first, want %d", n-empty[kind], kind, want[kind])
		}
	}
	if err := c.Terminate("n0"); err != nil {
		t.Fatal(err)
	}
	if err := c.Terminate("n1"); err != nil {
		t.Fatal(err)
	}
	if n := c.Objects()["target-pool-instances"]; n != 0 {
		t.Errorf("the pool has %d instances after their deletion", n)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

func TestWorldReserves(t *testing.T) {
	c := newCloud(t, sim.Options{})
	names, ip, err := c.Reserve()
	if err != nil || len(names) != 1 || ip == "" {
		t.Errorf("reserved %v, %s: %v", names, ip, err)
	}
	if subnet, err := c.Subnet(); err != nil || subnet != "second" {
		t.Errorf("subnet is %q: %v", subnet, err)
	}
	if _, err := c.ReserveAddress("standard", "STANDARD"); err != nil {
		t.Error(err)
	}
}

func TestMachinesAreSpreadOverZones(t *testing.T) {
	c := newCloud(t, sim.Options{})
	zones := map[string]bool{}
	for i := range 3 {
		name := fmt.Sprintf("n%d", i)
		if _, err := c.Launch(world.Machine{Name: name}); err != nil {
			t.Fatal(err)
		}
		m, err := c.Machine(name)
		if err != nil {
			t.Fatal(err)
		}
		zones[m.Zone] = true
	}
	if len(zones) != 3 {
		t.Errorf("machines are in zones %v", zones)
	}
	if _, err := c.Launch(world.Machine{Name: "n0"}); err == nil {
		t.Error("two machines have one name")
	}
	if _, err := c.Launch(world.Machine{Name: "x", Zone: "nowhere"}); err == nil {
		t.Error("a machine is in an unknown zone")
	}
}
