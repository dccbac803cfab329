package kinds

import (
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
)

// LoadBalancer has the fields of a load balancer, existing or wanted. NewName is set only if the name changes.
type LoadBalancer struct {
	Object, NewName                                        string
	Provider, Port, Subnet, Network, Flavor, Zone, Address string
	Tags                                                   []string
}

// LoadBalancers is the kind of load balancers. One that changes its place is replaced. Listeners and pools are created
// with it.
var LoadBalancers = rows.Kind[*LoadBalancer, *loadbalancers.UpdateOpts]{
	Name: observe.KindLoadBalancer,
	Key:  func(p *LoadBalancer) string { return p.Object },
	Rows: []rows.Row[*LoadBalancer, *loadbalancers.UpdateOpts]{
		{
			Name: "provider", Value: rows.Text(func(p *LoadBalancer) *string { return &p.Provider }),
			Ignore: func(*LoadBalancer, *LoadBalancer) bool { return true },
		},
		placeRow(FieldPort, func(p *LoadBalancer) *string { return &p.Port }),
		placeRow(FieldSubnet, func(p *LoadBalancer) *string { return &p.Subnet }),
		placeRow(FieldNetwork, func(p *LoadBalancer) *string { return &p.Network }),
		placeRow(FieldFlavor, func(p *LoadBalancer) *string { return &p.Flavor }),
		placeRow(FieldZone, func(p *LoadBalancer) *string { return &p.Zone }),
		placeRow(FieldAddress, func(p *LoadBalancer) *string { return &p.Address }),
		{
			// The step sets the tags of the Service in those that the load balancer has then.
			Name: FieldTags, Value: rows.Of(tags.Show, func(p *LoadBalancer) *[]string { return &p.Tags }), Mark: true,
			Set: func(*loadbalancers.UpdateOpts, *LoadBalancer) {},
		},
		{
			Name: FieldName, Value: rows.Text(func(p *LoadBalancer) *string { return &p.NewName }),
			Set: func(patch *loadbalancers.UpdateOpts, want *LoadBalancer) { patch.Name = &want.NewName },
		},
	},
}

// placeRow returns the row of a field that cannot change in place.
func placeRow(name string, field func(*LoadBalancer) *string) rows.Row[*LoadBalancer, *loadbalancers.UpdateOpts] {
	return rows.Row[*LoadBalancer, *loadbalancers.UpdateOpts]{Name: name, Value: rows.Text(field),
		Effect: rows.LoadBalancer("a load balancer is replaced (`vip_port_id`, `vip_subnet_id`, `vip_network_id`, " +
			"`vip_address`, `flavor_id`, `availability_zone`)")}
}

// immutableFieldNames are the names of the fields of load balancers in messages.
var immutableFieldNames = map[string]string{
	FieldPort: "port", FieldSubnet: "subnet", FieldNetwork: "network", FieldFlavor: "flavor",
	FieldZone: "availability zone", FieldAddress: "address",
}

// ReplacementReason describes the difference of a field that no load balancer can change in place.
func ReplacementReason(f plan.Field) string {
	consequence := ""
	if f.Name == FieldAddress {
		consequence = ": clients have to follow"
	}
	return fmt.Sprintf("the %s changes from %s to %s, which no load balancer can do in place%s",
		immutableFieldNames[f.Name], f.Before, f.After, consequence)
}
