package routes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commonroutes "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// maxTablePage is the maximum page size of DescribeRouteTables, from its API reference.
const maxTablePage = 100

const (
	// routeBatch is the number of routes of a batch. EC2 creates one route per call, with a sustained limit of 5
	// calls per second, so that a batch, with an attribute to change for each, ends well within routeTimeout.
	routeBatch   = 100
	routeTimeout = 3 * time.Minute
	// routeCalls is the number of concurrent calls of a batch.
	routeCalls = 8
	// tablesAge is the max age of the tables for a change of routes. The route controller lists routes before it
	// changes them.
	tablesAge = 30 * time.Second
)

// routeTable is one of the cluster's route tables. routes are keyed by destination in canonical form.
type routeTable struct {
	id     string
	routes map[string]tableRoute
}

// tableRoute is the route of a table to a destination.
type tableRoute struct {
	kind routeKind
	// instance is the ID of the target of kind toInstance.
	instance string
	// target is the ID of any target, for messages.
	target string
}

// routeKind classifies a route by its target, since EC2's routes have no tags. Of several routes to one destination,
// the first by kind has the plain name in the list.
type routeKind int

const (
	// toInstance routes lead to an instance with the cluster's tag.
	toInstance routeKind = iota
	// blackhole routes lead to a deleted network interface.
	blackhole
	// foreign routes lead to gateways, other network interfaces, or instances without the cluster's tag. Default
	// routes, and routes that AWS creates, are foreign too.
	foreign
)

// matches reports whether this is the listed route. A route that was listed without a target is identified by its
// destination alone.
func (r tableRoute) matches(listed commonroutes.Route) bool {
	switch r.kind {
	case toInstance:
		return r.instance == listed.InstanceID || listed.InstanceID == "" && !listed.Blackhole
	case blackhole:
		return listed.Blackhole || listed.InstanceID == ""
	default:
		return false
	}
}

// Source implements commonroutes.Source over the cluster's route tables. A pod route leads to the same instance in
// each of them; where tables differ, it is incomplete.
type Source struct {
	connect func(context.Context) (instances.Connection, error)
	// tableID is the only table to use; empty stands for those in the VPC with the cluster's tag.
	tableID   string
	instances *instances.Source
	clock     clock.Clock

	mu     sync.Mutex
	tables []*routeTable
	// readAt is when the tables were read last; zero after a change with an uncertain outcome.
	readAt time.Time
}

// currentTables returns tables that are not older than tablesAge, with our own changes since.
func (s *Source) currentTables(ctx context.Context) ([]*routeTable, error) {
	s.mu.Lock()
	tables, fresh := s.tables, !s.readAt.IsZero() && s.clock.Since(s.readAt) <= tablesAge
	s.mu.Unlock()
	if fresh {
		return tables, nil
	}
	return s.read(ctx)
}

// markUncertain makes the next change read the tables first.
func (s *Source) markUncertain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAt = time.Time{}
}

// reread returns the current state of a table.
func (s *Source) reread(ctx context.Context, table *routeTable) (*routeTable, error) {
	tables, err := s.currentTables(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if t.id == table.id {
			return t, nil
		}
	}
	return nil, &cloudapi.Error{Class: cloudapi.NotFound, Operation: "DescribeRouteTables",
		Err: fmt.Errorf("route table %s is deleted", table.id)}
}

