package aws

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const (
	// routeBatch is how many routes are made in one go. EC2 takes one route a call, and lets an
	// account make 5 such calls a second for long, so that this many, with an attribute to change
	// for each, end well within routeTimeout.
	routeBatch   = 100
	routeTimeout = 3 * time.Minute
	// routeCalls is how many of these calls run side by side.
	routeCalls = 8
	// tablesAge is how old the tables may be that routes are made and deleted by. The framework
	// lists them before each pass.
	tablesAge = 30 * time.Second
)

// newRoutes puts package routes over EC2's route tables.
func newRoutes(source routes.Source, targets routes.NodeTargets, lister *nodes.LazyLister) *routes.Routes {
	return routes.New(routes.Options{
		Provider: ProviderName, MaxBatch: routeBatch, CallTimeout: routeTimeout, ReplacesBlackholes: true, Nodes: lister,
	}, source, targets)
}

// routeSource answers package routes out of the cluster's route tables. A pod route is one to the
// same instance in each of them; where tables differ, it is incomplete.
type routeSource struct {
	ec2   api.EC2
	scope func(context.Context) (scope, error)
	// tableID is the one table to use; without it those in the VPC with the cluster's tag are.
	tableID   string
	instances *instanceSource
	clock     clock.Clock

	mu     sync.Mutex
	tables []*routeTable
	// readAt is when the tables were read last; zero when something about them is in doubt.
	readAt time.Time
}

var _ routes.Source = (*routeSource)(nil)

type routeSourceOptions struct {
	// TableID may be empty.
	TableID   string
	Instances *instanceSource
}

func newRouteSource(o routeSourceOptions) *routeSource {
	return &routeSource{ec2: o.Instances.ec2, scope: o.Instances.scope, tableID: o.TableID, instances: o.Instances, clock: o.Instances.clock}
}

// List implements routes.Source.
func (s *routeSource) List(ctx context.Context, clusterName string) ([]routes.Route, error) {
	tables, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return merge(clusterName, tables), nil
}

