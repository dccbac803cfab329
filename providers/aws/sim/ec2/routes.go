package ec2

import (
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type routeView struct {
	V4       string `xml:"destinationCidrBlock,omitempty" filter:"destination-cidr-block"`
	V6       string `xml:"destinationIpv6CidrBlock,omitempty" filter:"destination-ipv6-cidr-block"`
	Gateway  string `xml:"gatewayId,omitempty" filter:"gateway-id"`
	NAT      string `xml:"natGatewayId,omitempty" filter:"nat-gateway-id"`
	Instance string `xml:"instanceId,omitempty" filter:"instance-id"`
	Owner    string `xml:"instanceOwnerId,omitempty"`
	ENI      string `xml:"networkInterfaceId,omitempty"`
	State    string `xml:"state" filter:"state"`
	Origin   string `xml:"origin" filter:"origin"`
}

type tableAssociation struct {
	ID     string           `xml:"routeTableAssociationId" filter:"route-table-association-id"`
	Table  string           `xml:"routeTableId" filter:"route-table-id"`
	Subnet string           `xml:"subnetId,omitempty" filter:"subnet-id"`
	Main   bool             `xml:"main" filter:"main"`
	State  associationState `xml:"associationState"`
}

type tableView struct {
	ID           string                        `xml:"routeTableId" filter:"route-table-id"`
	VPC          string                        `xml:"vpcId" filter:"vpc-id"`
	Owner        string                        `xml:"ownerId" filter:"owner-id"`
	Routes       query.Items[routeView]        `xml:"routeSet" filter:"route."`
	Associations query.Items[tableAssociation] `xml:"associationSet" filter:"association."`
	Gateways     query.Items[core.Nothing]     `xml:"propagatingVgwSet"`
	Tags         query.Items[tag]              `xml:"tagSet"`
}

func (t *Tx) viewTable(r *RouteTable) tableView {
	v := tableView{ID: r.id, VPC: r.VPC, Owner: t.Options.Account, Tags: t.tagSet(r.id),
		Associations: query.ItemsOf(r.associations())}
	for _, route := range r.Routes {
		v.Routes.Item = append(v.Routes.Item, t.viewRoute(route))
	}
	return v
}

func (r *RouteTable) associations() []tableAssociation {
	var out []tableAssociation
	suffix := r.id[len("rtb-"):]
	if r.Main {
		out = append(out, tableAssociation{ID: "rtbassoc-" + suffix, Table: r.id, Main: true,
			State: associationState{"associated"}})
	}
	for _, s := range r.Subnets {
		out = append(out, tableAssociation{ID: "rtbassoc-" + s[len("subnet-"):], Table: r.id, Subnet: s,
			State: associationState{"associated"}})
	}
	return out
}

// viewRoute returns a route with a deleted network interface as a blackhole, without an instance.
func (t *Tx) viewRoute(r *Route) routeView {
	v := routeView{Gateway: r.Gateway, NAT: r.nat, ENI: r.Iface, State: "active", Origin: r.Origin}
	if r.Destination.Addr().Is4() {
		v.V4 = r.Destination.String()
	} else {
		v.V6 = r.Destination.String()
	}
	if t.Blackhole(r) {
		v.State = "blackhole"
	} else if r.Iface != "" {
		if id := t.Interfaces[r.Iface].Instance; id != "" {
			v.Instance, v.Owner = id, t.Options.Account
		}
	}
	return v
}

// Blackhole reports whether the network interface of a route was deleted.
func (t *Tx) Blackhole(r *Route) bool { return r.Iface != "" && !core.Has(t.Interfaces, r.Iface) }

type routeInput struct {
	RouteTableID                string `q:"RouteTableId"`
	DestinationCidrBlock        string
	DestinationIPv6CidrBlock    string `q:"DestinationIpv6CidrBlock"`
	DestinationPrefixListID     string `q:"DestinationPrefixListId"`
	InstanceID                  string `q:"InstanceId"`
	NetworkInterfaceID          string `q:"NetworkInterfaceId"`
	GatewayID                   string `q:"GatewayId"`
	NatGatewayID                string `q:"NatGatewayId"`
	EgressOnlyInternetGatewayID string `q:"EgressOnlyInternetGatewayId"`
	TransitGatewayID            string `q:"TransitGatewayId"`
	VpcPeeringConnectionID      string `q:"VpcPeeringConnectionId"`
	VpcEndpointID               string `q:"VpcEndpointId"`
	LocalTarget                 bool
}

// destination parses the destination of a route in its table.
func (t *Tx) destination(in routeInput) (*RouteTable, netip.Prefix, error) {
	if in.RouteTableID == "" {
		return nil, netip.Prefix{}, core.MissingParameter("routeTableId")
	}
	table, err := core.Find(tableKind, t.Tables, in.RouteTableID)
	if err != nil {
		return nil, netip.Prefix{}, err
	}
	text, v4, name := in.DestinationCidrBlock, true, "destinationCidrBlock"
	if in.DestinationIPv6CidrBlock != "" {
		if text != "" {
			return nil, netip.Prefix{}, core.Refuse("InvalidParameterCombination",
				"The parameters destinationCidrBlock and destinationIpv6CidrBlock cannot be used together")
		}
		text, v4, name = in.DestinationIPv6CidrBlock, false, "destinationIpv6CidrBlock"
	}
	if text == "" {
		return nil, netip.Prefix{}, core.MissingParameter("destinationCidrBlock")
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4() != v4 {
		return nil, netip.Prefix{}, core.InvalidValue(
			"Value (%s) for parameter %s is invalid. This is not a valid CIDR block.", text, name)
	}
	return table, p.Masked(), nil
}

// target parses the target of a route.
func (t *Tx) target(in routeInput, table *RouteTable, to netip.Prefix) (*Route, error) {
	r := &Route{Destination: to, Origin: "CreateRoute", nat: in.NatGatewayID, Iface: in.NetworkInterfaceID,
		Gateway: in.GatewayID + in.EgressOnlyInternetGatewayID + in.TransitGatewayID + in.VpcPeeringConnectionID +
			in.VpcEndpointID}
	switch {
	case in.InstanceID != "":
		i, err := core.Find(InstanceKind, t.Instances, in.InstanceID)
		if err != nil {
			return nil, err
		}
		if i.VPC != table.VPC {
			return nil, core.InvalidValue("route table %s and interface belong to different networks", table.id)
		}
		if len(i.ENIs) == 0 {
			return nil, core.Refuse("IncorrectInstanceState",
				"Instance '%s' is not in a state that allows it to be a route target", i.ID)
		}
		if len(i.ENIs) > 1 {
			return nil, errSeveralInterfaces(i)
		}
		r.Iface = i.ENIs[0]
	case in.NetworkInterfaceID != "":
		if _, err := core.Find(interfaceKind, t.Interfaces, in.NetworkInterfaceID); err != nil {
			return nil, err
		}
	case r.Gateway == "" && r.nat == "":
		return nil, core.Refuse("MissingParameter", "The request must contain exactly one of gatewayId, natGatewayId, "+
			"networkInterfaceId, vpcPeeringConnectionId, instanceId, egressOnlyInternetGatewayId, transitGatewayId, "+
			"vpcEndpointId")
	}
	return r, nil
}

// errSeveralInterfaces returns the error for a change of an instance with several network interfaces.
func errSeveralInterfaces(i *Instance) error {
	return core.Refuse("InvalidInstanceID", "There are multiple interfaces attached to instance '%s'. "+
		"Please specify an interface ID for the operation instead.", i.ID)
}

// Local reports whether a route leads to the VPC itself. It cannot be changed.
func (r *Route) Local() bool { return r.Gateway == "local" }

func (t *Tx) createRoute(in routeInput) (core.Done, error) {
	table, p, err := t.destination(in)
	if err != nil {
		return core.Done{}, err
	}
	r, err := t.target(in, table, p)
	if err != nil {
		return core.Done{}, err
	}
	if i := table.Index(p); i >= 0 {
		if table.Routes[i].Local() || *table.Routes[i] != *r {
			return core.Done{}, core.Refuse("RouteAlreadyExists", "The route identified by %s already exists.", p)
		}
		return core.Done{Return: true}, nil
	}
	if len(table.Routes) >= t.Options.Quotas[core.QuotaRoutesPerTable] {
		return core.Done{}, core.Refuse("RouteLimitExceeded", "The maximum number of routes has been reached.")
	}
	table.Routes = append(table.Routes, r)
	return core.Done{Return: true}, nil
}

// Index returns the position of the route to a destination, -1 if there is none.
func (r *RouteTable) Index(p netip.Prefix) int {
	return slices.IndexFunc(r.Routes, func(route *Route) bool { return route.Destination == p })
}

func (t *Tx) replaceRoute(in routeInput) (core.Done, error) {
	table, p, err := t.destination(in)
	if err != nil {
		return core.Done{}, err
	}
	i := table.Index(p)
	if i < 0 {
		return core.Done{}, core.InvalidValue(
			"There is no route defined for '%s' in the route table. Use CreateRoute instead.", p)
	}
	if table.Routes[i].Local() {
		return core.Done{}, core.InvalidValue("cannot replace local route %s in route table %s", p, table.id)
	}
	r, err := t.target(in, table, p)
	if err != nil {
		return core.Done{}, err
	}
	table.Routes[i] = r
	return core.Done{Return: true}, nil
}

func (t *Tx) deleteRoute(in routeInput) (core.Done, error) {
	table, p, err := t.destination(in)
	if err != nil {
		return core.Done{}, err
	}
	i := table.Index(p)
	if i < 0 {
		return core.Done{}, core.Refuse("InvalidRoute.NotFound", "no route with destination-cidr-block %s in route table %s",
			p, table.id)
	}
	if table.Routes[i].Local() {
		return core.Done{}, core.InvalidValue("cannot remove local route %s in route table %s", p, table.id)
	}
	table.Routes = slices.Delete(table.Routes, i, i+1)
	return core.Done{Return: true}, nil
}
