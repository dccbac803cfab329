package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// maxTablePage is the most route tables on a page, from EC2's API reference.
const maxTablePage = 100

// routeTable is one of the cluster's route tables, by destination in canonical form.
type routeTable struct {
	id     string
	routes map[string]tableRoute
}

// tableRoute is what a table does with one destination.
type tableRoute struct {
	kind routeKind
	// instance is the target of a route to a machine.
	instance string
	// through is the target of any route, for messages.
	through string
}

// routeKind says whose a route is. EC2's routes carry no mark, so it goes by what they lead to.
type routeKind int

const (
	// foreign routes lead to gateways, other network interfaces, or instances without the
	// cluster's tag; those of a table that nobody made one by one are foreign too, and so are default routes.
	foreign routeKind = iota
	// toMachine: to an instance with the cluster's tag.
	toMachine
	// toNothing: to a network interface that is gone.
	toNothing
)

// is says whether this is the route that was listed. One that was listed without a target is
// known by its destination alone.
func (r tableRoute) is(listed routes.Route) bool {
	switch r.kind {
	case toMachine:
		return r.instance == listed.InstanceID || listed.InstanceID == "" && !listed.Blackhole
	case toNothing:
		return listed.Blackhole || listed.InstanceID == ""
	default:
		return false
	}
}

// current returns the tables as they were read in the last moments, with our own changes since.
func (s *routeSource) current(ctx context.Context) ([]*routeTable, error) {
	s.mu.Lock()
	tables, fresh := s.tables, !s.readAt.IsZero() && s.clock.Since(s.readAt) <= tablesAge
	s.mu.Unlock()
	if fresh {
		return tables, nil
	}
	return s.read(ctx)
}

// doubt makes the next change read the tables first.
func (s *routeSource) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAt = time.Time{}
}

// reread returns the table as it is now.
func (s *routeSource) reread(ctx context.Context, table *routeTable) (*routeTable, error) {
	tables, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if t.id == table.id {
			return t, nil
		}
	}
	return nil, &cloudapi.Error{Class: cloudapi.NotFound, Operation: "DescribeRouteTables", Err: fmt.Errorf("route table %s is gone", table.id)}
}

