package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

func TestEveryPortableAnnotationHasAScenario(t *testing.T) {
	for _, key := range intent.Keys() {
		id := portableID + strings.TrimPrefix(key, intent.Prefix)
		if !slices.ContainsFunc(Scenarios(), func(s Scenario) bool { return s.ID == id }) {
			t.Errorf("%s has no scenario %s: add one to annotationScenarios", key, id)
		}
	}
}

func TestEveryCloudHasFieldsForEverySetting(t *testing.T) {
	// Only load balancers with a host name have a field for address families. Neither fake nor Octavia drains
	// connections, and fake does not parse HTTP. Load balancers of NSX-T forward TCP and UDP on a gateway, and the
	// configuration names their profiles with timeouts and persistence. Load balancers of AWS and GCE have one algorithm.
	without := map[string][]setting{
		"aws":  {algorithm},
		"fake": {addressFamilies, clientAddress, connectionDraining, forwardedHeaders},
		"gce": {algorithm, addressFamilies, clientAddress, connectionDraining, forwardedHeaders, healthCheckProtocol, idleTimeout,
			proxyProtocol, tagTeam},
		"openstack": {addressFamilies, connectionDraining},
		"vsphere": {addressFamilies, connectionDraining, forwardedHeaders, loadBalancerSubnet, idleTimeout, proxyProtocol,
			clientIPAffinity},
	}
	all := map[setting]bool{}
	for _, fields := range settings() {
		for what := range fields {
			all[what] = true
		}
	}
	for _, name := range lab.Providers() {
		if len(settings()[name]) == 0 {
			continue // a cloud without load balancers
		}
		for what := range all {
			if _, ok := settings()[name][what]; !ok && !slices.Contains(without[name], what) {
				t.Errorf("settings of %s have no field for %s", name, what)
			}
		}
	}
}

func TestScenariosHaveDifferentIDsAndTexts(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios() {
		if seen[s.ID] || s.Group == "" || s.Title == "" || s.Detail == "" || s.Run == nil {
			t.Errorf("scenario %+v is a duplicate or incomplete", s)
		}
		seen[s.ID] = true
	}
}

func TestSelect(t *testing.T) {
	all := []Scenario{{ID: "service.tcp"}, {ID: "service.udp"}, {ID: "node.zone"}}
	for pattern, want := range map[string]int{"": 3, "service.*": 2, "node.zone": 1} {
		if got, err := Select(all, pattern); err != nil || len(got) != want {
			t.Errorf("%q: %d scenarios, %v, want %d", pattern, len(got), err, want)
		}
	}
	for pattern, want := range map[string]string{
		"zone": `no scenario matches "zone"; there are service.tcp, service.udp, node.zone`, "[": "is not a pattern such as",
	} {
		if _, err := Select(all, pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
	}
}

// TestRouteToReportsForeignRoute tries both orders, because clouds list routes in any order.
func TestRouteToReportsForeignRoute(t *testing.T) {
	const destination = "10.244.102.0/24"
	routes := []world.Route{{Destination: destination, NodeName: "node-1", Owned: true}, {Destination: destination}}
	for range routes {
		if got := describeRoute(routes, destination); got != "another owner's" {
			t.Errorf("%q for %+v", got, routes)
		}
		slices.Reverse(routes)
	}
	if got := describeRoute(routes[:1], "10.244.103.0/24"); got != "none" {
		t.Errorf("%q without a route", got)
	}
}
