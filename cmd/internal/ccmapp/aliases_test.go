package ccmapp

import (
	"io"
	"slices"
	"testing"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/names"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// The names of --controllers in command lines of the clouds' own managers are accepted.
func TestControllersMayHaveAliases(t *testing.T) {
	provider.Register(provider.Descriptor{
		Name: "aliased", Title: "Aliased", New: func(io.Reader) (cloudprovider.Interface, error) { return nil, nil },
		Controllers:       []provider.Controller{{Name: "aliased-ipam-controller"}},
		ControllerAliases: map[string]string{"aliasedipam": "aliased-ipam-controller", "aliased-route": names.NodeRouteController},
	})
	for name, tt := range map[string]struct {
		controllers []string
		valid       bool
		routes      bool
	}{
		"all":                                    {[]string{"*"}, true, true},
		"without an aliased one of the provider": {[]string{"*", "-aliasedipam"}, true, true},
		"without an aliased one of the framework":  {[]string{"*", "-aliased-route"}, true, false},
		"only an aliased one":                      {[]string{"aliased-route"}, true, true},
		"a name that no cloud has":                 {[]string{"*", "-nosuch"}, false, true},
		"the framework's alias beside a canonical": {[]string{"*", "-route", "-aliased-ipam-controller"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := newOptions()
			if err != nil {
				t.Fatal(err)
			}
			o.framework.KubeCloudShared.CloudProvider.Name = "aliased"
			o.framework.Generic.Controllers = slices.Clone(tt.controllers)
			if err := o.validate(); (err == nil) != tt.valid {
				t.Errorf("validate: %v, want valid %v", err, tt.valid)
			}
			if got := o.isControllerEnabled(names.NodeRouteController); got != tt.routes {
				t.Errorf("the route controller is enabled: %v, want %v", got, tt.routes)
			}
		})
	}
}
