package routes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/client-go/util/workqueue"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestRouteBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 100
		w := newRouteWorld(t, sim.Options{Latency: 50 * time.Millisecond})
		w.both()
		for n := range nodes {
			w.node(fmt.Sprint("n", n), fmt.Sprintf("10.244.%d.0/24", n))
		}
		w.list()
		all := func() {
			workqueue.ParallelizeUntil(t.Context(), nodes, nodes, func(n int) {
				w.mustCreate(fmt.Sprint("n", n), fmt.Sprintf("10.244.%d.0/24", n))
			})
		}
		w.ResetCalls()
		all()
		// In each of two tables a call for each route, and for each instance one attribute.
		w.WantCalls(3*nodes + 10)
		all()
		w.WantCalls(0)
		if got := w.list(); len(got) != nodes {
			t.Errorf("%d routes", len(got))
		}
		w.WantCalls(2)
	})
}

// TestIdleRoutesCostOneRead is a day in which nothing happens. The framework lists routes when nodes change, and
// at each resync of its informers, which the manager has every 30 to 60 minutes.
func TestIdleRoutesCostOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 60
		w := newRouteWorld(t, sim.Options{Latency: 20 * time.Millisecond})
		w.node("n", "10.244.0.0/24")
		for n := range nodes {
			w.node(fmt.Sprint("n", n), fmt.Sprintf("10.%d.%d.0/24", 100+n/250, n%250))
		}
		workqueue.ParallelizeUntil(t.Context(), nodes, nodes, func(n int) {
			w.mustCreate(fmt.Sprint("n", n), fmt.Sprintf("10.%d.%d.0/24", 100+n/250, n%250))
		})
		w.ResetCalls()
		for range 48 {
			if got := len(w.list()); got != nodes {
				t.Fatalf("%d routes", got)
			}
			time.Sleep(30 * time.Minute)
		}
		w.WantCalls(300)
	})
}

func TestForwardingIsEnabledOnce(t *testing.T) {
	w := newRouteWorld(t, sim.Options{})
	id := w.node("a", "10.244.0.0/24", "10.244.1.0/24")
	off := &ec2types.AttributeBooleanValue{Value: aws.Bool(false)}
	if _, err := w.EC2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: &id, SourceDestCheck: off}); err != nil {
		t.Fatal(err)
	}
	w.ResetCalls()
	w.mustCreate("a", "10.244.0.0/24")
	if counts, _ := w.Calls(); counts["ModifyInstanceAttribute"] != 0 {
		t.Errorf("calls %v", counts)
	}
}

func TestRouteToInstanceWithSeveralInterfaces(t *testing.T) {
	w := newRouteWorld(t, sim.Options{})
	id := w.node("a", "10.244.0.0/24")
	off := &ec2types.AttributeBooleanValue{Value: aws.Bool(false)}
	if _, err := w.EC2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: &id, SourceDestCheck: off}); err != nil {
		t.Fatal(err)
	}
	second, err := w.Cloud.Cloud.AttachInterface("a", sim.Interface{Device: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.mustCreate("a", "10.244.0.0/24")
	if got := w.table(w.own)["10.244.0.0/24"]; got != id {
		t.Errorf("the route leads to %q", got)
	}
	w.wantList(map[string]string{"10.244.0.0/24": "a"})
	w.node("b", "10.244.1.0/24")
	first, err := w.Cloud.Cloud.AttachInterface("b", sim.Interface{Device: 1})
	if err != nil {
		t.Fatal(err)
	}
	err = w.create("b", "10.244.1.0/24")
	if !cloudapi.Is(err, cloudapi.Conflict) || !strings.Contains(err.Error(), "--no-source-dest-check") ||
		strings.Contains(err.Error(), first) || strings.Contains(err.Error(), second) {
		t.Errorf("error %v, want one with the command that changes the first interface", err)
	}
}

func TestRouteErrors(t *testing.T) {
	for name, fault := range map[string]kit.Fault{
		"create fails":       {Kind: kit.FaultError, Operation: "CreateRoute"},
		"create's reply":     {Kind: kit.FaultLostReply, Operation: "CreateRoute"},
		"attribute fails":    {Kind: kit.FaultThrottle, Operation: "ModifyInstanceAttribute"},
		"tables cannot list": {Kind: kit.FaultError, Operation: "DescribeRouteTables"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRouteWorld(t, sim.Options{})
			w.node("a", "10.244.0.0/24")
			w.Cloud.Cloud.Front().SetFaults(fault)
			if err := w.create("a", "10.244.0.0/24"); err == nil {
				t.Error("no error")
			}
			w.mustCreate("a", "10.244.0.0/24")
			w.wantList(map[string]string{"10.244.0.0/24": "a"})
			w.Cloud.Cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultLostReply, Operation: "DeleteRoute"})
			gone := &cloudprovider.Route{Name: cluster + "-10.244.0.0/24", TargetNode: "a", DestinationCIDR: "10.244.0.0/24"}
			if err := w.routes.DeleteRoute(t.Context(), cluster, gone); err == nil {
				t.Error("no error from a deletion without a reply")
			}
			if err := w.routes.DeleteRoute(t.Context(), cluster, gone); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("instances cannot be read", func(t *testing.T) {
		w := newRouteWorld(t, sim.Options{})
		w.node("a", "10.244.0.0/24")
		w.mustCreate("a", "10.244.0.0/24")
		w.source.instances = w.newInstances() // without a cache
		w.Cloud.Cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "DescribeInstances", Times: kit.Always})
		// A route without a node would be deleted.
		list, err := w.routes.ListRoutes(t.Context(), cluster)
		if err == nil && slices.ContainsFunc(list, func(r *cloudprovider.Route) bool { return r.TargetNode == "" }) {
			t.Errorf("listed routes with unknown targets: %v", list)
		}
	})
}

func TestListReturnsContextError(t *testing.T) {
	w := newRouteWorld(t, sim.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.source.List(ctx, cluster); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
