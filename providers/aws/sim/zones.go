package sim

import (
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type zoneView struct {
	State    string `xml:"zoneState"`
	OptIn    string `xml:"optInStatus"`
	Messages query.Items[struct {
		Message string `xml:"message"`
	}] `xml:"messageSet"`
	Region string `xml:"regionName"`
	Name   string `xml:"zoneName"`
	ID     string `xml:"zoneId"`
	Group  string `xml:"groupName"`
	Border string `xml:"networkBorderGroup"`
	Type   string `xml:"zoneType"`
}

func (t *tx) describeZones(in struct {
	Filter               []filter
	ZoneName             []string
	ZoneID               []string `q:"ZoneId"`
	AllAvailabilityZones bool
}) (out struct {
	Zones query.Items[zoneView] `xml:"availabilityZoneInfo"`
}, err error) {
	if err := (selection{Filter: in.Filter}).check(); err != nil {
		return out, err
	}
	if err := checkFilters(in.Filter, zoneFields); err != nil {
		return out, err
	}
	all := map[string]zoneView{}
	ids := map[string]string{}
	for _, z := range t.o.Zones {
		all[z] = zoneView{
			State: "available", OptIn: "opt-in-not-required", Region: t.o.Region, Name: z, ID: t.o.zoneID(z),
			Group: t.o.Region + "-zg-1", Border: t.o.Region, Type: "availability-zone",
		}
		ids[t.o.zoneID(z)] = z
	}
	names, err := zoneNames(all, ids, in.ZoneName, in.ZoneID)
	if err != nil {
		return out, err
	}
	for _, name := range names {
		if matchesAll(t, "", all[name], in.Filter, zoneFields) {
			out.Zones.Item = append(out.Zones.Item, all[name])
		}
	}
	return out, nil
}

func zoneNames(all map[string]zoneView, ids map[string]string, names, zoneIDs []string) ([]string, error) {
	if len(names)+len(zoneIDs) == 0 {
		return slices.Sorted(maps.Keys(all)), nil
	}
	for _, name := range names {
		if !has(all, name) {
			return nil, invalidValue("Invalid availability zone: [%s]", name)
		}
	}
	for _, id := range zoneIDs {
		if !has(ids, id) {
			return nil, invalidValue("Invalid availability zone-id: [%s]", id)
		}
		names = append(names, ids[id])
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

func zoneFields(z zoneView, name string) ([]string, bool) {
	return oneOf(name, map[string]string{
		"zone-name": z.Name, "zone-id": z.ID, "region-name": z.Region, "state": z.State, "zone-type": z.Type,
		"group-name": z.Group, "opt-in-status": z.OptIn, "parent-zone-id": "", "parent-zone-name": "", "message": "",
		"group-long-name": "",
	})
}

type regionView struct {
	Name     string `xml:"regionName"`
	Endpoint string `xml:"regionEndpoint"`
	OptIn    string `xml:"optInStatus"`
}

// describeRegions returns the region of this cloud.
func (t *tx) describeRegions(in struct {
	Filter     []filter
	RegionName []string
	AllRegions bool
}) (out struct {
	Regions query.Items[regionView] `xml:"regionInfo"`
}, err error) {
	for _, name := range in.RegionName {
		if name != t.o.Region {
			return out, invalidValue("Invalid region: [%s]", name)
		}
	}
	region := regionView{t.o.Region, "ec2." + t.o.Region + "." + t.o.dnsSuffix(), "opt-in-not-required"}
	values := func(r regionView, name string) ([]string, bool) {
		return oneOf(name, map[string]string{"region-name": r.Name, "endpoint": r.Endpoint, "opt-in-status": r.OptIn})
	}
	if err := checkFilters(in.Filter, values); err != nil {
		return out, err
	}
	if matchesAll(t, "", region, in.Filter, values) {
		out.Regions.Item = append(out.Regions.Item, region)
	}
	return out, nil
}
