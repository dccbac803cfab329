package instances

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	common "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	conformanceworld "github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

// world is a simulated cloud and a Source over it.
type world struct {
	*simtest.Cloud
	client *client.Client
	api    *api.Clients
	source *Source
	ids    *common.TableScheme
	clock  clock.Clock

	networking config.Networking
}

func newWorld(t *testing.T, o sim.Options, networking config.Networking) *world {
	t.Helper()
	cloud := simtest.New(t, o)
	g := readConfig(t, cloud.Config("request-timeout = 10\n")).Global
	w := &world{Cloud: cloud, clock: clocks.OrReal(o.Clock), ids: names.ProviderIDs(g.Region), networking: networking}
	w.connect(cloud.Front().Transport())
	return w
}

// connect creates the client and the source over a transport.
func (w *world) connect(transport http.RoundTripper) {
	g := readConfig(w.T, w.Config("request-timeout = 10\n")).Global
	w.client = client.New(client.Options{Global: g, Transport: transport, Clock: w.clock})
	w.api = api.New(w.client)
	w.source = NewSource(Options{
		Compute: w.api, Network: w.api, ProviderIDs: w.ids, Region: g.Region, Networking: w.networking, Clock: w.clock,
	})
}

// authenticated gets a token, which does not count as a call of the test.
func (w *world) authenticated(t *testing.T) *world {
	t.Helper()
	if err := w.client.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Front().Log().Reset()
	return w
}

// instances returns the common implementation over the source.
func (w *world) instances() *common.Instances {
	return common.New(common.Options{Provider: names.Scheme, Clock: w.clock}, w.source, w.ids)
}

func TestRefreshCallBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, config.Networking{})
	nodes := w.Launch(1000)
	w.Initialize(nodes)
	all := w.instances()
	for _, node := range nodes {
		meta, err := all.InstanceMetadata(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		if meta.InstanceType != "m1.small" || meta.Region != "RegionOne" || !strings.HasPrefix(meta.Zone, "az-") || len(meta.NodeAddresses) == 0 {
			t.Fatalf("%s: %+v", node.Name, meta)
		}
	}
	w.WantCalls(6)
}

func TestSingleNodeCallBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, config.Networking{}).authenticated(t)
	w.Launch(3)
	for _, tt := range []struct {
		name string
		do   func(context.Context) ([]common.Instance, error)
	}{
		{"by name", func(ctx context.Context) ([]common.Instance, error) { return w.source.Find(ctx, refs("node-1")) }},
		{"by ID", func(ctx context.Context) ([]common.Instance, error) {
			return w.source.Get(ctx, []string{w.Server("node-1")})
		}},
	} {
		found, err := tt.do(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if len(found) != 1 || found[0].NodeName != "node-1" || found[0].ProviderID != "openstack:///"+w.Server("node-1") || found[0].State != common.Running {
			t.Errorf("%s: found %+v", tt.name, found)
		}
		w.WantCalls(2)
	}
}

// The lifecycle controller checks every NotReady node, twice, every five seconds.
func TestNotReadyNodesCallBudget(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := newWorld(t, sim.Options{Clock: c, TokenLife: 24 * time.Hour}, config.Networking{}).authenticated(t)
	nodes := w.Launch(50)
	w.Initialize(nodes)
	all := w.instances()
	for range 12 {
		for _, node := range nodes {
			if exists, err := all.InstanceExists(t.Context(), node); err != nil || !exists {
				t.Fatalf("%s: %v, %v", node.Name, exists, err)
			}
			if stopped, err := all.InstanceShutdown(t.Context(), node); err != nil || stopped {
				t.Fatalf("%s: stopped %v, %v", node.Name, stopped, err)
			}
		}
		c.Step(5 * time.Second)
	}
	w.WantCalls(15)
}

