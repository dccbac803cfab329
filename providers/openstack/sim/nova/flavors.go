package nova

import (
	"fmt"
	"maps"
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// FlavorNamed returns the flavor with a name that is not deleted.
func (t *Tx) FlavorNamed(name string) (*Flavor, error) {
	for _, f := range t.Flavors {
		if f.Name == name && !f.Deleted {
			return f, nil
		}
	}
	return nil, fmt.Errorf("no flavor is called %q", name)
}

// flavor returns the flavor that the call names.
func (t *Tx) flavor() (*Flavor, error) {
	f := t.Flavors[t.Call.Params["id"]]
	if f == nil || f.Deleted {
		return nil, core.Refuse(http.StatusNotFound, "itemNotFound", "Flavor %s could not be found.", t.Call.Params["id"])
	}
	return f, nil
}

func (t *Tx) listFlavors(detail bool) (any, error) {
	flavors := core.Only(core.BySeq(t.Flavors), func(f *Flavor) bool { return !f.Deleted })
	page, links, err := core.Page(t.Base(), flavors, maxPage)
	if err != nil {
		return nil, err
	}
	list := make([]any, 0, len(page))
	for _, f := range page {
		list = append(list, t.flavorView(f, detail))
	}
	out := map[string]any{"flavors": list}
	if len(links) > 0 {
		out["flavors_links"] = links
	}
	return out, nil
}

func (t *Tx) flavorView(f *Flavor, detail bool) map[string]any {
	out := map[string]any{"id": f.ID, "name": f.Name, "links": t.links("/flavors/" + f.ID)}
	if detail {
		maps.Copy(out, map[string]any{"vcpus": f.VCPUs, "ram": f.RAM, "disk": f.Disk, "swap": "",
			"OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false, "os-flavor-access:is_public": true,
			"rxtx_factor": 1.0})
	}
	return out
}
