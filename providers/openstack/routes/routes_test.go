package routes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	common "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/instances"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

const clusterUID = "2f2c1d67-33f5-4a65-8d7a-7d4c5a3e9b10"

// world is a cluster with nodes on a simulated cloud, and the routes of a manager.
type world struct {
	*simtest.Cloud
	api     *api.Clients
	ids     *commoninstances.TableScheme
	clock   clock.Clock
	indexer cache.Indexer
	source  *Source
	routes  *common.Routes
	nodes   []*v1.Node
}

func newWorld(t *testing.T, o sim.Options, nodes int) *world {
	t.Helper()
	cloud := simtest.New(t, o)
	g := readConfig(t, cloud.Config("request-timeout = 10\n")).Global
	w := &world{Cloud: cloud, clock: clocks.OrReal(o.Clock), ids: names.ProviderIDs(g.Region)}
	w.api = api.New(client.New(client.Options{Global: g, Transport: cloud.Front().Transport(), Clock: o.Clock}))
	w.indexer = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	w.nodes = w.Launch(nodes)
	w.Initialize(w.nodes)
	_, all := w.instances(nil)
	for _, node := range w.nodes {
		meta, err := all.InstanceMetadata(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		node.Status.Addresses = meta.NodeAddresses
		if err := w.indexer.Add(node); err != nil {
			t.Fatal(err)
		}
	}
	w.restart()
	w.Front().Log().Reset()
	return w
}

func (w *world) instances(lister *nodes.LazyLister) (*instances.Source, *commoninstances.Instances) {
	source := instances.NewSource(instances.Options{
		Compute: w.api, Network: w.api, ProviderIDs: w.ids, Region: w.Account().Region, Clock: w.clock,
	})
	return source, commoninstances.New(commoninstances.Options{Provider: names.Scheme, Clock: w.clock, Nodes: lister}, source, w.ids)
}

// restart replaces the manager by one with empty caches.
func (w *world) restart() {
	lister := &nodes.LazyLister{}
	lister.Set(corelisters.NewNodeLister(w.indexer), nil)
	servers, all := w.instances(lister)
	w.source = NewSource(Options{
		Network: w.api, RouterID: w.Places().Router, Ports: servers.Ports(), ProviderIDs: w.ids, Clock: w.clock,
		Nodes: lister, ClusterUID: func() string { return clusterUID },
	})
	w.routes = common.New(common.Options{Provider: names.Scheme, RejectsForeign: true, Nodes: lister, Window: BatchWindow}, w.source, all)
}

// sync runs the route controller once, with concurrent creations and deletions.
func (w *world) sync() error {
	w.T.Helper()
	have, err := w.routes.ListRoutes(w.T.Context(), "kubernetes")
	if err != nil {
		return err
	}
	wants := map[string]string{}
	for _, object := range w.indexer.List() {
		node := object.(*v1.Node)
		for _, cidr := range node.Spec.PodCIDRs {
			wants[cidr] = node.Name
		}
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		errs  []error
	)
	run := func(do func() error) {
		group.Go(func() {
			err := do()
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	for _, r := range have {
		if name, ok := wants[r.DestinationCIDR]; ok && name == string(r.TargetNode) && !r.Blackhole {
			delete(wants, r.DestinationCIDR)
			continue
		}
		run(func() error { return w.routes.DeleteRoute(w.T.Context(), "kubernetes", r) })
	}
	for cidr, name := range wants {
		run(func() error {
			return w.routes.CreateRoute(w.T.Context(), "kubernetes", name, &cloudprovider.Route{TargetNode: types.NodeName(name), DestinationCIDR: cidr})
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (w *world) mustSync() {
	w.T.Helper()
	if err := w.sync(); err != nil {
		w.T.Fatal(err)
	}
}

// wantRoutes compares the cloud's routes with the expected nodes and foreign routes.
func (w *world) wantRoutes(want ...string) {
	w.T.Helper()
	var got []string
	for _, r := range w.Routes() {
		text := r.Destination + " " + r.NodeName
		if r.Blackhole {
			text += "blackhole"
		}
		if !r.Owned {
			text += "foreign"
		}
		got = append(got, text)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.T.Errorf("routes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (w *world) pairs(node *v1.Node) []api.AddressPair {
	w.T.Helper()
	ports, err := w.api.ListPorts(w.T.Context(), api.PortFilter{DeviceIDs: []string{w.Server(node.Name)}})
	if err != nil || len(ports) != 1 {
		w.T.Fatalf("ports of %s: %d, %v", node.Name, len(ports), err)
	}
	return ports[0].AllowedAddressPairs
}

func TestForeignRoutesStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 2)
	for _, destination := range []string{"192.168.77.0/24", "10.128.200.0/24"} {
		if err := w.AddForeignRoute(destination); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		w.mustSync()
		w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 node-1", "192.168.77.0/24 foreign", "10.128.200.0/24 foreign")
		w.restart()
	}
}

func TestForeignRouteAtDestinationIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 2)
	if err := w.AddForeignRoute("10.128.1.0/24"); err != nil {
		t.Fatal(err)
	}
	err := w.sync()
	if !cloudapi.Is(err, cloudapi.AlreadyExists) || !strings.Contains(err.Error(), "which does not belong to this cluster") {
		t.Errorf("error %v, want one that names the owner", err)
	}
	w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 foreign")
}

// The router is read again before a creation: the list may be some minutes old.
func TestForeignRouteAfterListIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 2)
	if _, err := w.routes.ListRoutes(t.Context(), "kubernetes"); err != nil {
		t.Fatal(err)
	}
	if err := w.AddForeignRoute("10.128.1.0/24"); err != nil {
		t.Fatal(err)
	}
	if err := w.sync(); !cloudapi.Is(err, cloudapi.AlreadyExists) {
		t.Errorf("error %v, want one about the foreign route", err)
	}
	w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 foreign")
}

func TestRouteOfDeletedServerIsDeleted(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %v", restarted), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sim.Options{}, 3)
			w.mustSync()
			if err := errors.Join(w.Terminate("node-1"), w.indexer.Delete(w.nodes[1])); err != nil {
				t.Fatal(err)
			}
			if restarted {
				w.restart()
			}
			w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 blackhole", "10.128.2.0/24 node-2")
			w.mustSync()
			w.wantRoutes("10.128.0.0/24 node-0", "10.128.2.0/24 node-2")
		})
	}
}

// A Node that is deleted while its server lives leaves no address pair behind, also where another
// manager has made the route.
func TestAddressPairsAreRemovedWithTheNode(t *testing.T) {
	t.Parallel()
	for _, adopted := range []bool{false, true} {
		t.Run(fmt.Sprintf("adopted %v", adopted), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sim.Options{}, 2)
			w.mustSync()
			if adopted {
				if _, err := w.api.SetTags(t.Context(), api.Routers, w.Places().Router, []string{}); err != nil {
					t.Fatal(err)
				}
				w.restart()
			}
			if err := w.indexer.Delete(w.nodes[0]); err != nil {
				t.Fatal(err)
			}
			w.mustSync()
			w.wantRoutes("10.128.1.0/24 node-1")
			if pairs := w.pairs(w.nodes[0]); len(pairs) != 0 {
				t.Errorf("address pairs %v stay on the port", pairs)
			}
			if pairs := w.pairs(w.nodes[1]); len(pairs) != 1 {
				t.Errorf("address pairs of the other node are %v", pairs)
			}
		})
	}
}

