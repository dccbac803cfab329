package sim

import (
	"fmt"
	"hash/fnv"
	"regexp"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// topologyTypes are the instance types of which DescribeInstanceTopology knows the network; it leaves others out.
var topologyTypes = regexp.MustCompile(`^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?\.`)

// Limits of DescribeInstanceTopology.
const maxTopologyIDs = 100

var topologyPages = pageRule{least: 1, most: 100}

// Sizes of the simulated network: instances at one node of the last layer, and of the one above.
const (
	instancesPerRack = 8
	racksPerSpine    = 8
)

type topologyView struct {
	ID     string              `xml:"instanceId"`
	Type   string              `xml:"instanceType"`
	Nodes  query.Items[string] `xml:"networkNodeSet"`
	Zone   string              `xml:"availabilityZone"`
	ZoneID string              `xml:"zoneId"`
}

func (t *tx) describeTopology(in struct {
	selection
	InstanceID []string `q:"InstanceId"`
	GroupName  []string
}) (out struct {
	Instances query.Items[topologyView] `xml:"instanceSet"`
	NextToken string                    `xml:"nextToken,omitempty"`
}, err error) {
	if len(in.InstanceID) > maxTopologyIDs {
		return out, invalidValue("The number of instance IDs exceeds the maximum of %d.", maxTopologyIDs)
	}
	if len(in.InstanceID) > 0 && in.MaxResults != nil {
		return out, refuse("InvalidParameterCombination",
			"The parameter InstanceIds cannot be used with the parameter MaxResults")
	}
	if len(in.GroupName) > 0 {
		return out, refuse("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", in.GroupName[0])
	}
	values := func(i *instance, name string) ([]string, bool) {
		switch name {
		case "availability-zone", "instance-type":
			return instanceFields(t)(i, name)
		case "zone-id":
			return instanceFields(t)(i, "availability-zone-id")
		}
		return nil, false
	}
	found, ids, err := selectObjects(t, instanceKind, t.instances, in.InstanceID, in.selection, values)
	if err != nil {
		return out, err
	}
	var shown []topologyView
	var names []string
	for n, i := range found {
		if t.stateOf(i) == stateRunning && topologyTypes.MatchString(i.kind) {
			shown, names = append(shown, t.viewTopology(i)), append(names, ids[n])
		}
	}
	out.Instances.Item, out.NextToken, err = page(shown, names, in.selection, topologyPages)
	return out, err
}

// viewTopology puts instances into racks in the order of their launch.
func (t *tx) viewTopology(i *instance) topologyView {
	rack := i.order / instancesPerRack
	spine := rack / racksPerSpine
	return topologyView{
		ID: i.id, Type: i.kind, Zone: i.zone, ZoneID: t.o.zoneID(i.zone),
		Nodes: query.ItemsOf([]string{
			networkNode("zone", i.zone, 0), networkNode("spine", i.zone, spine), networkNode("rack", i.zone, rack),
		}),
	}
}

func networkNode(layer, zone string, n int) string {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, layer, zone, n) // a hash takes everything
	return fmt.Sprintf("nn-0%016x", h.Sum64())
}
