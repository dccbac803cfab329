package nova

import (
	"fmt"
	"maps"
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

func flavorOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("ListFlavors", "flavors", func(t *Tx) (any, error) { return t.listFlavors(false) }),
		core.Read("ListFlavorsDetailed", "flavors/detail", func(t *Tx) (any, error) { return t.listFlavors(true) }),
		core.Read("ShowFlavor", "flavors/{id}", func(t *Tx) (any, error) {
			f, err := t.flavor()
			if err != nil {
				return nil, err
			}
			return map[string]any{"flavor": t.flavorView(f, true)}, nil
		}),
		core.Read("ListFlavorExtraSpecs", "flavors/{id}/os-extra_specs", func(t *Tx) (any, error) {
			if _, err := t.flavor(); err != nil {
				return nil, err
			}
			return map[string]any{"extra_specs": map[string]string{}}, nil
		}),
		core.Read("ListAvailabilityZones", "os-availability-zone", func(t *Tx) (any, error) {
			out := []any{}
			for _, zone := range t.Options.Zones {
				out = append(out, map[string]any{"zoneName": zone, "zoneState": map[string]bool{"available": true}, "hosts": nil})
			}
			return map[string]any{"availabilityZoneInfo": out}, nil
		}),
	}
}

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

// ImageOperations returns the operations of Glance, which has no image.
func ImageOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("ListImages", "images", func(*Tx) (any, error) {
			return map[string]any{"images": []any{}, "schema": "/v2/schemas/images", "first": "/v2/images"}, nil
		}),
		core.Read("ShowImage", "images/{id}", func(t *Tx) (any, error) {
			return nil, core.Refuse(http.StatusNotFound, "", "No image found with ID %s", t.Call.Params["id"])
		}),
	}
}
