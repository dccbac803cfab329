package podcidr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"
)

func prefixes(list ...string) (out []netip.Prefix) {
	for _, text := range list {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		config Config
		want   []string // parts of the errors, one for each
	}{
		"IPv4":                   {Config{Cluster: prefixes("10.244.0.0/16")}, nil},
		"IPv6":                   {Config{Cluster: prefixes("fd00::/56")}, nil},
		"both":                   {Config{Cluster: prefixes("10.244.0.0/16", "fd00::/56"), MaskIPv4: 26, MaskIPv6: 72}, nil},
		"one Node":               {Config{Cluster: prefixes("10.244.0.0/24")}, nil},
		"none":                   {Config{}, []string{"--cluster-cidr is not set"}},
		"two of a family":        {Config{Cluster: prefixes("10.0.0.0/16", "10.1.0.0/16")}, []string{"one IPv4 range and one IPv6 range"}},
		"three of Services":      {Config{Cluster: prefixes("10.0.0.0/16"), Services: prefixes("10.1.0.0/16", "fd00::/108", "fd01::/108")}, []string{"--service-cluster-ip-range"}},
		"smaller than a Node":    {Config{Cluster: prefixes("10.244.0.0/25")}, []string{"--node-cidr-mask-size-ipv4=24: the podCIDR of a Node in 10.244.0.0/25 must have a prefix length from 25 to 32"}},
		"too many":               {Config{Cluster: prefixes("10.0.0.0/8"), Mask: 28}, []string{"--node-cidr-mask-size=28", "from 8 to 24"}},
		"too many of IPv6":       {Config{Cluster: prefixes("fd00::/40")}, []string{"from 40 to 56"}},
		"one size, two families": {Config{Cluster: prefixes("10.244.0.0/16", "fd00::/56"), Mask: 24}, []string{"--node-cidr-mask-size=24 is for clusters of one IP family"}},
		"negative":               {Config{Cluster: prefixes("10.244.0.0/16"), MaskIPv4: -1}, []string{"--node-cidr-mask-size-ipv4=-1"}},
		"all at once":            {Config{Cluster: prefixes("10.0.0.0/30", "fd00::/126"), Mask: 1}, []string{"is for clusters of one", "10.0.0.0/30", "fd00::/126"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.config.Validate()
			if (err == nil) != (len(tc.want) == 0) {
				t.Fatalf("error %v", err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %v", part, err)
				}
			}
		})
	}
}

// world is an API server with Nodes, and a lister that may be behind it.
type world struct {
	t       *testing.T
	config  Config
	nodes   map[types.UID]*v1.Node
	indexer cache.Indexer
	clock   *testclock.FakeClock
	client  *fake.Clientset
	ranges  *Ranges
	next    int
}

func newWorld(t *testing.T, config Config) *world {
	t.Helper()
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, config: config, nodes: map[types.UID]*v1.Node{}, clock: testclock.NewFakeClock(time.Unix(1e9, 0))}
	w.indexer = cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	w.client = fake.NewClientset()
	w.client.PrependReactor("list", "nodes", w.list)
	w.lead()
	return w
}

// lead starts a new leader: it knows what its lister shows.
func (w *world) lead() {
	w.ranges = New(Options{
		Config: w.config, Client: w.client, Nodes: corelisters.NewNodeLister(w.indexer), Clock: w.clock,
	})
}

func (w *world) list(k8stesting.Action) (bool, runtime.Object, error) {
	list := &v1.NodeList{}
	for _, n := range w.nodes {
		list.Items = append(list.Items, *n.DeepCopy())
	}
	return true, list, nil
}

func (w *world) create(podCIDRs ...string) *v1.Node {
	w.next++
	name := fmt.Sprintf("n%d", w.next)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	w.nodes[n.UID] = n
	w.set(n, podCIDRs)
	return n
}

func (w *world) set(n *v1.Node, podCIDRs []string) {
	n.Spec.PodCIDRs = podCIDRs
	if len(podCIDRs) > 0 {
		n.Spec.PodCIDR = podCIDRs[0]
	}
}

