package vpc

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const (
	// subnetsAge is the max age of shared lists. It only has to span a burst, such as a restart that reconciles
	// every Service within seconds; it is also the time for which a reconcile may miss a change made by hand.
	subnetsAge = 30 * time.Second
	// zonesAge: the type of a zone never changes, and a region rarely gets a new one; an unknown zone is looked
	// up at once.
	zonesAge = 24 * time.Hour
)

// zoneTypeStandard is the type of zones that support every load balancer, unlike local zones, wavelength
// zones and outposts.
const zoneTypeStandard = "availability-zone"

// Subnet has the properties of a subnet for load balancers.
type Subnet struct {
	ID, Zone, VPC string
	// CIDR4 is not valid for a subnet that has only IPv6.
	CIDR4 netip.Prefix
	CIDR6 []netip.Prefix
	// Public is set if its route table leads to an internet gateway.
	Public bool
	// Name is the value of the tag Name.
	Name string
	// ClusterTagged is set if it is marked for this cluster, ForeignTagged if only for others.
	ClusterTagged, ForeignTagged bool
	// RoleELB and RoleInternal are set if it is marked for public and for internal load balancers.
	RoleELB, RoleInternal bool
	// ZoneType is "availability-zone", "local-zone" and so on; "" if it is unknown.
	ZoneType string
}

// String formats the subnet for users.
func (s Subnet) String() string {
	if s.Name == "" {
		return s.ID
	}
	return s.ID + " (" + s.Name + ")"
}

// subnetReader caches the subnets of the VPC and the types of zones.
type subnetReader struct {
	options Options
	list    *snapshot.Value[[]Subnet]
	zones   *snapshot.Value[map[string]string]
}

func newSubnetReader(o Options) *subnetReader {
	r := &subnetReader{options: o}
	r.zones = snapshot.NewValue(snapshot.ValueOptions[map[string]string]{Read: r.readZones, Clock: o.Clock,
		MaxAge: zonesAge})
	r.list = snapshot.NewValue(snapshot.ValueOptions[[]Subnet]{Read: r.readSubnets, Clock: o.Clock, MaxAge: subnetsAge})
	return r
}

// readSubnets reads the subnets of the VPC with their route tables and zones.
func (r *subnetReader) readSubnets(ctx context.Context) ([]Subnet, error) {
	var (
		started = r.options.Clock.Now()
		listed  []ec2types.Subnet
		public  func(subnetID string) bool
	)
	var reads panics.Group
	reads.Go(func() (err error) { listed, err = r.listSubnets(ctx); return err })
	reads.Go(func() (err error) { public, err = r.publicSubnets(ctx); return err })
	reads.Go(func() error { _, err := r.zones.Get(ctx); return err }) // cached for zoneTypes
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	zones, err := r.zoneTypes(ctx, listed, started)
	if err != nil {
		return nil, err
	}
	subnets := make([]Subnet, 0, len(listed))
	for _, in := range listed {
		subnet, err := toSubnet(in, r.options.Cluster)
		if err != nil {
			return nil, err
		}
		subnet.Public, subnet.ZoneType = public(subnet.ID), zones[subnet.Zone]
		subnets = append(subnets, subnet)
	}
	sorting.Func(subnets, func(a, b Subnet) int { return cmp.Compare(a.ID, b.ID) })
	return subnets, nil
}

func (r *subnetReader) listSubnets(ctx context.Context) ([]ec2types.Subnet, error) {
	pages := ec2.NewDescribeSubnetsPaginator(r.options.API, &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{inVPC(r.options.VPC)}, MaxResults: aws.Int32(subnetPage),
	})
	return awserr.Collect(ctx, "DescribeSubnets", pages,
		func(page *ec2.DescribeSubnetsOutput) []ec2types.Subnet { return page.Subnets })
}

// publicSubnets returns a function that reports whether the route table of a subnet, its own or the VPC's
// main one, has a route through an internet gateway.
func (r *subnetReader) publicSubnets(ctx context.Context) (func(subnetID string) bool, error) {
	pages := ec2.NewDescribeRouteTablesPaginator(r.options.API, &ec2.DescribeRouteTablesInput{
		Filters: []ec2types.Filter{inVPC(r.options.VPC)}, MaxResults: aws.Int32(routeTablePage),
	})
	tables, err := awserr.Collect(ctx, "DescribeRouteTables", pages,
		func(page *ec2.DescribeRouteTablesOutput) []ec2types.RouteTable { return page.RouteTables })
	if err != nil {
		return nil, err
	}
	associated, main := map[string]bool{}, false
	for _, table := range tables {
		public := slices.ContainsFunc(table.Routes,
			func(r ec2types.Route) bool { return strings.HasPrefix(aws.ToString(r.GatewayId), "igw") })
		for _, a := range table.Associations {
			if aws.ToBool(a.Main) {
				main = public
			} else if a.SubnetId != nil {
				associated[*a.SubnetId] = public
			}
		}
	}
	return func(subnetID string) bool {
		public, ok := associated[subnetID]
		return public || !ok && main
	}, nil
}

// zoneTypes returns the types of zones by name, and reads them again for an unknown zone.
func (r *subnetReader) zoneTypes(
	ctx context.Context, subnets []ec2types.Subnet, started time.Time,
) (map[string]string, error) {
	types, err := r.zones.Get(ctx)
	if err != nil {
		return nil, err
	}
	for _, subnet := range subnets {
		if _, ok := types[aws.ToString(subnet.AvailabilityZone)]; !ok {
			return r.zones.GetSince(ctx, started) // reads nothing if it has just been read
		}
	}
	return types, nil
}

func (r *subnetReader) readZones(ctx context.Context) (map[string]string, error) {
	out, err := r.options.API.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, awserr.Wrap("DescribeAvailabilityZones", err)
	}
	types := make(map[string]string, len(out.AvailabilityZones))
	for _, zone := range out.AvailabilityZones {
		types[aws.ToString(zone.ZoneName)] = aws.ToString(zone.ZoneType)
	}
	return types, nil
}

func toSubnet(in ec2types.Subnet, cluster Cluster) (Subnet, error) {
	tags := api.TagMap(in.Tags)
	_, elb := tags[names.RoleELBTag]
	_, internal := tags[names.RoleInternalELBTag]
	subnet := Subnet{
		ID: aws.ToString(in.SubnetId), Zone: aws.ToString(in.AvailabilityZone), VPC: aws.ToString(in.VpcId),
		Name: tags[names.NameTag], RoleELB: elb, RoleInternal: internal, ClusterTagged: cluster.has(tags),
		ForeignTagged: !cluster.has(tags) && names.HasAnyCluster(tags),
	}
	var err error
	if cidr := aws.ToString(in.CidrBlock); cidr != "" {
		if subnet.CIDR4, err = parsePrefix("DescribeSubnets", cidr); err != nil {
			return subnet, err
		}
	}
	for _, a := range in.Ipv6CidrBlockAssociationSet {
		if a.Ipv6CidrBlockState != nil && a.Ipv6CidrBlockState.State != ec2types.SubnetCidrBlockStateCodeAssociated {
			continue
		}
		prefix, err := parsePrefix("DescribeSubnets", aws.ToString(a.Ipv6CidrBlock))
		if err != nil {
			return subnet, err
		}
		subnet.CIDR6 = append(subnet.CIDR6, prefix)
	}
	return subnet, nil
}
