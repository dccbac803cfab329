// Package routes manages the routes of nodes in the route tables of a VPC.
package routes

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	commonroutes "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// New returns the cloudprovider.Routes of AWS.
func New(source commonroutes.Source, targets commonroutes.NodeTargets, lister *nodes.LazyLister) *commonroutes.Routes {
	return commonroutes.New(commonroutes.Options{
		Provider: names.Scheme, MaxBatch: routeBatch, CallTimeout: routeTimeout, Nodes: lister,
		ReplacesBlackholes: true, RejectsForeign: true,
	}, source, targets)
}

var _ commonroutes.Source = (*Source)(nil)

// Options configure NewSource. All but TableID are required.
type Options struct {
	// Connect returns the connection. It may make calls, and caches their result.
	Connect func(context.Context) (instances.Connection, error)
	// TableID is the ID of the only route table to use.
	TableID   string
	Instances *instances.Source
	Clock     clock.Clock
}

// NewSource returns a Source. It makes no call.
func NewSource(o Options) *Source {
	return &Source{connect: o.Connect, tableID: o.TableID, instances: o.Instances, clock: o.Clock}
}

// List implements commonroutes.Source.
func (s *Source) List(ctx context.Context, clusterName string) ([]commonroutes.Route, error) {
	tables, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return mergeTables(clusterName, tables), nil
}

