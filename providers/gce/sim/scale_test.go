package sim_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// A simulated cluster of 5,000 nodes is listed, and its load balancers are shown, in seconds.
func TestManyMachinesAndLoadBalancers(t *testing.T) {
	const nodes, services = 5000, 200
	c := newCloud(t, sim.Options{})
	var members []string
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		if _, err := c.Launch(world.Machine{Name: name, Zone: "europe-west1-b"}); err != nil {
			t.Fatal(err)
		}
		if i < 1000 {
			members = append(members, "zones/europe-west1-b/instances/"+name)
		}
	}
	for i := range services {
		name := fmt.Sprintf("s%d", i)
		post(t, c, "/regions/europe-west1/targetPools", object{"name": name, "instances": members})
		post(t, c, "/regions/europe-west1/forwardingRules", object{"name": name, "portRange": "80",
			"target": "regions/europe-west1/targetPools/" + name})
		post(t, c, "/global/firewalls", object{"name": name, "allowed": []object{{"IPProtocol": "tcp", "ports": []string{"80"}}},
			"destinationRanges": []string{fmt.Sprintf("198.18.0.%d", i+2)}})
	}
	start := time.Now()
	if lbs := c.LoadBalancers(); len(lbs) != services {
		t.Errorf("there are %d load balancers", len(lbs))
	}
	shown := time.Since(start)
	status, body, _ := get(t, c, http.MethodGet, pathProject+"/aggregated/instances?fields=nextPageToken", bearer(c.Token()))
	if status != http.StatusOK || body == "{}" {
		t.Errorf("status is %d, body %s", status, body)
	}
	t.Logf("load balancers are shown in %s, a page is read in %s", shown, time.Since(start)-shown)
}
