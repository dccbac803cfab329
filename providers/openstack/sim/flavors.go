package sim

import (
	"net/http"
)

func flavorOperations() []operation {
	return []operation{
		read("ListFlavors", "flavors", func(t *tx) (any, error) { return t.listFlavors(false) }),
		read("ListFlavorsDetailed", "flavors/detail", func(t *tx) (any, error) { return t.listFlavors(true) }),
		read("ShowFlavor", "flavors/{id}", func(t *tx) (any, error) {
			f, err := t.flavor()
			if err != nil {
				return nil, err
			}
			return map[string]any{"flavor": t.flavorView(f, true)}, nil
		}),
		read("ListFlavorExtraSpecs", "flavors/{id}/os-extra_specs", func(t *tx) (any, error) {
			if _, err := t.flavor(); err != nil {
				return nil, err
			}
			return map[string]any{"extra_specs": map[string]string{}}, nil
		}),
		read("ListAvailabilityZones", "os-availability-zone", func(t *tx) (any, error) {
			out := []any{}
			for _, zone := range t.o.Zones {
				out = append(out, map[string]any{"zoneName": zone, "zoneState": map[string]bool{"available": true}, "hosts": nil})
			}
			return map[string]any{"availabilityZoneInfo": out}, nil
		}),
	}
}

// flavor returns the one that the call names.
func (t *tx) flavor() (*flavor, error) {
	f := t.flavors[t.call.params["id"]]
	if f == nil || f.deleted {
		return nil, refuse(http.StatusNotFound, "itemNotFound", "Flavor %s could not be found.", t.call.params["id"])
	}
	return f, nil
}

func (t *tx) listFlavors(detail bool) (any, error) {
	page, links, err := paged(t, only(bySeq(t.flavors), func(f *flavor) bool { return !f.deleted }), 1000)
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

func (t *tx) flavorView(f *flavor, detail bool) map[string]any {
	self := t.call.base + "/" + serviceCompute
	out := map[string]any{"id": f.ID, "name": f.Name, "links": []link{
		{Rel: "self", HRef: self + "/v2.1/flavors/" + f.ID}, {Rel: "bookmark", HRef: self + "/flavors/" + f.ID},
	}}
	if detail {
		more := map[string]any{"vcpus": f.vCPUs, "ram": f.ramMB, "disk": f.disk, "swap": "", "OS-FLV-EXT-DATA:ephemeral": 0,
			"OS-FLV-DISABLED:disabled": false, "os-flavor-access:is_public": true, "rxtx_factor": 1.0}
		for k, v := range more {
			out[k] = v
		}
	}
	return out
}

func imageOperations() []operation {
	return []operation{
		read("ListImages", "images", func(*tx) (any, error) {
			return map[string]any{"images": []any{}, "schema": "/v2/schemas/images", "first": "/v2/images"}, nil
		}),
		read("ShowImage", "images/{id}", func(t *tx) (any, error) {
			return nil, refuse(http.StatusNotFound, "", "No image found with ID %s", t.call.params["id"])
		}),
	}
}