func TestGetReadsMissingServersSingly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, config.Networking{}).authenticated(t)
	w.Launch(3)
	gone, stays := w.Server("node-0"), w.Server("node-1")
	if err := w.Terminate("node-0"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // singly, and out of a list
		found, err := w.source.Get(t.Context(), []string{gone})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range found {
			if one.ID == gone {
				t.Errorf("found %+v, which is deleted", one)
			}
		}
		if w.Front().Log().Count()["ShowServer"] == 0 {
			t.Errorf("the server itself was not read: %v", w.Front().Log().Count())
		}
		w.Front().Log().Reset()
	}
	found, err := w.source.Get(t.Context(), []string{gone, stays})
	if err != nil || len(found) != 2 {
		t.Errorf("found %d servers, %v, want the two that there are", len(found), err)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]common.State{
		"ACTIVE": common.Running, "SHUTOFF": common.Stopped, "BUILD": common.Pending, "PAUSED": common.Running, "SUSPENDED": common.Running,
		"SHELVED": common.Running, "SHELVED_OFFLOADED": common.Running, "ERROR": common.Running, "SOFT_DELETED": common.Terminating, "NEW_IN_NOVA": common.Running,
	} {
		if got := stateOf(status); got != want {
			t.Errorf("a server that is %s counts as %s, want %s", status, got, want)
		}
	}
}

// Nova passes a search for names to its database: on MySQL it escapes every | (_safe_regex_mysql in nova/db/main/api.py),
// so that a search for alternatives finds nothing, although the servers exist.
func TestFindByNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, config.Networking{}).authenticated(t)
	w.Launch(30)
	for _, name := range []string{"node-1.example.com", "Upper-1"} {
		if _, err := w.Cloud.Cloud.Launch(conformanceworld.Machine{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	w.Front().Log().Reset()
	for _, tt := range []struct {
		names []string
		want  int
	}{
		{[]string{"node-1"}, 1}, {[]string{"node-1", "node-2", "missing"}, 2}, {[]string{"node-1.example.com"}, 1}, {[]string{"node-1xexample.com"}, 0}, {[]string{"node"}, 0},
		{[]string{"upper-1"}, 1},
		{[]string{"node-0", "node-1", "node-2", "node-3", "node-4", "node-5", "node-6", "node-7", "node-8", "node-9", "node-10", "node-11", "node-12", "node-13", "node-14",
			"node-15", "node-16", "node-17", "node-18", "node-19", "node-20"}, 21},
	} {
		found, err := w.source.Find(t.Context(), refs(tt.names...))
		if err != nil || len(found) != tt.want {
			t.Errorf("%d names %s...: found %d, %v, want %d", len(tt.names), tt.names[0], len(found), err, tt.want)
		}
		w.WantCalls(3)
	}
}

// twins is a Nova with two servers of one name, and one with capital letters in its name.
type twins struct{ api.ComputeAPI }

func (twins) ListServers(context.Context, string) ([]api.Server, error) {
	return []api.Server{{ID: "1", Name: "web"}, {ID: "2", Name: "web"}, {ID: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d", Name: "DB-1"}}, nil
}

func TestFindRejectsDuplicateNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, config.Networking{})
	w.source.compute = twins{w.api}
	if _, err := w.source.Find(t.Context(), refs("web")); !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(),
		"the servers 1 and 2 are both called web") {
		t.Errorf("two servers of one name: %v, want an error that names both", err)
	}
	found, err := w.source.Find(t.Context(), refs("db-1"))
	if err != nil || len(found) != 1 || found[0].NodeName != "db-1" {
		t.Errorf("found %+v, %v, want DB-1 as db-1", found, err)
	}
}

// manyFlavors answers about flavors only.
type manyFlavors struct {
	api.ComputeAPI
	listed, shown int
	fail          error
}

func (m *manyFlavors) ListFlavors(context.Context) ([]api.Flavor, error) {
	m.listed++
	return []api.Flavor{{ID: "id-1", Name: "m1.small"}, {ID: "id-2", Name: "GPU (8x) big"}}, nil
}

func (m *manyFlavors) GetFlavor(_ context.Context, id string) (api.Flavor, error) {
	m.shown++
	if m.fail != nil {
		return api.Flavor{}, m.fail
	}
	return api.Flavor{ID: id, Name: "hidden"}, nil
}

func TestInstanceTypes(t *testing.T) {
	t.Parallel()
	gone := &cloudapi.Error{Class: cloudapi.NotFound}
	down := &cloudapi.Error{Class: cloudapi.Unavailable}
	for _, tt := range []struct {
		name, id, original string
		fail               error
		want               string
		listed, shown      int
	}{
		{name: "name in the server", original: "m1.small", want: "m1.small"},
		{name: "name that is not a valid label", original: "GPU (8x) big", want: "id-2", listed: 1},
		{name: "name that is not a valid label, deleted flavor", original: "GPU (4x)", want: "GPU-4x", listed: 1},
		{name: "older Nova", id: "id-1", want: "m1.small", listed: 1},
		{name: "older Nova, hidden flavor", id: "id-9", want: "hidden", listed: 1, shown: 1},
		{name: "older Nova, deleted flavor", id: "id-9", fail: gone, want: "id-9", listed: 1, shown: 1},
		{name: "Nova is unavailable", id: "id-9", fail: down, listed: 1, shown: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &manyFlavors{fail: tt.fail}
			f := newFlavorCache(m, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
			s := api.Server{}
			s.Flavor.ID, s.Flavor.OriginalName = tt.id, tt.original
			for range 2 { // the second time from memory
				got, err := f.typeOf(t.Context(), s)
				if got != tt.want || (err != nil) != (tt.fail == down) { //nolint:errorlint // the very value
					t.Errorf("typeOf = %q, %v, want %q", got, err, tt.want)
				}
			}
			if m.listed != tt.listed || m.shown != tt.shown {
				t.Errorf("%d lists and %d flavors read, want %d and %d", m.listed, m.shown, tt.listed, tt.shown)
			}
		})
	}
}

// olderNova is a Nova that ignores microversions.
type olderNova struct{ next http.RoundTripper }

func (o olderNova) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("OpenStack-API-Version")
	r.Header.Del("X-OpenStack-Nova-API-Version")
	return o.next.RoundTrip(r)
}