// A pod range that goes from one node to another leaves one route.
func TestPodCIDRMovesToAnotherNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 2)
	w.mustSync()
	w.nodes[1].Spec.PodCIDRs, w.nodes[0].Spec.PodCIDRs = w.nodes[0].Spec.PodCIDRs, nil
	for range 2 {
		_ = w.sync() // the framework retries too
	}
	w.mustSync()
	var got []string
	for _, r := range w.Routes() {
		got = append(got, r.Destination+" "+r.NodeName)
	}
	if want := []string{"10.128.0.0/24 node-1"}; !slices.Equal(got, want) {
		t.Errorf("routes are %q, want %q", got, want)
	}
}

func TestDualStackRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{IPv6: true}, 2)
	for i, node := range w.nodes {
		node.Spec.PodCIDRs = append(node.Spec.PodCIDRs, fmt.Sprintf("2001:db8:1:%d::/64", i))
	}
	w.mustSync()
	w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 node-1", "2001:db8:1::/64 node-0", "2001:db8:1:1::/64 node-1")
	if pairs := w.pairs(w.nodes[0]); len(pairs) != 2 {
		t.Errorf("address pairs are %v, want one for each family", pairs)
	}
}

func TestOlderNeutron(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		without []string
		pairs   int
		problem string
	}{
		{"without atomic changes", []string{"extraroute-atomic"}, 1, ""},
		{"without address pairs", []string{"allowed-address-pairs"}, 0, ""},
		{"without tags", []string{"standard-attr-tag"}, 1, ""},
		{"without routes", []string{"extraroute", "extraroute-atomic"}, 1, "remove router-id from section [Route]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sim.Options{WithoutExtensions: tt.without}, 3)
			err := w.sync()
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("error %v, want one with %q", err, tt.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 node-1", "10.128.2.0/24 node-2")
			if pairs := w.pairs(w.nodes[0]); len(pairs) != tt.pairs {
				t.Errorf("address pairs are %v, want %d", pairs, tt.pairs)
			}
			if err := w.indexer.Delete(w.nodes[0]); err != nil {
				t.Fatal(err)
			}
			w.mustSync()
			w.wantRoutes("10.128.1.0/24 node-1", "10.128.2.0/24 node-2")
		})
	}
}