// observe lets the lister catch up with a Node.
func (w *world) observe(uid types.UID) {
	name := string(uid)
	if n, ok := w.nodes[uid]; ok {
		_ = w.indexer.Update(n.DeepCopy())
	} else if old, ok, _ := w.indexer.GetByKey(name); ok {
		_ = w.indexer.Delete(old)
	}
}

func (w *world) observeAll() {
	for _, name := range w.indexer.ListKeys() {
		w.observe(types.UID(name))
	}
	for uid := range w.nodes {
		w.observe(uid)
	}
}

func (w *world) reserve(nodes ...*v1.Node) (map[types.UID][]netip.Prefix, map[types.UID]error) {
	w.t.Helper()
	found, errs, err := w.ranges.Reserve(context.Background(), nodes)
	if err != nil {
		w.t.Fatal(err)
	}
	return found, errs
}

// check fails if two Nodes have overlapping podCIDRs, or one has some of the Services'.
func (w *world) check(step string) {
	w.t.Helper()
	var all []netip.Prefix
	for _, n := range w.nodes {
		own := OfNode(n.Spec.PodCIDR, n.Spec.PodCIDRs)
		for _, p := range own {
			for _, other := range append(slices.Clone(all), w.config.Services...) {
				if p.Overlaps(other) {
					w.t.Fatalf("%s: %s of node %s overlaps with %s", step, p, n.Name, other)
				}
			}
		}
		all = append(all, own...)
	}
}

