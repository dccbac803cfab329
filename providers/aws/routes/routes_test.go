package routes

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	commonroutes "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// routeWorld is a cluster with pod routes.
type routeWorld struct {
	*simtest.Cloud
	clusterID string
	instances *instances.Source
	source    *Source
	routes    *commonroutes.Routes
	inst      *commoninstances.Instances
	// own and other are the cluster's route table and one more of its VPC.
	own, other string
	nodes      cache.Indexer
	lister     *nodes.LazyLister
}

const cluster = "kubernetes"

func newRouteWorld(t *testing.T, o sim.Options) *routeWorld {
	t.Helper()
	w := &routeWorld{Cloud: simtest.New(t, o)}
	w.clusterID = w.Cloud.Cloud.ClusterID()
	w.nodes = cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	lister := &nodes.LazyLister{}
	lister.Set(corelisters.NewNodeLister(w.nodes), nil)
	ids := names.ProviderIDs(w.Cloud.Cloud.Region)
	w.lister = lister
	w.instances = w.newInstances()
	w.inst = commoninstances.New(commoninstances.Options{
		Provider: names.Scheme, Clock: clock.RealClock{}, IDOfName: instances.IDOfNodeName, Nodes: lister,
	}, w.instances, ids)
	w.source = NewSource(Options{Connect: w.connect, Instances: w.instances, Clock: clock.RealClock{}})
	w.routes = New(w.source, w.inst, lister)
	tables, err := w.EC2.DescribeRouteTables(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables.RouteTables {
		if names.HasCluster(api.TagMap(table.Tags), "sim") {
			w.own = *table.RouteTableId
		} else {
			w.other = *table.RouteTableId
		}
	}
	w.ResetCalls()
	return w
}

func (w *routeWorld) newInstances() *instances.Source {
	return instances.New(instances.Options{
		Connect: w.connect, ProviderIDs: names.ProviderIDs(w.Cloud.Cloud.Region), Families: []string{config.FamilyIPv4},
		Clock: clock.RealClock{}, Nodes: w.lister,
	})
}

func (w *routeWorld) connect(context.Context) (instances.Connection, error) {
	sim := w.Cloud.Cloud
	scope := instances.Scope{ClusterID: w.clusterID, VPC: sim.VPC(), Region: sim.Region()}
	return instances.Connection{EC2: w.EC2, Scope: scope}, nil
}

// both makes the second table one of the cluster's.
func (w *routeWorld) both() {
	w.T.Helper()
	w.SetTags(w.other, map[string]string{names.ClusterTag("sim"): "shared"})
	w.ResetCalls()
}

// node launches a machine and registers its node with these pod ranges.
func (w *routeWorld) node(name string, cidrs ...string) string {
	w.T.Helper()
	id := w.LaunchNamed(name)
	node := simtest.InitializedNode(name, "aws:///us-west-2a/"+id)
	node.Spec.PodCIDRs = cidrs
	if err := w.nodes.Add(node); err != nil {
		w.T.Fatal(err)
	}
	return id
}

// deleteNode deletes a Node, and leaves its machine.
func (w *routeWorld) deleteNode(name string) {
	w.T.Helper()
	if err := w.nodes.Delete(simtest.InitializedNode(name, "")); err != nil {
		w.T.Fatal(err)
	}
}

func (w *routeWorld) create(node, destination string) error {
	return w.routes.CreateRoute(w.T.Context(), cluster, "hint", &cloudprovider.Route{TargetNode: types.NodeName(node), DestinationCIDR: destination})
}

func (w *routeWorld) mustCreate(node, destination string) {
	w.T.Helper()
	if err := w.create(node, destination); err != nil {
		w.T.Errorf("route to %s for %s: %v", node, destination, err)
	}
}

// list returns the listed routes: destination and node, with an x for a blackhole.
func (w *routeWorld) list() map[string]string {
	w.T.Helper()
	found, err := w.routes.ListRoutes(w.T.Context(), cluster)
	if err != nil {
		w.T.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range found {
		node := string(r.TargetNode)
		if r.Blackhole {
			node += "x"
		}
		out[strings.TrimPrefix(r.Name, cluster+"-")] = node
	}
	return out
}

func (w *routeWorld) wantList(want map[string]string) {
	w.T.Helper()
	if diff := cmp.Diff(want, w.list()); diff != "" {
		w.T.Errorf("routes (-want +got):\n%s", diff)
	}
}

// table returns the created routes of a table: destination and target.
func (w *routeWorld) table(id string) map[string]string {
	w.T.Helper()
	answer, err := w.EC2.DescribeRouteTables(w.T.Context(), &ec2.DescribeRouteTablesInput{RouteTableIds: []string{id}})
	if err != nil {
		w.T.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range answer.RouteTables[0].Routes {
		if r.Origin == ec2types.RouteOriginCreateRoute {
			p, _ := destinationOf(&r)
			out[p.String()] = aws.ToString(r.InstanceId) + aws.ToString(r.GatewayId) + aws.ToString(r.NatGatewayId)
			if r.State == ec2types.RouteStateBlackhole {
				out[p.String()] = "blackhole"
			}
		}
	}
	delete(out, "0.0.0.0/0")
	delete(out, "::/0")
	return out
}

func TestRoutes(t *testing.T) {
	w := newRouteWorld(t, sim.Options{IPv6: true})
	a := w.node("a", "10.244.0.0/24", "fd00:10:244::/64")
	if err := w.Cloud.Cloud.AddForeignRoute("10.244.9.0/24"); err != nil {
		t.Fatal(err)
	}
	w.mustCreate("a", "10.244.0.0/24")
	w.mustCreate("a", "fd00:10:244::/64")
	w.wantList(map[string]string{"10.244.0.0/24": "a", "fd00:10:244::/64": "a"})
	i, err := w.instances.Described(t.Context(), []string{a}, true)
	if err != nil || *i[a].SourceDestCheck {
		t.Errorf("the instance drops packets to pods: %v", err)
	}
	w.ResetCalls()
	w.mustCreate("a", "10.244.0.0/24")
	w.WantCalls(0)
	for _, r := range []*cloudprovider.Route{
		{Name: cluster + "-10.244.0.0/24", TargetNode: "a", DestinationCIDR: "10.244.0.0/24"},
		{Name: cluster + "-10.244.0.0/24", TargetNode: "a", DestinationCIDR: "10.244.0.0/24"},
		{Name: cluster + "-fd00:10:244::/64", TargetNode: "a", DestinationCIDR: "fd00:10:244::/64"},
		{Name: cluster + "-10.244.9.0/24", DestinationCIDR: "10.244.9.0/24"},
	} {
		if err := w.routes.DeleteRoute(t.Context(), cluster, r); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	w.wantList(map[string]string{})
	if got := w.table(w.own); len(got) != 1 || !strings.HasPrefix(got["10.244.9.0/24"], "pcx-") {
		t.Errorf("the table holds %v, want the foreign route", got)
	}
}

func TestCreateRejectsConflictingRoute(t *testing.T) {
	w := newRouteWorld(t, sim.Options{})
	w.node("a", "10.244.9.0/24")
	b := w.node("b", "10.244.8.0/24")
	w.mustCreate("b", "10.244.8.0/24")
	w.deleteNode("b")
	if err := w.Cloud.Cloud.AddForeignRoute("10.244.9.0/24"); err != nil {
		t.Fatal(err)
	}
	before := w.table(w.own)
	for destination, through := range map[string]string{"10.244.9.0/24": "pcx-", "10.244.8.0/24": b} {
		w.list()
		err := w.create("a", destination)
		if !cloudapi.Is(err, cloudapi.AlreadyExists) || !strings.Contains(err.Error(), through) || !strings.Contains(err.Error(), w.own) {
			t.Errorf("%s: error %v, want one that names %s and %s", destination, err, through, w.own)
		}
	}
	if diff := cmp.Diff(before, w.table(w.own)); diff != "" {
		t.Errorf("table (-before +after):\n%s", diff)
	}
}

func TestCreateAfterConcurrentChange(t *testing.T) {
	for name, tc := range map[string]struct {
		to   string
		want cloudapi.Class
	}{"same target": {"a", ""}, "another target": {"b", cloudapi.AlreadyExists}} {
		t.Run(name, func(t *testing.T) {
			w := newRouteWorld(t, sim.Options{})
			w.node("a", "10.244.0.0/24")
			w.node("b", "10.244.1.0/24")
			w.list()
			other := newRouteWorldBeside(w)
			if err := other.routes.CreateRoute(t.Context(), cluster, "", &cloudprovider.Route{TargetNode: types.NodeName(tc.to), DestinationCIDR: "10.244.0.0/24"}); err != nil {
				t.Fatal(err)
			}
			if err := w.create("a", "10.244.0.0/24"); cloudapi.ClassOf(err) != tc.want {
				t.Errorf("error %v, want class %q", err, tc.want)
			}
			if got, want := w.table(w.own)["10.244.0.0/24"], w.Cloud.Cloud.Instance(tc.to); got != want {
				t.Errorf("the route leads to %s, want %s", got, want)
			}
		})
	}
}

// newRouteWorldBeside is another manager of the same cloud.
func newRouteWorldBeside(w *routeWorld) *routeWorld {
	other := *w
	other.source = NewSource(Options{Connect: w.connect, Instances: w.instances, Clock: clock.RealClock{}})
	other.routes = New(other.source, w.inst, nil)
	return &other
}

func TestBlackholes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRouteWorld(t, sim.Options{})
		w.node("a", "10.244.0.0/24")
		w.node("b", "10.244.1.0/24")
		w.mustCreate("a", "10.244.0.0/24")
		w.mustCreate("b", "10.244.1.0/24")
		for _, name := range []string{"a", "b"} {
			if err := w.Cloud.Cloud.Terminate(name); err != nil {
				t.Fatal(err)
			}
		}
		w.wantList(map[string]string{"10.244.0.0/24": "x", "10.244.1.0/24": "x"})
		// A new node with the range takes the route over in one call.
		w.deleteNode("a")
		c := w.node("c", "10.244.0.0/24")
		time.Sleep(30 * time.Second) // until instances that were not found are read again
		w.list()
		w.ResetCalls()
		w.mustCreate("c", "10.244.0.0/24")
		if counts, _ := w.Calls(); counts["ReplaceRoute"] != 1 || counts["DeleteRoute"]+counts["CreateRoute"] != 0 {
			t.Errorf("calls %v", counts)
		}
		w.wantList(map[string]string{"10.244.0.0/24": "c", "10.244.1.0/24": "x"})
		if err := w.routes.DeleteRoute(t.Context(), cluster, &cloudprovider.Route{Name: cluster + "-10.244.1.0/24", DestinationCIDR: "10.244.1.0/24", Blackhole: true}); err != nil {
			t.Error(err)
		}
		// What the framework still wants deleted was replaced since it listed.
		if err := w.routes.DeleteRoute(t.Context(), cluster, &cloudprovider.Route{Name: "old", DestinationCIDR: "10.244.0.0/24", Blackhole: true}); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(map[string]string{"10.244.0.0/24": c}, w.table(w.own)); diff != "" {
			t.Errorf("table (-want +got):\n%s", diff)
		}
	})
}

func TestStoppedNodeKeepsItsRoute(t *testing.T) {
	machines := map[string]*ec2types.Instance{"i-1": {}}
	r := &ec2types.Route{Origin: ec2types.RouteOriginCreateRoute, State: ec2types.RouteStateBlackhole, InstanceId: aws.String("i-1")}
	if got := classifyRoute(r, netip.MustParsePrefix("10.0.0.0/24"), machines, nil); got.kind != toInstance {
		t.Errorf("kind %v", got)
	}
}

// TestRouteToUnreadInstanceIsForeign: while its zone is disrupted, EC2 does not tell whose a stopped instance is. Its
// route is neither deleted nor listed.
func TestRouteToUnreadInstanceIsForeign(t *testing.T) {
	r := &ec2types.Route{InstanceId: aws.String("i-1"), Origin: ec2types.RouteOriginCreateRoute, State: ec2types.RouteStateBlackhole}
	unread := map[string]error{"i-1": errors.New("unavailable")}
	if got := classifyRoute(r, netip.MustParsePrefix("10.0.0.0/24"), nil, unread); got.kind != foreign {
		t.Errorf("kind %v", got.kind)
	}
	if got := classifyRoute(r, netip.MustParsePrefix("10.0.0.0/24"), nil, nil); got.kind != blackhole {
		t.Errorf("kind %v once it can be read", got.kind)
	}
}

func TestClassifyRoute(t *testing.T) {
	machines := map[string]*ec2types.Instance{"i-node": {}}
	made := func(edit func(*ec2types.Route)) *ec2types.Route {
		r := &ec2types.Route{Origin: ec2types.RouteOriginCreateRoute, State: ec2types.RouteStateActive}
		edit(r)
		return r
	}
	id := aws.String
	for name, tc := range map[string]struct {
		destination string
		route       *ec2types.Route
		want        routeKind
	}{
		"to a node":              {"10.0.0.0/24", made(func(r *ec2types.Route) { r.InstanceId = id("i-node") }), toInstance},
		"default through a node": {"0.0.0.0/0", made(func(r *ec2types.Route) { r.InstanceId = id("i-node") }), foreign},
		"IPv6 default":           {"::/0", made(func(r *ec2types.Route) { r.InstanceId = id("i-node") }), foreign},
		"to another machine":     {"10.0.0.0/24", made(func(r *ec2types.Route) { r.InstanceId = id("i-vpn") }), foreign},
		"interface":              {"10.0.0.0/24", made(func(r *ec2types.Route) { r.NetworkInterfaceId = id("eni-1") }), foreign},
		"interface that is gone": {"10.0.0.0/24", made(func(r *ec2types.Route) {
			r.NetworkInterfaceId, r.State = id("eni-1"), ec2types.RouteStateBlackhole
		}), blackhole},
		"instance that is gone": {"10.0.0.0/24", made(func(r *ec2types.Route) {
			r.InstanceId, r.State = id("i-gone"), ec2types.RouteStateBlackhole
		}), blackhole},
		"no target at all":   {"10.0.0.0/24", made(func(r *ec2types.Route) { r.State = ec2types.RouteStateBlackhole }), blackhole},
		"NAT that is gone":   {"10.0.0.0/24", made(func(r *ec2types.Route) { r.NatGatewayId, r.State = id("nat-1"), ec2types.RouteStateBlackhole }), foreign},
		"peering that ended": {"10.0.0.0/24", made(func(r *ec2types.Route) { r.VpcPeeringConnectionId, r.State = id("pcx-1"), ec2types.RouteStateBlackhole }), foreign},
		"transit gateway":    {"10.0.0.0/24", made(func(r *ec2types.Route) { r.TransitGatewayId = id("tgw-1") }), foreign},
		"propagated": {"10.0.0.0/24", made(func(r *ec2types.Route) {
			r.Origin, r.InstanceId = ec2types.RouteOriginEnableVgwRoutePropagation, id("i-node")
		}), foreign},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classifyRoute(tc.route, netip.MustParsePrefix(tc.destination), machines, nil); got.kind != tc.want {
				t.Errorf("kind %v, want %v", got.kind, tc.want)
			}
		})
	}
}

