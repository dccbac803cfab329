package loadbalancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// Keep returns the existing values of the differences, and leaves what it gets unchanged.
func TestKeep(t *testing.T) {
	const port = "TCP/80"
	unread := cmpopts.IgnoreUnexported(api.Resource{}) // the object as it was read
	desired := func() Desired {
		return Desired{Pool: "new", Ports: []Port{
			{Name: port, Profile: "new", Ranges: []string{"10.0.0.0/8"}, Monitor: &api.LBMonitor{Interval: 5, Timeout: 7, Resource: api.Resource{ResourceType: monitorTCP}}},
			{Name: "TCP/443", Profile: "new"},
		}}
	}
	tagged := func(r api.Resource) api.Resource {
		r.Tags = []api.NSXTag{{Scope: names.TagPort, Tag: port}, {Scope: names.TagPool, Tag: "old"}, {Scope: names.TagClass, Tag: "gold"}}
		return r
	}
	have := Observed{
		Servers:  []api.LBVirtualServer{{Resource: tagged(api.Resource{Path: "server"}), IPAddress: "192.0.2.9", ApplicationProfilePath: "old"}},
		Monitors: []api.LBMonitor{{Resource: tagged(api.Resource{Path: "monitor", ResourceType: monitorTCP}), Interval: 30, Timeout: 60}},
	}
	for name, tc := range map[string]struct {
		held   plan.Difference
		change func(*Desired)
	}{
		"profile":                 {plan.Difference{Kind: kindServer, Object: port, Field: fieldProfile}, func(d *Desired) { d.Ports[0].Profile = "old" }},
		"ranges":                  {plan.Difference{Kind: kindServer, Object: port, Field: fieldAccess}, func(d *Desired) { d.Ports[0].Ranges = nil }},
		"address of no pool":      {plan.Difference{Object: placeAddress, Field: fieldAddress}, func(d *Desired) { d.Class, d.Pool, d.KeptAddress = "gold", "old", "192.0.2.9" }},
		"setting of a monitor":    {plan.Difference{Kind: kindMonitor, Object: port + " " + monitorTCP, Field: "interval"}, func(d *Desired) { d.Ports[0].Monitor.Interval = 30 }},
		"monitor of another port": {plan.Difference{Kind: kindMonitor, Object: "TCP/443 " + monitorTCP, Field: "interval"}, func(*Desired) {}},
		"port":                    {plan.Difference{Kind: kindServer, Object: "TCP/81"}, func(d *Desired) { d.KeptPorts = []string{"TCP/81"} }},
	} {
		t.Run(name, func(t *testing.T) {
			given, want := desired(), desired()
			tc.change(&want)
			got := keep(given, have, []plan.Difference{tc.held})
			if diff := cmp.Diff(want, got, unread); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(desired(), given, unread); diff != "" {
				t.Errorf("what was given has changed (-was +is):\n%s", diff)
			}
		})
	}
}
