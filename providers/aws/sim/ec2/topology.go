package ec2

import (
	"fmt"
	"hash/fnv"
	"regexp"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// topologyTypes are the instance types with a network topology in DescribeInstanceTopology; it omits others.
var topologyTypes = regexp.MustCompile(`^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?\.`)

// Limits of DescribeInstanceTopology.
const maxTopologyIDs = 100

var topologyPages = core.PageRule{Min: 1, Max: 100}

// Sizes of the simulated network.
const (
	instancesPerRack = 8
	racksPerSpine    = 8
)

type topologyView struct {
	ID     string              `xml:"instanceId"`
	Type   string              `xml:"instanceType" filter:"instance-type"`
	Nodes  query.Items[string] `xml:"networkNodeSet"`
	Zone   string              `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID string              `xml:"zoneId" filter:"zone-id"`
}

func (t *Tx) describeTopology(in struct {
	core.Selection
	InstanceID []string `q:"InstanceId"`
	GroupName  []string
}) (out struct {
	Instances query.Items[topologyView] `xml:"instanceSet"`
	NextToken string                    `xml:"nextToken,omitempty"`
}, err error) {
	if len(in.InstanceID) > maxTopologyIDs {
		return out, core.InvalidValue("The number of instance IDs exceeds the maximum of %d.", maxTopologyIDs)
	}
	if len(in.InstanceID) > 0 && in.MaxResults != nil {
		return out, core.Refuse("InvalidParameterCombination",
			"The parameter InstanceIds cannot be used with the parameter MaxResults")
	}
	if len(in.GroupName) > 0 {
		return out, core.Refuse("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", in.GroupName[0])
	}
	instances := core.Description[*Instance, topologyView]{Kind: InstanceKind, All: t.Instances, View: t.viewTopology}
	found, ids, err := instances.Select(t.Tx, in.InstanceID, in.Selection)
	if err != nil {
		return out, err
	}
	var shown []topologyView
	var shownIDs []string
	for n, i := range found {
		if t.StateOf(i) == StateRunning && topologyTypes.MatchString(i.Kind) {
			shown, shownIDs = append(shown, t.viewTopology(i)), append(shownIDs, ids[n])
		}
	}
	out.Instances.Item, out.NextToken, err = core.Page(shown, shownIDs, in.Selection, topologyPages)
	return out, err
}

// viewTopology puts instances into racks in the order of their launch.
func (t *Tx) viewTopology(i *Instance) topologyView {
	rack := i.Order / instancesPerRack
	spine := rack / racksPerSpine
	return topologyView{
		ID: i.ID, Type: i.Kind, Zone: i.Zone, ZoneID: t.Options.ZoneID(i.Zone),
		Nodes: query.ItemsOf([]string{
			networkNode("zone", i.Zone, 0), networkNode("spine", i.Zone, spine), networkNode("rack", i.Zone, rack),
		}),
	}
}

func networkNode(layer, zone string, n int) string {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, layer, zone, n) // writing to a hash cannot fail
	return fmt.Sprintf("nn-0%016x", h.Sum64())
}
