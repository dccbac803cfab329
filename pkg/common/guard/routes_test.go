package guard

import (
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
)

// withNodes starts an informer with these nodes.
func (f *fixture) withNodes(t *testing.T, list ...*v1.Node) (*fake.Clientset, coreinformers.NodeInformer) {
	t.Helper()
	client := fake.NewClientset()
	for _, n := range list {
		if err := client.Tracker().Add(n); err != nil {
			t.Fatal(err)
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	f.SetInformers(factory)
	nodes := factory.Core().V1().Nodes()
	nodes.Informer()
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return client, nodes
}

func TestNoRoutesToNodesOfOtherClouds(t *testing.T) {
	f := newFixture(t, Options{})
	f.withNodes(t, node("mine", "spy://1"), node("foreign", "other://1"), node("unknown", ""))
	for name, fails := range map[string]bool{"mine": false, "foreign": true, "unknown": true, "gone": true} {
		err := f.routes.CreateRoute(t.Context(), "c", "h", &cloudprovider.Route{TargetNode: types.NodeName(name)})
		if (err != nil) != fails {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"SetInformers", "CreateRoute mine"}, f.spy.calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The controller deletes a listed route if it does not see the node of the route.
func TestRoutesToNodesOfOthersAreNotListed(t *testing.T) {
	f := newFixture(t, Options{})
	f.withNodes(t, node("mine", "spy://1"), node("foreign", "other://1"), node("unknown", ""), optOut(node("out", "spy://2")))
	for _, name := range []string{"mine", "foreign", "unknown", "out", "gone", ""} {
		f.spy.routes = append(f.spy.routes, &cloudprovider.Route{Name: name, TargetNode: types.NodeName(name)})
	}
	list, err := f.routes.ListRoutes(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff([]string{"mine", "gone", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScopeRoutesLimitsThemToClusterCIDRs(t *testing.T) {
	f := newFixture(t, Options{})
	_, nodes := f.withNodes(t)
	ScopeRoutes(f.guarded, nodes, []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")})
	if !slices.Contains(f.spy.calls, "LimitTo [10.244.0.0/16]") {
		t.Errorf("calls %v", f.spy.calls)
	}
}

func TestNodesEnterTheRouteControllersViewAndLeaveIt(t *testing.T) {
	f := newFixture(t, Options{})
	client, nodes := f.withNodes(t, node("joining", ""), node("mine", "spy://1"))
	scoped := ScopeRoutes(f.guarded, nodes, nil)
	seen := make(chan string, 10)
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no event, want %q", want)
		}
	}
	registration, err := scoped.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { seen <- "add " + o.(*v1.Node).Name },
		DeleteFunc: func(o any) { seen <- "delete " + o.(*v1.Node).Name },
	})
	if err != nil || registration == nil {
		t.Fatal(registration, err)
	}
	expect("add mine")
	update := func(n *v1.Node) {
		t.Helper()
		if _, err := client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	update(node("joining", "spy://2"))
	expect("add joining")
	update(optOut(node("mine", "spy://1")))
	expect("delete mine")
	list, err := scoped.Lister().List(labels.Everything())
	if err != nil || len(list) != 1 || list[0].Name != "joining" {
		t.Errorf("list %v, %v", names(list), err)
	}
	if n, err := scoped.Lister().Get("mine"); err == nil {
		t.Errorf("got %s", n.Name)
	}
	if n, err := scoped.Lister().Get("joining"); err != nil {
		t.Errorf("got %v, %v", n, err)
	}
}

func TestMalformedProviderIDIsReported(t *testing.T) {
	f := newFixture(t, Options{})
	f.withNodes(t, node("malformed", "no-scheme"), node("mine", "spy://1"), node("joining", ""), node("foreign", "other://1"))
	var said []string
	for len(said) == 0 && t.Context().Err() == nil {
		runtime.Gosched()
		said = f.said()
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], v1.EventTypeWarning+" "+events.InvalidProviderID.String()) ||
		!strings.Contains(said[0], `"no-scheme"`) || !strings.Contains(said[0], "--provider-id") {
		t.Errorf("events %q, want one about node malformed", said)
	}
}
