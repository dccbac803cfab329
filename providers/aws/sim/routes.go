package sim

import (
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

var tableKind = idKind{"rtb", "InvalidRouteTableID", "routeTable ID"}

type routeTable struct {
	id, vpc string
	// main is the table of subnets that have no other; subnets are those that have this one.
	main    bool
	subnets []string
	routes  []*route
}

// route leads to a gateway of any kind, or to a network interface.
type route struct {
	destination netip.Prefix
	gateway     string
	nat         string
	iface       string
	// local routes and those that came with the table have origin CreateRouteTable.
	origin string
}

func routeOperations() []operation {
	return []operation{
		read("DescribeRouteTables", (*tx).describeTables),
		write("CreateRoute", (*tx).createRoute),
		write("ReplaceRoute", (*tx).replaceRoute),
		write("DeleteRoute", (*tx).deleteRoute),
	}
}

type routeView struct {
	V4       string `xml:"destinationCidrBlock,omitempty"`
	V6       string `xml:"destinationIpv6CidrBlock,omitempty"`
	Gateway  string `xml:"gatewayId,omitempty"`
	NAT      string `xml:"natGatewayId,omitempty"`
	Instance string `xml:"instanceId,omitempty"`
	Owner    string `xml:"instanceOwnerId,omitempty"`
	ENI      string `xml:"networkInterfaceId,omitempty"`
	State    string `xml:"state"`
	Origin   string `xml:"origin"`
}

type tableAssociation struct {
	ID     string    `xml:"routeTableAssociationId"`
	Table  string    `xml:"routeTableId"`
	Subnet string    `xml:"subnetId,omitempty"`
	Main   bool      `xml:"main"`
	State  stateText `xml:"associationState"`
}

type tableView struct {
	ID           string                        `xml:"routeTableId"`
	VPC          string                        `xml:"vpcId"`
	Owner        string                        `xml:"ownerId"`
	Routes       query.Items[routeView]        `xml:"routeSet"`
	Associations query.Items[tableAssociation] `xml:"associationSet"`
	Gateways     query.Items[nothing]          `xml:"propagatingVgwSet"`
	Tags         query.Items[tag]              `xml:"tagSet"`
}

func (t *tx) describeTables(in struct {
	selection
	RouteTableID []string `q:"RouteTableId"`
}) (out struct {
	Tables    query.Items[tableView] `xml:"routeTableSet"`
	NextToken string                 `xml:"nextToken,omitempty"`
}, err error) {
	out.Tables, out.NextToken, err = description[*routeTable, tableView]{tableKind, t.tables,
		pageRule{least: 5, most: 100},
		tableFields(t), t.viewTable}.page(t, in.RouteTableID, in.selection)
	return out, err
}

func (t *tx) viewTable(r *routeTable) tableView {
	v := tableView{ID: r.id, VPC: r.vpc, Owner: t.o.Account, Tags: t.tagSet(r.id),
		Associations: query.ItemsOf(r.associations())}
	for _, x := range r.routes {
		v.Routes.Item = append(v.Routes.Item, t.viewRoute(x))
	}
	return v
}

func (r *routeTable) associations() []tableAssociation {
	var out []tableAssociation
	suffix := r.id[len("rtb-"):]
	if r.main {
		out = append(out, tableAssociation{ID: "rtbassoc-" + suffix, Table: r.id, Main: true, State: stateText{"associated"}})
	}
	for _, s := range r.subnets {
		out = append(out, tableAssociation{ID: "rtbassoc-" + s[len("subnet-"):], Table: r.id, Subnet: s,
			State: stateText{"associated"}})
	}
	return out
}

// viewRoute shows a route whose network interface was deleted as a blackhole, which then names no instance any more.
func (t *tx) viewRoute(r *route) routeView {
	v := routeView{Gateway: r.gateway, NAT: r.nat, ENI: r.iface, State: "active", Origin: r.origin}
	if r.destination.Addr().Is4() {
		v.V4 = r.destination.String()
	} else {
		v.V6 = r.destination.String()
	}
	if t.blackhole(r) {
		v.State = "blackhole"
	} else if r.iface != "" {
		if id := t.interfaces[r.iface].instance; id != "" {
			v.Instance, v.Owner = id, t.o.Account
		}
	}
	return v
}

func (t *tx) blackhole(r *route) bool { return r.iface != "" && !has(t.interfaces, r.iface) }

func tableFields(t *tx) fields[*routeTable] {
	return func(r *routeTable, name string) ([]string, bool) {
		if r == nil {
			r = &routeTable{}
		}
		switch name {
		case "route-table-id", "association.route-table-id":
			return []string{r.id}, true
		case "vpc-id":
			return []string{r.vpc}, true
		case "owner-id":
			return []string{t.o.Account}, true
		case "association.subnet-id":
			return r.subnets, true
		case "association.main":
			var out []string
			if r.main {
				out = append(out, "true")
			}
			if len(r.subnets) > 0 {
				out = append(out, "false")
			}
			return out, true
		}
		return t.routeFields(r, name)
	}
}

func (t *tx) routeFields(r *routeTable, name string) (values []string, ok bool) {
	for _, x := range append(slices.Clone(r.routes), &route{}) {
		v := routeView{}
		if x.destination.IsValid() {
			v = t.viewRoute(x)
		}
		text, known := map[string]string{
			"route.destination-cidr-block": v.V4, "route.destination-ipv6-cidr-block": v.V6, "route.gateway-id": v.Gateway,
			"route.nat-gateway-id": v.NAT, "route.instance-id": v.Instance, "route.state": v.State, "route.origin": v.Origin,
		}[name]
		if !known {
			return nil, false
		}
		if text != "" {
			values = append(values, text)
		}
	}
	return values, true
}

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

// destination reads where a route leads to, in the table that it names.
func (t *tx) destination(in routeInput) (*routeTable, netip.Prefix, error) {
	if in.RouteTableID == "" {
		return nil, netip.Prefix{}, missingParameter("routeTableId")
	}
	table, err := find(tableKind, t.tables, in.RouteTableID)
	if err != nil {
		return nil, netip.Prefix{}, err
	}
	text, v4, name := in.DestinationCidrBlock, true, "destinationCidrBlock"
	if in.DestinationIPv6CidrBlock != "" {
		if text != "" {
			return nil, netip.Prefix{}, refuse("InvalidParameterCombination",
				"The parameters destinationCidrBlock and destinationIpv6CidrBlock cannot be used together")
		}
		text, v4, name = in.DestinationIPv6CidrBlock, false, "destinationIpv6CidrBlock"
	}
	if text == "" {
		return nil, netip.Prefix{}, missingParameter("destinationCidrBlock")
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4() != v4 {
		return nil, netip.Prefix{}, invalidValue("Value (%s) for parameter %s is invalid. This is not a valid CIDR block.",
			text, name)
	}
	return table, p.Masked(), nil
}

// target reads what a route leads through.
func (t *tx) target(in routeInput, table *routeTable, to netip.Prefix) (*route, error) {
	r := &route{destination: to, origin: "CreateRoute", gateway: in.GatewayID + in.EgressOnlyInternetGatewayID +
		in.TransitGatewayID +
		in.VpcPeeringConnectionID + in.VpcEndpointID, nat: in.NatGatewayID, iface: in.NetworkInterfaceID}
	switch {
	case in.InstanceID != "":
		i, err := find(instanceKind, t.instances, in.InstanceID)
		if err != nil {
			return nil, err
		}
		if i.vpc != table.vpc {
			return nil, refuse("InvalidParameterValue", "route table %s and interface belong to different networks", table.id)
		}
		if len(i.enis) == 0 {
			return nil, refuse("IncorrectInstanceState", "Instance '%s' is not in a state that allows it to be a route target",
				i.id)
		}
		if len(i.enis) > 1 {
			return nil, refuse("InvalidInstanceID", "There are multiple interfaces attached to instance '%s'. "+
				"Please specify an interface ID for the operation instead.", i.id)
		}
		r.iface = i.enis[0]
	case in.NetworkInterfaceID != "":
		if _, err := find(interfaceKind, t.interfaces, in.NetworkInterfaceID); err != nil {
			return nil, err
		}
	case r.gateway == "" && r.nat == "":
		return nil, refuse("MissingParameter", "The request must contain exactly one of gatewayId, natGatewayId, "+
			"networkInterfaceId, "+
			"vpcPeeringConnectionId, instanceId, egressOnlyInternetGatewayId, transitGatewayId, vpcEndpointId")
	}
	return r, nil
}

// isLocal reports whether a destination is the VPC itself, whose route cannot be changed.
func (t *tx) isLocal(table *routeTable, p netip.Prefix) bool {
	return slices.ContainsFunc(table.routes, func(r *route) bool { return r.gateway == "local" && r.destination == p })
}

func (t *tx) createRoute(in routeInput) (done, error) {
	table, p, err := t.destination(in)
	if err != nil {
		return done{}, err
	}
	r, err := t.target(in, table, p)
	if err != nil {
		return done{}, err
	}
	if at := table.index(p); at >= 0 {
		if t.isLocal(table, p) || *table.routes[at] != *r {
			return done{}, refuse("RouteAlreadyExists", "The route identified by %s already exists.", p)
		}
		return done{true}, nil
	}
	if len(table.routes) >= t.o.Quotas[QuotaRoutesPerTable] {
		return done{}, refuse("RouteLimitExceeded", "The maximum number of routes has been reached.")
	}
	table.routes = append(table.routes, r)
	return done{true}, nil
}

func (r *routeTable) index(p netip.Prefix) int {
	return slices.IndexFunc(r.routes, func(x *route) bool { return x.destination == p })
}

func (t *tx) replaceRoute(in routeInput) (done, error) {
	table, p, err := t.destination(in)
	if err != nil {
		return done{}, err
	}
	at := table.index(p)
	if at < 0 {
		return done{}, refuse("InvalidParameterValue",
			"There is no route defined for '%s' in the route table. Use CreateRoute instead.", p)
	}
	if t.isLocal(table, p) {
		return done{}, invalidValue("cannot replace local route %s in route table %s", p, table.id)
	}
	r, err := t.target(in, table, p)
	if err != nil {
		return done{}, err
	}
	table.routes[at] = r
	return done{true}, nil
}

func (t *tx) deleteRoute(in routeInput) (done, error) {
	table, p, err := t.destination(in)
	if err != nil {
		return done{}, err
	}
	at := table.index(p)
	if at < 0 {
		return done{}, refuse("InvalidRoute.NotFound", "no route with destination-cidr-block %s in route table %s", p,
			table.id)
	}
	if t.isLocal(table, p) {
		return done{}, invalidValue("cannot remove local route %s in route table %s", p, table.id)
	}
	table.routes = slices.Delete(table.routes, at, at+1)
	return done{true}, nil
}
