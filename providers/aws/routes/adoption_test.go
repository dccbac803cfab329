package routes

import (
	"net/netip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// oldRoutes are routes as cloud-provider-aws makes and finds them: in one table, to the instance,
// known by nothing but destination and target.
type oldRoutes struct {
	*routeWorld
	// configured is RouteTableID, "" for the search by tag.
	configured string
}

// leave makes the route to a node's pods, as it does: the instance may forward, then the route.
func (o oldRoutes) leave(instance, destination string) {
	o.T.Helper()
	off := &ec2types.AttributeBooleanValue{Value: aws.Bool(false)}
	if _, err := o.EC2.ModifyInstanceAttribute(o.T.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: &instance, SourceDestCheck: off}); err != nil {
		o.T.Fatal(err)
	}
	o.put(o.own, destination, instance)
}

func (o oldRoutes) put(table, destination, instance string) {
	o.T.Helper()
	if _, err := o.EC2.CreateRoute(o.T.Context(), &ec2.CreateRouteInput{RouteTableId: &table, DestinationCidrBlock: &destination, InstanceId: &instance}); err != nil {
		o.T.Fatal(err)
	}
}

// finds is the routes that it finds: those of the configured table, by destination, with
// the node's instance, or blackhole.
func (o oldRoutes) finds() map[string]string {
	o.T.Helper()
	in := &ec2.DescribeRouteTablesInput{}
	if o.configured != "" {
		in.Filters = []ec2types.Filter{api.Filter("route-table-id", o.configured)}
	}
	answer, err := o.EC2.DescribeRouteTables(o.T.Context(), in)
	if err != nil {
		o.T.Fatal(err)
	}
	var tables []ec2types.RouteTable
	for _, table := range answer.RouteTables {
		_, owned := api.TagMap(table.Tags)[names.ClusterTag("sim")]
		if o.configured != "" || owned {
			tables = append(tables, table)
		}
	}
	if len(tables) != 1 {
		o.T.Fatalf("it would find %d tables", len(tables))
	}
	found := map[string]string{}
	for _, r := range tables[0].Routes {
		switch destination := aws.ToString(r.DestinationCidrBlock); {
		case destination == "":
		case r.State == ec2types.RouteStateBlackhole:
			found[destination] = "blackhole"
		case r.InstanceId != nil:
			found[destination] = *r.InstanceId
		}
	}
	return found
}

// forwards reports whether the source/destination check of the instance is disabled.
func (o oldRoutes) forwards(instance string) bool {
	o.T.Helper()
	found, err := o.instances.Described(o.T.Context(), []string{instance}, true)
	if err != nil {
		o.T.Fatal(err)
	}
	i := found[instance]
	return i.SourceDestCheck != nil && !*i.SourceDestCheck
}

// TestAdoptionOfRoutes verifies that routes of cloud-provider-aws are adopted without any change, with each
// configuration of its table; that other routes stay; and that it finds the routes that we create.
func TestAdoptionOfRoutes(t *testing.T) {
	const elsewhere = "192.168.77.0/24"
	for name, tc := range map[string]struct {
		configured bool
		otherTags  map[string]string
	}{
		"one table with the cluster's tag":    {},
		"beside another cluster's":            {otherTags: map[string]string{names.ClusterTag("other"): "owned"}},
		"RouteTableID, several have the tag":  {configured: true, otherTags: map[string]string{names.ClusterTag("sim"): "shared"}},
		"RouteTableID, beside one with a tag": {configured: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRouteWorld(t, sim.Options{})
			o := oldRoutes{routeWorld: w}
			if tc.configured {
				o.configured, w.source.tableID = w.own, w.own
			}
			if len(tc.otherTags) > 0 {
				w.SetTags(w.other, tc.otherTags)
			}
			a, b, gone := w.node("a", "10.244.0.0/24"), w.node("b", "10.244.1.0/24"), w.LaunchNamed("gone")
			o.leave(a, "10.244.0.0/24")
			o.leave(b, "10.244.1.0/24")
			// A blackhole outside of the cluster CIDR stays, and a foreign route inside it too.
			o.put(w.own, elsewhere, gone)
			o.put(w.other, "10.244.1.0/24", a)
			o.put(w.other, "172.16.0.0/16", w.LaunchNamed("vpn"))
			if err := w.Cloud.Cloud.Terminate("gone"); err != nil {
				t.Fatal(err)
			}
			w.foreignRoute("10.244.9.0/24")
			own, other := w.table(w.own), w.table(w.other)
			w.ResetCalls()
			w.wantNoPlan()
			w.mustCreate("a", "10.244.0.0/24")
			w.mustCreate("b", "10.244.1.0/24")
			for _, call := range w.Cloud.Cloud.Front().Log().Mutations() {
				t.Errorf("taking over calls %s", call.Operation.Name)
			}

			c := w.node("c", "10.244.2.0/24")
			w.mustCreate("c", "10.244.2.0/24")
			want := map[string]string{"10.244.0.0/24": a, "10.244.1.0/24": b, "10.244.2.0/24": c, elsewhere: "blackhole"}
			if diff := cmp.Diff(want, o.finds()); diff != "" || !o.forwards(c) {
				t.Errorf("an earlier manager would find (-want +got):\n%s", diff)
			}
			w.list()
			if err := w.routes.DeleteRoute(t.Context(), cluster, &cloudprovider.Route{Name: cluster + "-10.244.2.0/24", TargetNode: "c", DestinationCIDR: "10.244.2.0/24"}); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(own, w.table(w.own)); diff != "" {
				t.Errorf("its table (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(other, w.table(w.other)); diff != "" {
				t.Errorf("the other table (-before +after):\n%s", diff)
			}
		})
	}
}

