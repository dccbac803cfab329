package sdktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func (c *clients) launch(t *testing.T, machines ...world.Machine) {
	t.Helper()
	for _, m := range machines {
		must(c.cloud.Launch(m))(t)
	}
}

func (c *clients) instances(t *testing.T, in *ec2.DescribeInstancesInput) []types.Instance {
	t.Helper()
	var out []types.Instance
	for p := ec2.NewDescribeInstancesPaginator(c.ec2, in); p.HasMorePages(); {
		for _, r := range must(p.NextPage(t.Context()))(t).Reservations {
			out = append(out, r.Instances...)
		}
	}
	return out
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

func TestDescribeInstancesShowsLaunchedInstance(t *testing.T) {
	c := newClients(t, sim.Options{IPv6: true, PublicNodes: true})
	c.launch(t, world.Machine{Name: "node-a", Zone: "us-west-2b"})
	found := c.instances(t, &ec2.DescribeInstancesInput{Filters: []types.Filter{filter("private-dns-name", "node-a")}})
	if len(found) != 1 {
		t.Fatalf("found %d instances", len(found))
	}
	i := found[0]
	if i.State.Name != types.InstanceStateNameRunning || *i.Placement.AvailabilityZone != "us-west-2b" ||
		*i.Placement.AvailabilityZoneId != "usw2-az2" || !*i.SourceDestCheck || i.InstanceType != "m5.large" {
		t.Errorf("instance %+v", i)
	}
	n := i.NetworkInterfaces[0]
	if *n.PrivateIpAddress != *i.PrivateIpAddress || *n.Attachment.DeviceIndex != 0 ||
		*n.Ipv6Addresses[0].Ipv6Address != *i.Ipv6Address ||
		*n.Association.PublicIp != *i.PublicIpAddress || n.Status != types.NetworkInterfaceStatusInUse ||
		i.LaunchTime.IsZero() {
		t.Errorf("network interface %+v", n)
	}
	if !strings.HasPrefix(*i.PublicDnsName, "ec2-198-18-") ||
		!strings.HasSuffix(*i.PublicDnsName, ".us-west-2.compute.amazonaws.com") {
		t.Errorf("public name %s", *i.PublicDnsName)
	}
	if err := c.cloud.Terminate("node-a"); err != nil {
		t.Fatal(err)
	}
	i = c.instances(t, &ec2.DescribeInstancesInput{InstanceIds: []string{*i.InstanceId}})[0]
	if i.State.Name != types.InstanceStateNameTerminated || i.VpcId != nil || len(i.NetworkInterfaces) != 0 ||
		*i.State.Code != 48 {
		t.Errorf("terminated instance %+v", i)
	}
}

func TestInstancePagesAndFilters(t *testing.T) {
	c := newClients(t, sim.Options{})
	for n := range 12 {
		c.launch(t, world.Machine{Name: fmt.Sprintf("node-%d", n)})
	}
	if err := c.cloud.Stop("node-3"); err != nil {
		t.Fatal(err)
	}
	vpc := *must(c.ec2.DescribeVpcs(t.Context(), nil))(t).Vpcs[0].VpcId
	for _, tc := range []struct {
		name    string
		filters []types.Filter
		want    int
	}{
		{"none", nil, 12},
		{"vpc", []types.Filter{filter("vpc-id", vpc)}, 12},
		{"another vpc", []types.Filter{filter("vpc-id", "vpc-0")}, 0},
		{"cluster tag, any value", []types.Filter{filter("tag-key", "kubernetes.io/cluster/sim")}, 12},
		{"tag value", []types.Filter{filter("tag:Name", "node-1", "node-2")}, 2},
		{"wildcards", []types.Filter{filter("tag:Name", "node-1?")}, 2},
		{"state", []types.Filter{filter("instance-state-name", "stopped")}, 1},
		{"all filters must match", []types.Filter{filter("instance-state-name", "running"), filter("tag:Name", "node-3")}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.cloud.Front().Log().Reset()
			found := c.instances(t, &ec2.DescribeInstancesInput{Filters: tc.filters, MaxResults: ptr(int32(5))})
			if len(found) != tc.want {
				t.Errorf("found %d, want %d", len(found), tc.want)
			}
			if pages := c.cloud.Front().Log().Len(); pages != max(1, (tc.want+4)/5) {
				t.Errorf("%d calls", pages)
			}
		})
	}
}

