package main

import (
	"slices"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/internal/ccmapp"
)

func TestNameOfTheProgramSelectsTheCloud(t *testing.T) {
	for name, tc := range map[string]struct{ line, want []string }{
		"the image's own name":   {[]string{"/ccm", "--v=2"}, []string{"--v=2"}},
		"the manager of a cloud": {[]string{"/bin/aws-cloud-controller-manager", "--v=2"}, []string{"--cloud-provider=aws", "--v=2"}},
		"with its own flag": {[]string{"/bin/openstack-cloud-controller-manager", "--cloud-provider=openstack"},
			[]string{"--cloud-provider=openstack"}},
		"a flag selects another cloud": {[]string{"/bin/aws-cloud-controller-manager", "--cloud-provider", "fake"},
			[]string{"--cloud-provider", "fake"}},
		"a command":                    {[]string{"/bin/aws-cloud-controller-manager", "version"}, []string{"version"}},
		"no arguments":                 {[]string{"aws-cloud-controller-manager"}, []string{"--cloud-provider=aws"}},
		"the manager of another cloud": {[]string{"/bin/hcloud-cloud-controller-manager", "--v=2"}, []string{"--v=2"}},
		// Manifests and chart of OpenStack's manager set the program as the first argument, and no command.
		"the program as an argument": {[]string{"/ccm", "/bin/openstack-cloud-controller-manager", "--v=2"},
			[]string{"--cloud-provider=openstack", "--v=2"}},
		"the program and its cloud as arguments": {
			[]string{"/ccm", "/bin/openstack-cloud-controller-manager", "--cloud-provider=openstack"},
			[]string{"--cloud-provider=openstack"}},
		"no path, as a caller may pass": {nil, nil},
	} {
		if got := ccmapp.Arguments(tc.line); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