// Create implements commonroutes.Source.
func (s *Source) Create(ctx context.Context, _ string, list []commonroutes.Route) []error {
	tables, err := s.currentTables(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	ids := api.Convert(list, func(r commonroutes.Route) string { return r.InstanceID })
	described, err := s.instances.Described(ctx, ids, false)
	unread, err := awserr.SplitUnread(err)
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	return forEach(list, func(r commonroutes.Route) error {
		instance, ok := described[r.InstanceID]
		if err := unread[r.InstanceID]; err != nil {
			return err
		}
		if !ok {
			return &cloudapi.Error{Class: cloudapi.NotFound, Operation: "CreateRoute",
				Err: fmt.Errorf("instance %s does not exist", r.InstanceID)}
		}
		return s.createRoute(ctx, tables, r.Destination, instance)
	})
}

// forEach calls do for each route, at most routeCalls concurrently, and returns the errors in the order of the list.
func forEach(list []commonroutes.Route, do func(commonroutes.Route) error) []error {
	errs := make([]error, len(list))
	var calls panics.Group
	calls.SetLimit(routeCalls)
	for i, r := range list {
		calls.Go(func() error { errs[i] = do(r); return nil })
	}
	_ = calls.Wait() // each route has its own error
	return errs
}

// createRoute creates a route in all tables.
func (s *Source) createRoute(
	ctx context.Context, tables []*routeTable, destination string, instance *ec2types.Instance,
) error {
	if err := s.allowForwarding(ctx, instance); err != nil {
		return err
	}
	for _, table := range tables {
		err := s.setRoute(ctx, table, destination, instance)
		if isStale(err) {
			// The table was changed since it was read.
			table, err = s.reread(ctx, table)
			if err == nil {
				err = s.setRoute(ctx, table, destination, instance)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isStale reports whether EC2 rejected a change because the cached table is stale.
func isStale(err error) bool {
	return awserr.Is(err, "RouteAlreadyExists", "InvalidRoute.NotFound", "InvalidParameterValue")
}

// allowForwarding disables the source/destination check of an instance, so that it can forward packets to pods.
func (s *Source) allowForwarding(ctx context.Context, instance *ec2types.Instance) error {
	id := aws.ToString(instance.InstanceId)
	check := instance.SourceDestCheck
	primary, multiple := primaryOf(instance)
	if multiple {
		check = primary.SourceDestCheck
	}
	switch {
	case check != nil && !*check:
		return nil
	case multiple:
		// EC2 has another action for interfaces, for which the manager has no permission.
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "ModifyInstanceAttribute", Err: fmt.Errorf(
			"instance %s has several network interfaces, and the first drops packets to pods: "+
				"run aws ec2 modify-network-interface-attribute --network-interface-id %s --no-source-dest-check",
			id, aws.ToString(primary.NetworkInterfaceId))}
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	_, err = conn.EC2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
		InstanceId: &id, SourceDestCheck: &ec2types.AttributeBooleanValue{Value: aws.Bool(false)},
	})
	if err != nil {
		return fmt.Errorf("disabling the source/destination check of instance %s: %w",
			id, awserr.Wrap("ModifyInstanceAttribute", err))
	}
	s.instances.SetForwarding(id)
	return nil
}

// primaryOf returns the first network interface, and whether there are several. In that case EC2 requires routes to
// name the interface.
func primaryOf(instance *ec2types.Instance) (primary ec2types.InstanceNetworkInterface, multiple bool) {
	if interfaces := instances.InUse(instance.NetworkInterfaces); len(interfaces) > 1 {
		return interfaces[0], true
	}
	return primary, false
}

// targetOf returns the target of a route to an instance: its ID, or that of its first network interface.
func targetOf(instance *ec2types.Instance) (instanceID, networkInterfaceID *string) {
	if primary, multiple := primaryOf(instance); multiple {
		return nil, primary.NetworkInterfaceId
	}
	return instance.InstanceId, nil
}

// setRoute makes the table's route to destination lead to the instance. It replaces a blackhole, and fails if
// another route exists.
func (s *Source) setRoute(
	ctx context.Context, table *routeTable, destination string, instance *ec2types.Instance,
) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	id := aws.ToString(instance.InstanceId)
	s.mu.Lock()
	have, exists := table.routes[destination]
	s.mu.Unlock()
	v4, v6 := destinationFields(destination)
	instanceID, networkInterfaceID := targetOf(instance)
	switch {
	case exists && have.kind == toInstance && have.instance == id:
		return nil
	case exists && have.kind == blackhole:
		_, err = conn.EC2.ReplaceRoute(ctx, &ec2.ReplaceRouteInput{
			RouteTableId: &table.id, DestinationCidrBlock: v4, DestinationIpv6CidrBlock: v6,
			InstanceId: instanceID, NetworkInterfaceId: networkInterfaceID,
		})
		err = awserr.Wrap("ReplaceRoute", err)
	case exists:
		return &cloudapi.Error{Class: cloudapi.AlreadyExists, Operation: "CreateRoute",
			Err: fmt.Errorf("route table %s has another route to %s, through %s: delete it, or assign another podCIDR to "+
				"the node", table.id, destination, have.target)}
	default:
		_, err = conn.EC2.CreateRoute(ctx, &ec2.CreateRouteInput{
			RouteTableId: &table.id, DestinationCidrBlock: v4, DestinationIpv6CidrBlock: v6,
			InstanceId: instanceID, NetworkInterfaceId: networkInterfaceID,
		})
		err = awserr.Wrap("CreateRoute", err)
	}
	if err != nil {
		s.markUncertain()
		return fmt.Errorf("route table %s: %w", table.id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	table.routes[destination] = tableRoute{kind: toInstance, instance: id, target: id}
	return nil
}

// Delete implements commonroutes.Source. It keeps routes that lead to another instance now, and foreign ones.
func (s *Source) Delete(ctx context.Context, _ string, list []commonroutes.Route) []error {
	tables, err := s.currentTables(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	return forEach(list, func(r commonroutes.Route) error {
		for _, table := range tables {
			if err := s.deleteRoute(ctx, table, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteRoute deletes the route from a table, if it exists.
func (s *Source) deleteRoute(ctx context.Context, table *routeTable, route commonroutes.Route) error {
	s.mu.Lock()
	have, exists := table.routes[route.Destination]
	s.mu.Unlock()
	if !exists || !have.matches(route) {
		return nil
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	v4, v6 := destinationFields(route.Destination)
	_, err = conn.EC2.DeleteRoute(ctx, &ec2.DeleteRouteInput{
		RouteTableId: &table.id, DestinationCidrBlock: v4, DestinationIpv6CidrBlock: v6,
	})
	err = awserr.Wrap("DeleteRoute", err)
	if err != nil && !awserr.Is(err, "InvalidRoute.NotFound") {
		s.markUncertain()
		return fmt.Errorf("route table %s: %w", table.id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(table.routes, route.Destination)
	return nil
}