// read reads the cluster's tables, sorted by ID, and whose instances their routes lead to.
func (s *routeSource) read(ctx context.Context) ([]*routeTable, error) {
	in, err := s.scope(ctx)
	if err != nil {
		return nil, err
	}
	at := s.clock.Now()
	found, err := s.describe(ctx, in)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, s.noTable(in)
	}
	machines, err := s.instances.owned(ctx, in, targetsOf(found))
	if err != nil {
		return nil, err
	}
	tables := make([]*routeTable, 0, len(found))
	for _, t := range found {
		table := &routeTable{id: aws.ToString(t.RouteTableId), routes: map[string]tableRoute{}}
		for n := range t.Routes {
			if destination, ok := destinationOf(&t.Routes[n]); ok {
				table.routes[destination.String()] = sortRoute(&t.Routes[n], destination, machines)
			}
		}
		tables = append(tables, table)
	}
	slices.SortFunc(tables, func(a, b *routeTable) int { return cmp.Compare(a.id, b.id) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables, s.readAt = tables, at
	return tables, nil
}

func (s *routeSource) noTable(in scope) error {
	err := fmt.Errorf("no route table in VPC %s has the tag %s: tag the tables of the nodes' subnets, or set RouteTableID in section [Global]",
		in.VPC, names.ClusterTag(in.ClusterID))
	if s.tableID != "" {
		err = fmt.Errorf("route table %s, from RouteTableID in section [Global], does not exist in region %s", s.tableID, in.Region)
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeRouteTables", Err: err}
}

// describe reads the table that is configured, or those with the cluster's tag.
func (s *routeSource) describe(ctx context.Context, in scope) ([]ec2types.RouteTable, error) {
	filters := append(in.inVPC(), in.clusterTagged())
	if s.tableID != "" {
		filters = []ec2types.Filter{ec2Filter("route-table-id", s.tableID)}
	}
	var all []ec2types.RouteTable
	pages := ec2.NewDescribeRouteTablesPaginator(s.ec2, &ec2.DescribeRouteTablesInput{Filters: filters, MaxResults: aws.Int32(maxTablePage)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("DescribeRouteTables", err)
		}
		all = append(all, page.RouteTables...)
	}
	return slices.DeleteFunc(all, func(t ec2types.RouteTable) bool {
		return s.tableID == "" && !names.HasCluster(tagsOf(t.Tags), in.ClusterID)
	}), nil
}

// targetsOf are the instances that any route leads to.
func targetsOf(tables []ec2types.RouteTable) []string {
	var ids []string
	for _, t := range tables {
		for _, r := range t.Routes {
			if id := aws.ToString(r.InstanceId); id != "" {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// destinationOf is the route's destination; a prefix list is none that pods can have.
func destinationOf(r *ec2types.Route) (netip.Prefix, bool) {
	text := aws.ToString(r.DestinationCidrBlock)
	if text == "" {
		text = aws.ToString(r.DestinationIpv6CidrBlock)
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err == nil
}

// sortRoute says whose a route is; machines are the instances with the cluster's tag. An instance
// that is stopped keeps its route, whatever state EC2 shows for it.
func sortRoute(r *ec2types.Route, destination netip.Prefix, machines map[string]ec2types.Instance) tableRoute {
	instance := aws.ToString(r.InstanceId)
	gateway := ""
	for _, id := range []*string{
		r.GatewayId, r.NatGatewayId, r.TransitGatewayId, r.VpcPeeringConnectionId, r.EgressOnlyInternetGatewayId,
		r.LocalGatewayId, r.CarrierGatewayId, r.CoreNetworkArn, r.OdbNetworkArn,
	} {
		gateway += aws.ToString(id)
	}
	out := tableRoute{through: cmp.Or(instance, gateway, aws.ToString(r.NetworkInterfaceId), "an unknown target")}
	_, ours := machines[instance]
	switch {
	case destination.Bits() == 0 || r.Origin != ec2types.RouteOriginCreateRoute || gateway != "":
	case ours:
		out.kind, out.instance = toMachine, instance
	case r.State == ec2types.RouteStateBlackhole:
		out.kind = toNothing
	}
	return out
}

// merge makes one list of the tables: a route for each destination and target, complete where all
// tables have it.
func merge(clusterName string, tables []*routeTable) []routes.Route {
	type key struct {
		destination string
		tableRoute
	}
	count := map[key]int{}
	for _, t := range tables {
		for destination, r := range t.routes {
			if r.kind != toMachine {
				r.through = ""
			}
			count[key{destination, r}]++
		}
	}
	keys := slices.SortedFunc(maps.Keys(count), func(a, b key) int {
		if c := cmp.Compare(a.destination, b.destination); c != 0 {
			return c
		}
		// Machines first: their routes have the plain name.
		if a.kind != b.kind {
			return rank(a.kind) - rank(b.kind)
		}
		return cmp.Compare(a.instance, b.instance)
	})
	out := make([]routes.Route, 0, len(keys))
	for n, k := range keys {
		name := clusterName + "-" + k.destination
		if n > 0 && keys[n-1].destination == k.destination {
			// Several targets of one destination are told apart by the target.
			name += "@" + cmp.Or(k.instance, "nothing")
		}
		out = append(out, routes.Route{
			Name: name, Destination: k.destination, InstanceID: k.instance,
			Blackhole: k.kind == toNothing, Owned: k.kind != foreign,
			Incomplete: k.kind == toMachine && count[k] < len(tables),
		})
	}
	return out
}

func rank(k routeKind) int {
	switch k {
	case toMachine:
		return 0
	case toNothing:
		return 1
	default:
		return 2
	}
}

// families puts a destination into the field of its family.
func families(destination string) (v4, v6 *string) {
	if p, err := netip.ParsePrefix(destination); err == nil && p.Addr().Is6() {
		return nil, &destination
	}
	return &destination, nil
}
