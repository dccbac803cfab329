package api_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// A PUT replaces the whole object: everything that the provider does not know or did not change has to be in it.
func TestEncodedObjectKeepsWhatWasNotChanged(t *testing.T) {
	t.Parallel()
	pool := func(change func(*api.LBPool)) func(string) ([]byte, error) {
		return func(document string) ([]byte, error) {
			object, err := api.ParseObject[api.LBPool]([]byte(document))
			if err != nil {
				return nil, err
			}
			change(&object)
			return api.EncodeObject(object)
		}
	}
	server := func(change func(*api.LBVirtualServer)) func(string) ([]byte, error) {
		return func(document string) ([]byte, error) {
			object, err := api.ParseObject[api.LBVirtualServer]([]byte(document))
			if err != nil {
				return nil, err
			}
			change(&object)
			return api.EncodeObject(object)
		}
	}
	const id = `"id": "a", "path": "/infra/a", "_revision": 12345678901234567`
	for name, tc := range map[string]struct {
		document string
		encode   func(string) ([]byte, error)
		want     string
	}{
		"nothing changes": {
			`{` + id + `, "x": {"y": [1, 2.50]}, "tags": [{"scope": "s", "tag": "t", "z": 1}]}`, pool(func(*api.LBPool) {}),
			`{` + id + `, "x": {"y": [1, 2.50]}, "tags": [{"scope": "s", "tag": "t", "z": 1}]}`,
		},
		"members change, and the addresses of SNAT stay": {
			`{` + id + `, "snat_translation": {"type": "LBSnatIpPool", "ip_addresses": [{"ip_address": "192.0.2.7"}]},
				"members": [{"ip_address": "10.0.0.1", "x": 1}, {"ip_address": "10.0.0.2", "x": 2}]}`,
			pool(func(p *api.LBPool) {
				p.Members = []api.LBPoolMember{p.Members[1], {IPAddress: "10.0.0.3"}}
			}),
			`{` + id + `, "snat_translation": {"type": "LBSnatIpPool", "ip_addresses": [{"ip_address": "192.0.2.7"}]},
				"members": [{"ip_address": "10.0.0.2", "x": 2}, {"ip_address": "10.0.0.3"}]}`,
		},
		"a member with a changed field keeps its others": {
			`{` + id + `, "members": [{"ip_address": "10.0.0.1", "x": 1}]}`,
			pool(func(p *api.LBPool) { p.Members = []api.LBPoolMember{{IPAddress: "10.0.0.1", Weight: 5}} }),
			`{` + id + `, "members": [{"ip_address": "10.0.0.1", "x": 1, "weight": 5}]}`,
		},
		"another member has nothing of the previous one at its place": {
			`{` + id + `, "members": [{"ip_address": "10.0.0.1", "x": 1}]}`,
			pool(func(p *api.LBPool) { p.Members = []api.LBPoolMember{{IPAddress: "10.0.0.2"}} }),
			`{` + id + `, "members": [{"ip_address": "10.0.0.2"}]}`,
		},
		"a nested object that changes keeps its unknown fields": {
			`{` + id + `, "access_list_control": {"action": "ALLOW", "enabled": false, "group_path": "/g", "x": 1}}`,
			server(func(v *api.LBVirtualServer) {
				v.AccessListControl = &api.AccessControl{Action: "ALLOW", Enabled: true, GroupPath: "/g"}
			}),
			`{` + id + `, "access_list_control": {"action": "ALLOW", "enabled": true, "group_path": "/g", "x": 1}}`,
		},
		"a nested object that is removed": {
			`{` + id + `, "access_list_control": {"action": "ALLOW", "enabled": true, "group_path": "/g"}, "log": true}`,
			server(func(v *api.LBVirtualServer) { v.AccessListControl = nil }),
			`{` + id + `, "log": true}`,
		},
	} {
		have, err := tc.encode(tc.document)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var haveTree, wantTree map[string]any
		if err := json.Unmarshal(have, &haveTree); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(tc.want), &wantTree); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantTree, haveTree); diff != "" {
			t.Errorf("%s (-want +have):\n%s", name, diff)
		}
	}
}

func TestNewObjectIsEncodedAsItIs(t *testing.T) {
	t.Parallel()
	have, err := api.EncodeObject(api.IPAllocation{AllocationIP: "192.0.2.1"})
	if err != nil || string(have) != `{"tags":null,"allocation_ip":"192.0.2.1"}` {
		t.Errorf("%s, %v", have, err)
	}
}
