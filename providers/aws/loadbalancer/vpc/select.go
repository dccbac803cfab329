package vpc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// subnetIDPrefix distinguishes the ID of a subnet from a name.
const subnetIDPrefix = "subnet-"

// Request describes the load balancer that subnets are selected for.
type Request struct {
	Scheme intent.Scheme
	// IDsOrNames are the subnets that the user lists, as written; nil selects by tags.
	IDsOrNames []string
	// Annotation is the key that lists them, for messages.
	Annotation string
	// Family6 requires subnets with IPv6: the load balancer has two families, or only IPv6.
	Family6 bool
}

// Select returns the subnets of a load balancer, one in each zone: those that the user lists, in the order
// written, or else the best of each zone, in the order of the zones' names. The error contains
// intent.Problems, to be merged with those of other settings by intent.Join.
func Select(s SharedState, r Request) ([]Subnet, error) {
	var problems intent.Problems
	var selected []Subnet
	if r.IDsOrNames != nil {
		selected = selectListed(s, r, &problems)
	} else {
		selected = selectByTags(s, r, &problems)
	}
	return selected, problems.Err("subnets")
}

// selectListed returns the subnets that the user names.
func selectListed(s SharedState, r Request, problems *intent.Problems) []Subnet {
	value := strings.Join(r.IDsOrNames, ",")
	var selected []Subnet
	zones := map[string]Subnet{}
	for _, item := range r.IDsOrNames {
		subnet, ok := findSubnet(s.Subnets, item, r.Annotation, value, problems)
		if !ok {
			continue
		}
		if other, taken := zones[subnet.Zone]; taken {
			problems.Addf(r.Annotation, value, "%s and %s are both in zone %s, where a load balancer can have one subnet: "+
				"remove one of them", other, subnet, subnet.Zone)
			continue
		}
		if r.Family6 && len(subnet.CIDR6) == 0 {
			problems.Addf(r.Annotation, value, "subnet %s has no IPv6 network, which the Service's IPv6 (spec.ipFamilies) "+
				"needs: give it one, or list another", subnet)
			continue
		}
		zones[subnet.Zone] = subnet
		selected = append(selected, subnet)
	}
	if len(r.IDsOrNames) == 0 {
		problems.Add(r.Annotation, value, "it lists no subnet: list IDs or names, separated by commas, or remove it")
	}
	return selected
}

// findSubnet finds a subnet by its ID, or by its tag Name.
func findSubnet(subnets []Subnet, item, where, value string, problems *intent.Problems) (Subnet, bool) {
	item = strings.TrimSpace(item)
	if item == "" {
		problems.Add(where, value, "an item is empty: remove the superfluous comma")
		return Subnet{}, false
	}
	var found []Subnet
	for _, subnet := range subnets {
		if subnet.ID == item || subnet.Name == item && !strings.HasPrefix(item, subnetIDPrefix) {
			found = append(found, subnet)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], true
	case len(found) > 1:
		problems.Addf(where, value, "%d subnets of the VPC have the name %s: list IDs instead, which are %s", len(found),
			intent.Quote(item), strings.Join(SubnetIDs(found), ", "))
	case strings.HasPrefix(item, subnetIDPrefix):
		problems.Addf(where, value, "the cluster's VPC has no subnet %s: list subnets of it", intent.Quote(item))
	default:
		problems.Addf(where, value, "no subnet of the cluster's VPC has the tag Name with the value %s: list IDs or names "+
			"of its subnets", intent.Quote(item))
	}
	return Subnet{}, false
}

// selectByTags returns the best subnet of each zone.
func selectByTags(s SharedState, r Request, problems *intent.Problems) []Subnet {
	best := map[string]Subnet{}
	for _, subnet := range candidates(s) {
		if r.Scheme != intent.Internal && !subnet.Public || r.Family6 && len(subnet.CIDR6) == 0 {
			continue
		}
		if subnet.ZoneType != "" && subnet.ZoneType != zoneTypeStandard {
			continue
		}
		if other, ok := best[subnet.Zone]; !ok || preferred(subnet, other, r.Scheme) {
			best[subnet.Zone] = subnet
		}
	}
	if len(best) == 0 {
		problems.Add(r.Annotation, "", noSubnetProblem(s, r))
	}
	selected := make([]Subnet, 0, len(best))
	for _, zone := range slices.Sorted(maps.Keys(best)) {
		selected = append(selected, best[zone])
	}
	return selected
}

// candidates returns the subnets that are marked for this cluster or for none, or else the fallback.
func candidates(s SharedState) []Subnet {
	usable := slices.DeleteFunc(slices.Clone(s.Subnets), func(subnet Subnet) bool { return subnet.ForeignTagged })
	if len(usable) > 0 {
		return usable
	}
	return slices.DeleteFunc(slices.Clone(s.Subnets), func(subnet Subnet) bool { return subnet.ID != s.FallbackSubnet })
}

// preferred reports whether a subnet has precedence over another one of its zone: the one with the role, then
// the one marked for the cluster, then the one with the smaller ID.
func preferred(a, b Subnet, scheme intent.Scheme) bool {
	role := func(s Subnet) bool {
		if scheme == intent.Internal {
			return s.RoleInternal
		}
		return s.RoleELB
	}
	return cmp.Or(-compareBool(role(a), role(b)), -compareBool(a.ClusterTagged, b.ClusterTagged),
		cmp.Compare(a.ID, b.ID)) < 0
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// noSubnetProblem returns the problem that none of the VPC's subnets qualifies, with the fix.
func noSubnetProblem(s SharedState, r Request) string {
	required := "a subnet"
	if r.Scheme != intent.Internal {
		required = "a public subnet (one whose route table leads to an internet gateway)"
	}
	if r.Family6 {
		required += " with an IPv6 network"
	}
	return fmt.Sprintf("none of the %d subnets of VPC %s qualifies: a load balancer needs %s in an availability zone "+
		"that is not marked for other clusters only (tags %s*)", len(s.Subnets), s.VPC, required, names.ClusterTagPrefix)
}

// SubnetIDs returns the IDs of subnets.
func SubnetIDs(subnets []Subnet) []string {
	return api.Convert(subnets, func(s Subnet) string { return s.ID })
}