func TestDescribeInstancesErrors(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"})
	id := *c.instances(t, &ec2.DescribeInstancesInput{})[0].InstanceId
	values := slices.Repeat([]string{"x"}, 201)
	for _, tc := range []struct {
		name, code string
		in         ec2.DescribeInstancesInput
	}{
		{"missing", "InvalidInstanceID.NotFound", ec2.DescribeInstancesInput{InstanceIds: []string{id, "i-00000000000000001"}}},
		{"malformed", "InvalidInstanceID.Malformed", ec2.DescribeInstancesInput{InstanceIds: []string{"i-xyz"}}},
		{"another kind", "InvalidInstanceID.Malformed", ec2.DescribeInstancesInput{InstanceIds: []string{"vpc-00000000000000001"}}},
		{"unknown filter", "InvalidParameterValue", ec2.DescribeInstancesInput{Filters: []types.Filter{filter("colour", "x")}}},
		{"too many values", "FilterLimitExceeded", ec2.DescribeInstancesInput{Filters: []types.Filter{filter("instance-id", values...)}}},
		{"small page", "InvalidParameterValue", ec2.DescribeInstancesInput{MaxResults: ptr(int32(4))}},
		{"large page", "InvalidParameterValue", ec2.DescribeInstancesInput{MaxResults: ptr(int32(1001))}},
		{"page and IDs", "InvalidParameterCombination", ec2.DescribeInstancesInput{MaxResults: ptr(int32(5)), InstanceIds: []string{id}}},
		{"bad token", "InvalidParameterValue", ec2.DescribeInstancesInput{NextToken: ptr("x")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := c.ec2.DescribeInstances(t.Context(), &tc.in)
			wantCode(t, err, tc.code, 400)
		})
	}
	_, err := c.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{DryRun: ptr(true)})
	wantCode(t, err, "DryRunOperation", 412)
}

func TestNetwork(t *testing.T) {
	c := newClients(t, sim.Options{})
	subnets := must(c.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{
		Filters: []types.Filter{filter("tag-key", "kubernetes.io/role/elb")}}))(t).Subnets
	tables := must(c.ec2.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{}))(t).RouteTables
	zones := must(c.ec2.DescribeAvailabilityZones(t.Context(), nil))(t).AvailabilityZones
	if len(subnets) != 3 || len(tables) != 2 || len(zones) != 3 {
		t.Fatalf("%d subnets, %d tables, %d zones", len(subnets), len(tables), len(zones))
	}
	if s := subnets[0]; *s.AvailableIpAddressCount != 4091 || len(s.Ipv6CidrBlockAssociationSet) != 1 ||
		!*s.MapPublicIpOnLaunch {
		t.Errorf("subnet %+v", s)
	}
	if z := zones[2]; *z.ZoneId != "usw2-az3" || *z.ZoneType != "availability-zone" ||
		z.State != types.AvailabilityZoneStateAvailable {
		t.Errorf("zone %+v", z)
	}
}

func TestRoutes(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"})
	i := c.instances(t, &ec2.DescribeInstancesInput{})[0]
	table := must(c.ec2.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{
		Filters: []types.Filter{filter("tag:kubernetes.io/cluster/sim", "owned")}}))(t).RouteTables[0].RouteTableId
	create := &ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: ptr("10.200.0.0/24"),
		InstanceId: i.InstanceId}
	if !*must(c.ec2.CreateRoute(t.Context(), create))(t).Return {
		t.Error("a route was not made")
	}
	create.InstanceId, create.GatewayId = nil, ptr("igw-00000000000000001")
	_, err := c.ec2.CreateRoute(t.Context(), create)
	wantCode(t, err, "RouteAlreadyExists", 400)
	must(c.ec2.CreateRoute(t.Context(), &ec2.CreateRouteInput{
		RouteTableId: table, DestinationIpv6CidrBlock: ptr("fd00:1::/64"), InstanceId: i.InstanceId}))(t)
	must(c.ec2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{
		InstanceId: i.InstanceId, SourceDestCheck: &types.AttributeBooleanValue{Value: ptr(false)}}))(t)
	if got := c.instances(t, &ec2.DescribeInstancesInput{})[0]; *got.SourceDestCheck ||
		*got.NetworkInterfaces[0].SourceDestCheck {
		t.Error("the source/destination check is still on")
	}
	want := []world.Route{{Destination: "10.200.0.0/24", NodeName: "a", Owned: true},
		{Destination: "fd00:1::/64", NodeName: "a", Owned: true}}
	if got := c.cloud.Routes(); !slices.Equal(got, want) {
		t.Errorf("routes %+v", got)
	}
	if err := c.cloud.Terminate("a"); err != nil {
		t.Fatal(err)
	}
	got := must(c.ec2.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{
		Filters: []types.Filter{filter("route.state", "blackhole")}}))(t).RouteTables
	if len(got) != 1 || got[0].Routes[3].State != types.RouteStateBlackhole {
		t.Errorf("tables %+v", got)
	}
	remove := &ec2.DeleteRouteInput{RouteTableId: table, DestinationCidrBlock: ptr("10.200.0.0/24")}
	must(c.ec2.DeleteRoute(t.Context(), remove))(t)
	_, err = c.ec2.DeleteRoute(t.Context(), remove)
	wantCode(t, err, "InvalidRoute.NotFound", 400)
}
