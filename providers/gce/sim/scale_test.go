package sim_test

import (
	"encoding/json"
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
	const first = 200 // The most with which a pool can be created.
	var members []string
	var further []object
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		if _, err := c.Launch(world.Machine{Name: name, Zone: "europe-west1-b"}); err != nil {
			t.Fatal(err)
		}
		if url := "zones/europe-west1-b/instances/" + name; i < first {
			members = append(members, url)
		} else if i < 1000 {
			further = append(further, object{"instance": url})
		}
	}
	for i := range services {
		name := fmt.Sprintf("s%d", i)
		post(t, c, "/regions/europe-west1/targetPools", object{"name": name, "instances": members})
		post(t, c, "/regions/europe-west1/targetPools/"+name+"/addInstance", object{"instances": further})
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

// Other managers of Kubernetes create pools with at most 200 instances, and add at most 1,000 at a time.
func TestRequestsHaveLimitedMembers(t *testing.T) {
	c := newCloud(t, sim.Options{})
	urls, references := make([]string, 201), make([]object, 1001)
	for i := range references {
		url := "zones/europe-west1-b/instances/node"
		references[i] = object{"instance": url}
		if i < len(urls) {
			urls[i] = url
		}
	}
	post(t, c, "/regions/europe-west1/targetPools", object{"name": "web"})
	for path, body := range map[string]object{
		"":                 {"name": "new", "instances": urls},
		"/web/addInstance": {"instances": references},
	} {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if status, answer := send(t, c, "/regions/europe-west1/targetPools"+path, string(raw)); status != http.StatusBadRequest {
			t.Errorf("%s: status is %d: %s", path, status, answer)
		}
	}
}
