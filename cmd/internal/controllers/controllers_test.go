package controllers

import (
	"strings"
	"testing"

	appconfig "k8s.io/cloud-provider/app/config"
	cpconfig "k8s.io/cloud-provider/config"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

func TestControllersOfAProvider(t *testing.T) {
	own := []provider.Controller{{Name: "tagging", OptIn: true}, {Name: "ipam"}}
	for _, tc := range []struct {
		title, name string
		own         []provider.Controller
		controllers []string
		want        bool
	}{
		{"always on", "ipam", own, []string{"*"}, true},
		{"opt-in, not named", "tagging", own, []string{"*"}, false},
		{"opt-in, named", "tagging", own, []string{"*", "tagging"}, true},
		{"opt-in, named by its alias", "tagging", own, []string{"*", "tags"}, true},
		{"of another provider", "tagging", nil, []string{"*", "tagging"}, false},
	} {
		t.Run(tc.title, func(t *testing.T) {
			d := provider.Descriptor{Controllers: tc.own, ControllerAliases: map[string]string{"tags": "tagging"}}
			if got := IsEnabled(tc.name, d, tc.controllers); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// A network condition that a route controller has left is repaired where --controllers disables that controller.
func TestRouteControllerIsEnabled(t *testing.T) {
	for list, want := range map[string]bool{
		"*": true, "*,-node-route-controller": false, "node-lifecycle-controller": false, "node-route-controller": true,
	} {
		config := (&appconfig.Config{}).Complete()
		config.ComponentConfig.Generic.Controllers = strings.Split(list, ",")
		if got := isRouteControllerEnabled(config); got != want {
			t.Errorf("--controllers=%s: %t", list, got)
		}
	}
}

// The podCIDRs of all Nodes count as used, so that all of them have to be seen.
func TestPodCIDRsNeedAllNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		allocate, fromRanges bool
		kind, filter         string
		refused              bool
	}{
		"from the cloud":                  {true, false, nodeipam.CloudAllocator, "", false},
		"from the cloud, of some nodes":   {true, false, nodeipam.CloudAllocator, "a=b", true},
		"from ranges, of some nodes":      {true, true, nodeipam.RangeAllocator, "a=b", true},
		"from ranges, by another manager": {true, false, nodeipam.RangeAllocator, "a=b", false},
		"none, of some nodes":             {false, true, nodeipam.CloudAllocator, "a=b", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := provider.Descriptor{Controllers: []provider.Controller{nodeipam.Controller(false)}, AllocatesRanges: tc.fromRanges}
			shared := cpconfig.KubeCloudSharedConfiguration{
				AllocateNodeCIDRs: tc.allocate, CIDRAllocatorType: tc.kind, ClusterCIDR: "10.0.0.0/8",
			}
			var flags PodCIDRFlags
			if err := flags.Check(d, shared, []string{"*"}, tc.filter); (err != nil) != tc.refused {
				t.Errorf("error %v", err)
			}
		})
	}
}