// read reads the cluster's tables, sorted by ID, and the owners of the instances that their routes lead to.
func (s *Source) read(ctx context.Context) ([]*routeTable, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	readAt := s.clock.Now()
	found, err := s.describe(ctx, conn)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, s.noTableError(conn.Scope)
	}
	owned, err := s.instances.Owned(ctx, conn.Scope, targetsOf(found))
	unread, err := awserr.SplitUnread(err)
	if err != nil {
		return nil, err
	}
	tables := make([]*routeTable, 0, len(found))
	for _, t := range found {
		table := &routeTable{id: aws.ToString(t.RouteTableId), routes: map[string]tableRoute{}}
		for n := range t.Routes {
			if destination, ok := destinationOf(&t.Routes[n]); ok {
				table.routes[destination.String()] = classifyRoute(&t.Routes[n], destination, owned, unread)
			}
		}
		tables = append(tables, table)
	}
	sorting.Func(tables, func(a, b *routeTable) int { return cmp.Compare(a.id, b.id) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables, s.readAt = tables, readAt
	return tables, nil
}

func (s *Source) noTableError(scope instances.Scope) error {
	err := fmt.Errorf("no route table in VPC %s has the tag %s: tag the tables of the nodes' subnets, or set "+
		"RouteTableID in section [Global]", scope.VPC, names.ClusterTag(scope.ClusterID))
	if s.tableID != "" {
		err = fmt.Errorf("route table %s, from RouteTableID in section [Global], does not exist in region %s",
			s.tableID, scope.Region)
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeRouteTables", Err: err}
}

// describe reads the configured table, or the tables with the cluster's tag.
func (s *Source) describe(ctx context.Context, conn instances.Connection) ([]ec2types.RouteTable, error) {
	filters := append(conn.InVPC(), conn.ClusterTagged())
	if s.tableID != "" {
		filters = []ec2types.Filter{api.Filter("route-table-id", s.tableID)}
	}
	pages := ec2.NewDescribeRouteTablesPaginator(conn.EC2, &ec2.DescribeRouteTablesInput{
		Filters: filters, MaxResults: aws.Int32(maxTablePage),
	})
	all, err := awserr.Collect(ctx, "DescribeRouteTables", pages,
		func(page *ec2.DescribeRouteTablesOutput) []ec2types.RouteTable { return page.RouteTables })
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t ec2types.RouteTable) bool {
		return s.tableID == "" && !names.HasCluster(api.TagMap(t.Tags), conn.ClusterID)
	}), nil
}

// targetsOf returns the IDs of the instances that routes lead to.
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

// destinationOf returns the destination of a route. ok is false for a prefix list.
func destinationOf(r *ec2types.Route) (netip.Prefix, bool) {
	text := aws.ToString(r.DestinationCidrBlock)
	if text == "" {
		text = aws.ToString(r.DestinationIpv6CidrBlock)
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err == nil
}

// classifyRoute classifies a route; owned are the instances with the cluster's tag. A stopped instance keeps its
// route, whatever the state of the route.
func classifyRoute(r *ec2types.Route, destination netip.Prefix, owned map[string]*ec2types.Instance,
	unread map[string]error) tableRoute {
	instance := aws.ToString(r.InstanceId)
	gateway := ""
	for _, id := range []*string{
		r.GatewayId, r.NatGatewayId, r.TransitGatewayId, r.VpcPeeringConnectionId, r.EgressOnlyInternetGatewayId,
		r.LocalGatewayId, r.CarrierGatewayId, r.CoreNetworkArn, r.OdbNetworkArn,
	} {
		gateway += aws.ToString(id)
	}
	target := cmp.Or(instance, gateway, aws.ToString(r.NetworkInterfaceId), "an unknown target")
	out := tableRoute{kind: foreign, target: target}
	_, isOwned := owned[instance]
	switch {
	case destination.Bits() == 0 || r.Origin != ec2types.RouteOriginCreateRoute || gateway != "":
	case isOwned:
		out.kind, out.instance = toInstance, instance
	case unread[instance] != nil: // whose it is cannot be read
	case r.State == ec2types.RouteStateBlackhole:
		out.kind = blackhole
	}
	return out
}

// mergeTables merges the tables into a list with a route for each destination and target. A route is complete if all
// tables have it.
func mergeTables(clusterName string, tables []*routeTable) []commonroutes.Route {
	type key struct {
		destination string
		tableRoute
	}
	count := map[key]int{}
	for _, t := range tables {
		for destination, r := range t.routes {
			if r.kind != toInstance {
				r.target = ""
			}
			count[key{destination, r}]++
		}
	}
	keys := sorting.SortedFunc(maps.Keys(count), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.destination, b.destination), cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.instance, b.instance))
	})
	out := make([]commonroutes.Route, 0, len(keys))
	for n, k := range keys {
		name := clusterName + "-" + k.destination
		if n > 0 && keys[n-1].destination == k.destination {
			// The target distinguishes several routes to one destination.
			name += "@" + cmp.Or(k.instance, "nothing")
		}
		out = append(out, commonroutes.Route{
			Name: name, Destination: k.destination, InstanceID: k.instance,
			Blackhole: k.kind == blackhole, Owned: k.kind != foreign,
			Incomplete: k.kind == toInstance && count[k] < len(tables),
		})
	}
	return out
}

// destinationFields returns the destination as the field of its IP family.
func destinationFields(destination string) (v4, v6 *string) {
	if p, err := netip.ParsePrefix(destination); err == nil && p.Addr().Is6() {
		return nil, &destination
	}
	return &destination, nil
}