func TestSeveralTables(t *testing.T) {
	w := newRouteWorld(t, sim.Options{IPv6: true})
	a := w.node("a", "10.244.0.0/24")
	w.mustCreate("a", "10.244.0.0/24")
	w.both()
	// The framework does not see a route that its node wants and one table lacks, and makes it.
	w.wantList(map[string]string{})
	w.mustCreate("a", "10.244.0.0/24")
	w.wantList(map[string]string{"10.244.0.0/24": "a"})
	for _, table := range []string{w.own, w.other} {
		if got := w.table(table); got["10.244.0.0/24"] != a {
			t.Errorf("table %s holds %v", table, got)
		}
	}
	// A surplus route is listed and deleted even if only one table has it.
	if _, err := w.EC2.DeleteRoute(t.Context(), &ec2.DeleteRouteInput{RouteTableId: &w.own, DestinationCidrBlock: aws.String("10.244.0.0/24")}); err != nil {
		t.Fatal(err)
	}
	if err := w.nodes.Update(simtest.InitializedNode("a", "aws:///us-west-2a/"+a)); err != nil {
		t.Fatal(err)
	}
	w.wantList(map[string]string{"10.244.0.0/24": "a"})
	if err := w.routes.DeleteRoute(t.Context(), cluster, &cloudprovider.Route{Name: cluster + "-10.244.0.0/24", TargetNode: "a", DestinationCIDR: "10.244.0.0/24"}); err != nil {
		t.Error(err)
	}
	if got := w.table(w.other); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestDifferingTables(t *testing.T) {
	w := newRouteWorld(t, sim.Options{})
	w.both()
	a, b := w.node("a", "10.244.0.0/24"), w.node("b")
	for table, id := range map[string]string{w.own: a, w.other: b} {
		if _, err := w.EC2.CreateRoute(t.Context(), &ec2.CreateRouteInput{RouteTableId: &table, DestinationCidrBlock: aws.String("10.244.0.0/24"), InstanceId: &id}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.routes.PlanRoutes(t.Context(), cluster, w.registered(), []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), plan.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{w.own, w.other} {
		if got := w.table(table); got["10.244.0.0/24"] != a {
			t.Errorf("table %s holds %v", table, got)
		}
	}
}

func (w *routeWorld) registered() []*v1.Node {
	var out []*v1.Node
	for _, n := range w.nodes.List() {
		out = append(out, n.(*v1.Node))
	}
	return out
}

func TestConfiguredTable(t *testing.T) {
	w := newRouteWorld(t, sim.Options{})
	w.node("a", "10.244.0.0/24")
	w.source.tableID = w.other
	w.mustCreate("a", "10.244.0.0/24")
	if got := w.table(w.other); len(got) != 1 {
		t.Errorf("the table holds %v", got)
	}
	w.wantList(map[string]string{"10.244.0.0/24": "a"})
	for id, wants := range map[string]string{"rtb-00000000000000001": "RouteTableID", "": names.ClusterTag("x")} {
		w.source.tableID, w.clusterID = id, "x"
		if _, err := w.routes.ListRoutes(t.Context(), cluster); !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), wants) {
			t.Errorf("table %q: error %v, want one that names %s", id, err, wants)
		}
	}
}
