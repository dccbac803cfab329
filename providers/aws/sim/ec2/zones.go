package ec2

import (
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
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

func (t *Tx) describeZones(in struct {
	Filter               []core.Filter
	ZoneName             []string
	ZoneID               []string `q:"ZoneId"`
	AllAvailabilityZones bool
}) (out struct {
	Zones query.Items[zoneView] `xml:"availabilityZoneInfo"`
}, err error) {
	if err := (core.Selection{Filter: in.Filter}).Check(); err != nil {
		return out, err
	}
	if err := core.CheckFilters(in.Filter, zoneFields); err != nil {
		return out, err
	}
	all := map[string]zoneView{}
	ids := map[string]string{}
	for _, z := range t.Options.Zones {
		all[z] = zoneView{
			State: "available", OptIn: "opt-in-not-required", Region: t.Options.Region, Name: z, ID: t.Options.ZoneID(z),
			Group: t.Options.Region + "-zg-1", Border: t.Options.Region, Type: "availability-zone",
		}
		ids[t.Options.ZoneID(z)] = z
	}
	names, err := zoneNames(all, ids, in.ZoneName, in.ZoneID)
	if err != nil {
		return out, err
	}
	for _, name := range names {
		if core.MatchesAll(t.Tx, "", all[name], in.Filter, zoneFields) {
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
		if !core.Has(all, name) {
			return nil, core.InvalidValue("Invalid availability zone: [%s]", name)
		}
	}
	for _, id := range zoneIDs {
		if !core.Has(ids, id) {
			return nil, core.InvalidValue("Invalid availability zone-id: [%s]", id)
		}
		names = append(names, ids[id])
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

func zoneFields(z zoneView, name string) ([]string, bool) {
	return core.OneOf(name, map[string]string{
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
func (t *Tx) describeRegions(in struct {
	Filter     []core.Filter
	RegionName []string
	AllRegions bool
}) (out struct {
	Regions query.Items[regionView] `xml:"regionInfo"`
}, err error) {
	for _, name := range in.RegionName {
		if name != t.Options.Region {
			return out, core.InvalidValue("Invalid region: [%s]", name)
		}
	}
	region := regionView{t.Options.Region, "ec2." + t.Options.Region + "." + t.Options.DNSSuffix(), "opt-in-not-required"}
	values := func(r regionView, name string) ([]string, bool) {
		return core.OneOf(name, map[string]string{"region-name": r.Name, "endpoint": r.Endpoint, "opt-in-status": r.OptIn})
	}
	if err := core.CheckFilters(in.Filter, values); err != nil {
		return out, err
	}
	if core.MatchesAll(t.Tx, "", region, in.Filter, values) {
		out.Regions.Item = append(out.Regions.Item, region)
	}
	return out, nil
}