// Create implements routes.Source.
func (s *routeSource) Create(ctx context.Context, _ string, list []routes.Route) []error {
	tables, err := s.current(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	ids := make([]string, len(list))
	for n, r := range list {
		ids[n] = r.InstanceID
	}
	machines, err := s.instances.Described(ctx, ids, false)
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	return forEach(list, func(r routes.Route) error {
		machine, ok := machines[r.InstanceID]
		if !ok {
			return &cloudapi.Error{Class: cloudapi.NotFound, Operation: "CreateRoute", Err: fmt.Errorf("instance %s does not exist", r.InstanceID)}
		}
		return s.create(ctx, tables, r.Destination, &machine)
	})
}

// forEach calls do for each route, routeCalls at once, and returns their errors in the order of the list.
func forEach(list []routes.Route, do func(routes.Route) error) []error {
	errs := make([]error, len(list))
	var calls errgroup.Group
	calls.SetLimit(routeCalls)
	for i, r := range list {
		calls.Go(func() error { errs[i] = do(r); return nil })
	}
	_ = calls.Wait() // each route has its own error
	return errs
}

// create makes one route in all tables.
func (s *routeSource) create(ctx context.Context, tables []*routeTable, destination string, machine *ec2types.Instance) error {
	if err := s.forward(ctx, machine); err != nil {
		return err
	}
	for _, table := range tables {
		err := s.point(ctx, table, destination, machine)
		if overtaken(err) {
			// Somebody else changed the table since it was read.
			table, err = s.reread(ctx, table)
			if err == nil {
				err = s.point(ctx, table, destination, machine)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overtaken says whether a change was refused because the route was not what it was taken for.
func overtaken(err error) bool {
	return awserr.Is(err, "RouteAlreadyExists", "InvalidRoute.NotFound", "InvalidParameterValue")
}

// forward lets an instance handle packets that are not addressed to itself, unless it may already.
func (s *routeSource) forward(ctx context.Context, machine *ec2types.Instance) error {
	id := aws.ToString(machine.InstanceId)
	check := machine.SourceDestCheck
	primary, several := primaryOf(machine)
	if several {
		check = primary.SourceDestCheck
	}
	switch {
	case check != nil && !*check:
		return nil
	case several:
		// EC2 changes it for an instance with one interface only, and for interfaces by another
		// action, which the manager is not given for this one case.
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "ModifyInstanceAttribute", Err: fmt.Errorf(
			"instance %s has several network interfaces, and the first drops packets to pods: run aws ec2 modify-network-interface-attribute --network-interface-id %s --no-source-dest-check",
			id, aws.ToString(primary.NetworkInterfaceId))}
	}
	off := &ec2types.AttributeBooleanValue{Value: aws.Bool(false)}
	_, err := s.ec2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{InstanceId: &id, SourceDestCheck: off})
	if err != nil {
		return fmt.Errorf("letting instance %s forward packets: %w", id, awserr.Wrap("ModifyInstanceAttribute", err))
	}
	s.instances.known.change(id, func(i *ec2types.Instance) { i.SourceDestCheck = aws.Bool(false) })
	return nil
}

// primaryOf returns the first network interface, and whether there are several. EC2 then wants
// routes to name the interface.
func primaryOf(machine *ec2types.Instance) (primary ec2types.InstanceNetworkInterface, several bool) {
	if interfaces := inUse(machine.NetworkInterfaces); len(interfaces) > 1 {
		return interfaces[0], true
	}
	return primary, false
}

// throughOf is what a route to the machine names: its instance, or its first network interface.
func throughOf(machine *ec2types.Instance) (instance, networkInterface *string) {
	if primary, several := primaryOf(machine); several {
		return nil, primary.NetworkInterfaceId
	}
	return machine.InstanceId, nil
}

// point makes the table's route to destination lead to the machine. A route that does is left
// alone, one that has lost its target is replaced, and any other is in the way.
func (s *routeSource) point(ctx context.Context, table *routeTable, destination string, machine *ec2types.Instance) error {
	id := aws.ToString(machine.InstanceId)
	s.mu.Lock()
	have, exists := table.routes[destination]
	s.mu.Unlock()
	v4, v6 := families(destination)
	instance, networkInterface := throughOf(machine)
	var err error
	switch {
	case exists && have.kind == toMachine && have.instance == id:
		return nil
	case exists && have.kind == toNothing:
		_, err = s.ec2.ReplaceRoute(ctx, &ec2.ReplaceRouteInput{
			RouteTableId: &table.id, DestinationCidrBlock: v4, DestinationIpv6CidrBlock: v6,
			InstanceId: instance, NetworkInterfaceId: networkInterface,
		})
		err = awserr.Wrap("ReplaceRoute", err)
	case exists:
		return &cloudapi.Error{Class: cloudapi.AlreadyExists, Operation: "CreateRoute",
			Err: fmt.Errorf("route table %s has another route to %s, through %s: remove it, or give the node another pod range", table.id, destination, have.through)}
	default:
		_, err = s.ec2.CreateRoute(ctx, &ec2.CreateRouteInput{
			RouteTableId: &table.id, DestinationCidrBlock: v4, DestinationIpv6CidrBlock: v6,
			InstanceId: instance, NetworkInterfaceId: networkInterface,
		})
		err = awserr.Wrap("CreateRoute", err)
	}
	if err != nil {
		s.doubt()
		return fmt.Errorf("route table %s: %w", table.id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	table.routes[destination] = tableRoute{kind: toMachine, instance: id, through: id}
	return nil
}

// Delete implements routes.Source. What a destination leads to now decides: a route to another
// instance, or one that is not ours, stays.
func (s *routeSource) Delete(ctx context.Context, _ string, list []routes.Route) []error {
	tables, err := s.current(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	return forEach(list, func(r routes.Route) error {
		for _, table := range tables {
			if err := s.remove(ctx, table, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// remove deletes the route from one table, if it is there.
func (s *routeSource) remove(ctx context.Context, table *routeTable, route routes.Route) error {
	s.mu.Lock()
	have, exists := table.routes[route.Destination]
	s.mu.Unlock()
	if !exists || !have.is(route) {
		return nil
	}
	v4, v6 := families(route.Destination)
	_, err := s.ec2.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: &table.id, DestinationCidrBlock: v4, DestinationIpv6CidrBlock: v6})
	err = awserr.Wrap("DeleteRoute", err)
	if err != nil && !awserr.Is(err, "InvalidRoute.NotFound") {
		s.doubt()
		return fmt.Errorf("route table %s: %w", table.id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(table.routes, route.Destination)
	return nil
}