// A deleted flavor must not keep a node from being initialized, whether Nova still returns its name or, before
// microversion 2.47, only its ID.
func TestDeletedFlavorDoesNotBlockInitialization(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		older bool
		// named means that the instance type is the flavor's name, not its ID.
		named bool
		calls map[string]int
	}{
		{name: "name in the server", named: true, calls: map[string]int{"ListServersDetailed": 1, "ListPorts": 1}},
		{name: "older Nova", older: true, calls: map[string]int{"ListServersDetailed": 1, "ListPorts": 1, "ListFlavors": 1, "ShowFlavor": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sim.Options{}, config.Networking{})
			if tt.older {
				w.connect(olderNova{w.Front().Transport()})
			}
			w.authenticated(t).Launch(2)
			flavors, err := w.api.ListFlavors(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			kind, err := w.Machine("node-0")
			if err != nil {
				t.Fatal(err)
			}
			want := kind.Type
			for _, f := range flavors {
				if f.Name == kind.Type && !tt.named {
					want = f.ID
				}
			}
			if err := w.DeleteFlavor(kind.Type); err != nil {
				t.Fatal(err)
			}
			w.Front().Log().Reset()
			found, err := w.source.List(t.Context())
			if err != nil || len(found) != 2 {
				t.Fatalf("%d instances, %v", len(found), err)
			}
			for _, one := range found {
				if one.Type != want || len(one.Addresses) == 0 {
					t.Errorf("%s has the type %q and the addresses %v, want %q and some", one.ID, one.Type, one.Addresses, want)
				}
			}
			if diff := cmp.Diff(tt.calls, w.Front().Log().Count()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRegionalProviderIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, config.Networking{})
	w.Launch(1)
	w.source.regional = true
	found, err := w.source.Find(t.Context(), refs("node-0"))
	if err != nil || len(found) != 1 || found[0].ProviderID != "openstack://RegionOne/"+w.Server("node-0") {
		t.Errorf("found %+v, %v", found, err)
	}
	node := &v1.Node{}
	node.Name, node.Spec.ProviderID = "far", "openstack://RegionTwo/"+w.Server("node-0")
	if exists, err := w.instances().InstanceExists(t.Context(), node); err == nil || exists {
		t.Errorf("a node of another region: exists %v, %v, want an error", exists, err)
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

// refs returns Nodes with these names and no system UUID.
func refs(names ...string) []common.NodeRef {
	nodes := make([]common.NodeRef, len(names))
	for i, name := range names {
		nodes[i].Name = name
	}
	return nodes
}