// TestAdoptionOfRouteToUntaggedInstance verifies that the route to the instance of a Node is adopted although the
// instance lacks the cluster's tag, which cloud-provider-aws does not require.
func TestAdoptionOfRouteToUntaggedInstance(t *testing.T) {
	w := newRouteWorld(t, sim.Options{})
	o := oldRoutes{routeWorld: w}
	a := w.node("a", "10.244.0.0/24")
	o.leave(a, "10.244.0.0/24")
	w.SetTags(a, map[string]string{"Name": "a"})
	w.ResetCalls()
	w.wantList(map[string]string{"10.244.0.0/24": "a"})
	w.wantNoPlan()
	w.mustCreate("a", "10.244.0.0/24")
	for _, call := range w.Cloud.Cloud.Front().Log().Mutations() {
		t.Errorf("taking over calls %s", call.Operation.Name)
	}
}

// TestAdoptionOfABlackhole covers the only route that an adoption deletes: that of a Node that was deleted while no
// manager ran. cloud-provider-aws would delete it too.
func TestAdoptionOfABlackhole(t *testing.T) {
	w := newRouteWorld(t, sim.Options{})
	o := oldRoutes{routeWorld: w}
	a, gone := w.node("a", "10.244.0.0/24"), w.LaunchNamed("gone")
	o.leave(a, "10.244.0.0/24")
	o.leave(gone, "10.244.1.0/24")
	if err := w.Cloud.Cloud.Terminate("gone"); err != nil {
		t.Fatal(err)
	}
	p := w.plan()
	if len(p.Changes) != 1 || p.Changes[0].Action != plan.Delete {
		t.Fatalf("plan %v", p.Changes)
	}
	w.ResetCalls()
	if _, err := p.Apply(t.Context(), plan.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if counts, _ := w.Calls(); counts["DeleteRoute"] != 1 || len(w.Cloud.Cloud.Front().Log().Mutations()) != 1 {
		t.Errorf("calls %v", counts)
	}
	if diff := cmp.Diff(map[string]string{"10.244.0.0/24": a}, o.finds()); diff != "" {
		t.Errorf("an earlier manager would find (-want +got):\n%s", diff)
	}
	w.wantNoPlan()
}

// foreignRoute creates a foreign route within the cluster CIDR in the cluster's tables.
func (w *routeWorld) foreignRoute(destination string) {
	w.T.Helper()
	if err := w.Cloud.Cloud.AddForeignRoute(destination); err != nil {
		w.T.Fatal(err)
	}
}

// plan is what the framework's route controller would change, with --cluster-cidr=10.244.0.0/16.
func (w *routeWorld) plan() plan.Plan {
	w.T.Helper()
	p, err := w.routes.PlanRoutes(w.T.Context(), cluster, w.registered(), []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")})
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

func (w *routeWorld) wantNoPlan() {
	w.T.Helper()
	if p := w.plan(); !p.Empty() {
		w.T.Errorf("it would change %v", p.Changes)
	}
}
