package ec2

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type zoneView struct {
	State    string `xml:"zoneState" filter:"state"`
	OptIn    string `xml:"optInStatus" filter:"opt-in-status"`
	Messages query.Items[struct {
		Message string `xml:"message" filter:"message,parent-zone-id,parent-zone-name,group-long-name"`
	}] `xml:"messageSet" filter:""`
	Region string `xml:"regionName" filter:"region-name"`
	Name   string `xml:"zoneName" filter:"zone-name"`
	ID     string `xml:"zoneId" filter:"zone-id"`
	Group  string `xml:"groupName" filter:"group-name"`
	Border string `xml:"networkBorderGroup"`
	Type   string `xml:"zoneType" filter:"zone-type"`
}

func (t *Tx) describeZones(in struct {
	Filter               []core.Filter
	ZoneName             []string
	ZoneID               []string `q:"ZoneId"`
	AllAvailabilityZones bool
}) (out struct {
	Zones query.Items[zoneView] `xml:"availabilityZoneInfo"`
}, err error) {
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
		out.Zones.Item = append(out.Zones.Item, all[name])
	}
	out.Zones.Item, err = core.FilterViews(out.Zones.Item, in.Filter)
	return out, err
}

func zoneNames(all map[string]zoneView, ids map[string]string, names, zoneIDs []string) ([]string, error) {
	if len(names)+len(zoneIDs) == 0 {
		return core.SortedIDs(all), nil
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

type regionView struct {
	Name     string `xml:"regionName" filter:"region-name"`
	Endpoint string `xml:"regionEndpoint" filter:"endpoint"`
	OptIn    string `xml:"optInStatus" filter:"opt-in-status"`
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
	out.Regions.Item, err = core.FilterViews([]regionView{region}, in.Filter)
	return out, err
}
