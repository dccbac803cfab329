package controllers

import (
	"testing"

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