func TestPodCIDRsAreInOrderAndRotate(t *testing.T) {
	w := newWorld(t, Config{
		Cluster: prefixes("10.0.0.0/22", "fd00::/62"), Services: prefixes("10.0.1.0/25"),
	})
	w.create("10.0.2.128/25") // of another allocator
	w.observeAll()
	a, b, c := w.create(), w.create(), w.create()
	found, errs := w.reserve(a, b, c)
	want := map[types.UID][]netip.Prefix{
		a.UID: prefixes("10.0.0.0/24", "fd00::/64"), b.UID: prefixes("10.0.3.0/24", "fd00:0:0:1::/64"),
	}
	if diff := cmp.Diff(want, found, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := errs[c.UID]; !errors.Is(err, ErrExhausted) || !strings.Contains(err.Error(), "10.0.0.0/22 has no /24 left") ||
		strings.Contains(err.Error(), "fd00") {
		t.Errorf("error %v", err)
	}
	// Neither family of the Node without podCIDRs is reserved, and the next one is not what was just released.
	w.ranges.Settle(b.UID, nil)
	w.ranges.Settle(a.UID, nil)
	found, _ = w.reserve(c)
	if got := found[c.UID]; !slices.Equal(got, prefixes("10.0.0.0/24", "fd00:0:0:3::/64")) {
		t.Errorf("got %v", got)
	}
}

// A kubelet can register its own Node with a range that leaves nothing to others: it is named.
// What another writer gave to a Node counts as used before the lister shows it.
func TestSettledPodCIDRIsUsed(t *testing.T) {
	w := newWorld(t, Config{Cluster: prefixes("10.0.0.0/22")})
	a, b := w.create(), w.create()
	w.observeAll()
	w.reserve(a)
	w.set(a, []string{"10.0.1.0/24"})
	w.ranges.Settle(a.UID, OfNode("", []string{"10.0.1.0/24"}))
	found, errs := w.reserve(b)
	if got := Strings(found[b.UID]); len(errs) > 0 || !slices.Equal(got, []string{"10.0.2.0/24"}) {
		t.Errorf("b gets %v, %v", got, errs)
	}
}

func TestOfNode(t *testing.T) {
	for name, tc := range map[string]struct {
		podCIDR  string
		podCIDRs []string
		want     []string
	}{
		"none":                          {},
		"both fields":                   {"10.0.0.0/24", []string{"10.0.0.0/24", "fd00::/64"}, []string{"10.0.0.0/24", "fd00::/64"}},
		"the first field":               {"10.0.0.0/24", nil, []string{"10.0.0.0/24"}},
		"an address within":             {"", []string{"10.0.0.7/24"}, []string{"10.0.0.0/24"}},
		"zeros, as before 1.36":         {"", []string{"10.244.001.0/24"}, []string{"10.244.1.0/24"}},
		"IPv4 in the form of IPv6":      {"", []string{"::ffff:10.244.1.0/120"}, []string{"10.244.1.0/24"}},
		"IPv6 that contains these":      {"", []string{"::/0"}, []string{"::/0"}},
		"neither of both is one":        {"x", []string{"10.0.0.0", "10.0.0.0/33"}, nil},
		"one of them is one":            {"", []string{"x", "fd00::/64"}, []string{"fd00::/64"}},
		"larger than the forms of IPv4": {"", []string{"::ffff:0:0/95"}, []string{"::fffe:0:0/95"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Strings(OfNode(tc.podCIDR, tc.podCIDRs)); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestNodeWithLargeRangeIsNamed(t *testing.T) {
	w := newWorld(t, Config{Cluster: prefixes("10.0.0.0/16")})
	w.create("10.0.0.0/8")
	w.observeAll()
	n := w.create()
	if _, errs := w.reserve(n); errs[n.UID] == nil || !strings.Contains(errs[n.UID].Error(), "node n1 has 10.0.0.0/8") {
		t.Errorf("error %v", errs[n.UID])
	}
}

// Reservations of Nodes whose deletion was never observed end once all podCIDRs are in use.
func TestExhaustionListsNodesAgain(t *testing.T) {
	w := newWorld(t, Config{Cluster: prefixes("10.0.0.0/24")})
	gone := w.create()
	w.reserve(gone)
	delete(w.nodes, gone.UID)
	n := w.create()
	if _, errs := w.reserve(n); errs[n.UID] == nil {
		t.Error("reserved twice within a minute")
	}
	w.clock.Step(listPeriod)
	if found, errs := w.reserve(n); len(found[n.UID]) != 1 {
		t.Errorf("not reserved: %v", errs)
	}
}

// Nodes come and go, writes fail, succeed late or with unknown results, the lister is behind, and leaders change: no two
// Nodes ever have one podCIDR, and all get one in the end.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, Config{
			Cluster: prefixes("10.0.0.0/20", "fd00::/60"), Services: prefixes("10.0.7.0/24"), Mask: 0,
		})
		if seed%2 == 0 {
			w.create("10.0.4.0/23")
		}
		var late []func()
		for step := range 200 {
			var open []*v1.Node
			for _, n := range w.nodes {
				if len(n.Spec.PodCIDRs) == 0 {
					open = append(open, n)
				}
			}
			slices.SortFunc(open, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
			switch r.IntN(8) {
			case 0, 1:
				if len(w.nodes) < 16 {
					w.create()
				}
			case 2:
				for uid := range w.nodes {
					if r.IntN(3) == 0 {
						delete(w.nodes, uid)
						break
					}
				}
			case 3:
				for _, apply := range late {
					apply()
				}
				late = nil
			case 4:
				w.observeAll()
			case 5:
				// The writes of a leader have ended before the next one leads.
				for _, apply := range late {
					apply()
				}
				late = nil
				w.lead()
			default:
				w.clock.Step(time.Minute)
				found, _ := w.reserve(open...)
				for uid, ranges := range found {
					write := func() {
						if n, ok := w.nodes[uid]; ok && len(n.Spec.PodCIDRs) == 0 {
							w.set(n, Strings(ranges))
						}
					}
					switch r.IntN(4) {
					case 0: // It fails.
					case 1: // Its result is unknown.
						late = append(late, write)
					default:
						write()
					}
				}
			}
			w.check(fmt.Sprintf("seed %d, step %d", seed, step))
		}
		for _, apply := range late {
			apply()
		}
		for uid := range w.nodes {
			if len(w.nodes) > 11 {
				delete(w.nodes, uid)
			}
		}
		w.observeAll()
		w.clock.Step(time.Minute)
		for _, n := range w.nodes {
			if len(n.Spec.PodCIDRs) > 0 {
				continue
			}
			found, errs := w.reserve(n)
			if len(found[n.UID]) != 2 {
				t.Fatalf("seed %d: node %s gets none: %v", seed, n.Name, errs)
			}
			w.set(n, Strings(found[n.UID]))
			w.check("the end")
		}
	}
}