// racing changes the router or a port concurrently, just before each write.
type racing struct {
	api.NetworkAPI
	before func()
	left   int
}

func (r *racing) interfere() {
	if r.left > 0 {
		r.left--
		r.before()
	}
}

func (r *racing) SetRoutes(ctx context.Context, id string, revision int, list []api.ExtraRoute) (api.Router, error) {
	r.interfere()
	return r.NetworkAPI.SetRoutes(ctx, id, revision, list)
}

func (r *racing) UpdatePort(ctx context.Context, id string, o api.PortUpdate) (api.Port, error) {
	r.interfere()
	return r.NetworkAPI.UpdatePort(ctx, id, o)
}

func TestConcurrentChangesAreNotLost(t *testing.T) {
	t.Parallel()
	t.Run("of the router", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, sim.Options{WithoutExtensions: []string{"extraroute-atomic", "allowed-address-pairs"}}, 1)
		n := 0
		w.source.api = &racing{NetworkAPI: w.api, left: 2, before: func() {
			n++
			if err := w.AddForeignRoute(fmt.Sprintf("192.168.%d.0/24", n)); err != nil {
				t.Error(err)
			}
		}}
		w.mustSync()
		w.wantRoutes("10.128.0.0/24 node-0", "192.168.1.0/24 foreign", "192.168.2.0/24 foreign")
		if w.Front().Log().Count()["UpdateRouter"] < 3 {
			t.Error("the race did not take place")
		}
	})
	t.Run("of a port", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, sim.Options{}, 1)
		other := api.AddressPair{IPAddress: "172.30.0.1"}
		w.source.api = &racing{NetworkAPI: w.api, left: 1, before: func() {
			ports, err := w.api.ListPorts(t.Context(), api.PortFilter{DeviceIDs: []string{w.Server("node-0")}})
			if err == nil {
				_, err = w.api.UpdatePort(t.Context(), ports[0].ID, api.PortUpdate{AllowedAddressPairs: &[]api.AddressPair{other}})
			}
			if err != nil {
				t.Error(err)
			}
		}}
		w.mustSync()
		if pairs := w.pairs(w.nodes[0]); len(pairs) != 2 || pairs[0].IPAddress != other.IPAddress {
			t.Errorf("address pairs are %v, want the other one and ours", pairs)
		}
	})
}

// Before the node informer has synced, no route may look like one of a deleted node.
func TestListFailsUntilNodesAreSynced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 1)
	w.mustSync()
	w.source.nodes.Set(nil, nil)
	if _, err := w.routes.ListRoutes(t.Context(), "kubernetes"); !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Errorf("error %v, want Unavailable", err)
	}
}

// One route that Neutron rejects must not fail the others.
func TestInvalidRouteFailsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 5)
	for i, a := range w.nodes[3].Status.Addresses {
		if a.Type == v1.NodeInternalIP {
			w.nodes[3].Status.Addresses[i].Address = "203.0.113.7" // no network of the router has it
		}
	}
	if err := w.sync(); err == nil {
		t.Error("the bad route had no error")
	}
	w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 node-1", "10.128.2.0/24 node-2", "10.128.4.0/24 node-4")
}

func TestMissingRouterNamesTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 1)
	w.source.routerID = "00000000-0000-0000-0000-000000000000"
	if err := w.sync(); err == nil || !strings.Contains(err.Error(), "router-id in section [Route]") {
		t.Errorf("error %v, want one that names the key", err)
	}
}

// readConfig reads a valid configuration.
func readConfig(t *testing.T, content string) config.Config {
	t.Helper()
	cfg, _, err := config.Read("cloud.conf", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
