package ccmapp

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	routecontroller "k8s.io/cloud-provider/controllers/route"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// routesCloud is a cloud with routes and nothing else. It accepts every route.
type routesCloud struct{ provider.Base }

func (*routesCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (*routesCloud) InstancesV2() (cloudprovider.InstancesV2, bool)   { return nil, false }
func (*routesCloud) Routes() (cloudprovider.Routes, bool)             { return acceptedRoutes{}, true }

type acceptedRoutes struct{}

func (acceptedRoutes) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return nil, nil
}

func (acceptedRoutes) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return nil
}
func (acceptedRoutes) DeleteRoute(context.Context, string, *cloudprovider.Route) error { return nil }

// The framework's route controller writes the condition NetworkUnavailable on each node that it sees.
func TestRouteControllerLeavesNodesOfOthersAlone(t *testing.T) {
	if err := watchRoutesByDefault(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		for i, n := range []*v1.Node{
			{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: v1.NodeSpec{ProviderID: "spy://1"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Spec: v1.NodeSpec{ProviderID: "other://1"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "unknown"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "malformed"}, Spec: v1.NodeSpec{ProviderID: "spy"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "out", Labels: map[string]string{provider.ManagedLabel: "false"}},
				Spec: v1.NodeSpec{ProviderID: "spy://2"}},
		} {
			n.Spec.PodCIDRs = []string{fmt.Sprintf("10.244.%d.0/24", i)}
			if err := client.Tracker().Add(n); err != nil {
				t.Fatal(err)
			}
		}
		cloud := guard.Wrap(&routesCloud{provider.NewBase("spy")}, guard.Options{})
		factory := informers.NewSharedInformerFactory(client, 0)
		cloud.(cloudprovider.InformerUser).SetInformers(factory)
		nodes := guard.ScopeRoutes(cloud, factory.Core().V1().Nodes(), []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")})
		_, cidr, err := net.ParseCIDR("10.244.0.0/16")
		if err != nil {
			t.Fatal(err)
		}
		routes, _ := cloud.Routes()
		controller, err := routecontroller.New(routes, client, nodes, "c", []*net.IPNet{cidr})
		if err != nil {
			t.Fatal(err)
		}
		factory.Start(t.Context().Done())
		go controller.Run(t.Context(), time.Second, controllersmetrics.NewControllerManagerMetrics("test"))
		time.Sleep(time.Minute)
		list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]v1.ConditionStatus{}
		for _, n := range list.Items {
			for _, c := range n.Status.Conditions {
				got[n.Name] = c.Status
			}
		}
		if diff := cmp.Diff(map[string]v1.ConditionStatus{"mine": v1.ConditionFalse}, got); diff != "" {
			t.Errorf("NetworkUnavailable (-want +got):\n%s", diff)
		}
	})
}
