package nodeipam

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
)

// toySource has the ranges of instances by provider ID.
type toySource struct {
	assigned map[string][]netip.Prefix
	broken   map[string]error
	err      error
	reads    atomic.Int64
}

func (s *toySource) Has(n *v1.Node) bool {
	return strings.HasPrefix(n.Spec.ProviderID, "toy://") && n.Spec.ProviderID != "toy://none"
}

func (*toySource) Advice() string { return "assign one" }
func (*toySource) MaxBatch() int  { return 100 }

func (s *toySource) Assigned(_ context.Context,
	nodes []*v1.Node) (map[string][]netip.Prefix, map[string]error, error) {
	s.reads.Add(1)
	found, errs := map[string][]netip.Prefix{}, map[string]error{}
	for _, n := range nodes {
		found[n.Name], errs[n.Name] = s.assigned[n.Spec.ProviderID], s.broken[n.Spec.ProviderID]
	}
	return found, errs, s.err
}

// assign gives an instance ranges.
func (s *toySource) assign(providerID string, ranges ...string) {
	if s.assigned == nil {
		s.assigned = map[string][]netip.Prefix{}
	}
	s.assigned[providerID] = prefixes(ranges...)
}

func TestCloudAllocator(t *testing.T) {
	both := prefixes("10.0.0.0/24", "fd00::/112")
	for name, tc := range map[string]struct {
		config podcidr.Config
		source *toySource
		want   []string
		event  string
	}{
		"what is assigned": {source: &toySource{assigned: map[string][]netip.Prefix{"toy://a": both}},
			want: []string{"10.0.0.0/24", "fd00::/112"}},
		"families of Services": {podcidr.Config{Services: prefixes("fd01::/108", "10.9.0.0/16"), Cluster: prefixes("10.0.0.0/8")},
			&toySource{assigned: map[string][]netip.Prefix{"toy://a": both}}, []string{"fd00::/112", "10.0.0.0/24"}, ""},
		"families of pods": {podcidr.Config{Cluster: prefixes("10.0.0.0/8")},
			&toySource{assigned: map[string][]netip.Prefix{"toy://a": both}}, []string{"10.0.0.0/24"}, ""},
		"several ranges of one family": {podcidr.Config{Cluster: prefixes("10.0.0.0/9", "10.128.0.0/9")},
			&toySource{assigned: map[string][]netip.Prefix{"toy://a": both}}, []string{"10.0.0.0/24"}, ""},
		"another node has it": {source: &toySource{assigned: map[string][]netip.Prefix{"toy://a": prefixes("10.7.0.0/25")}},
			event: "the instance of toy://a has the range 10.7.0.0/25, and node has has or gets the podCIDR 10.7.0.0/25 or a part"},
		"a family is missing": {podcidr.Config{Cluster: prefixes("10.0.0.0/8", "fd00::/48")},
			&toySource{assigned: map[string][]netip.Prefix{"toy://a": both[:1]}}, nil,
			"the instance of toy://a has no IPv6 range for pods: assign one"},
		"none": {source: &toySource{}, event: "the instance of toy://a has no range for pods: assign one"},
		"it cannot be read": {source: &toySource{broken: map[string]error{"toy://a": errors.New("broken")}},
			event: "broken"},
		"the cloud does not answer": {source: &toySource{err: errors.New("503")}, event: "503"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, tc.config)
				c.context.CIDRAllocatorType = CloudAllocator
				c.create("a", "toy://a")
				c.create("without a machine", "toy://none")
				c.create("has", "toy://b", "10.7.0.0/24")
				tc.source.assign("toy://b", "10.7.0.0/24")
				c.run(tc.source, settle)
				n := c.get("a")
				if !slices.Equal(n.Spec.PodCIDRs, tc.want) {
					t.Errorf("podCIDRs %v, want %v", n.Spec.PodCIDRs, tc.want)
				}
				// The condition goes with the podCIDRs, whoever has set them.
				for name, want := range map[string]bool{"a": len(tc.want) > 0, "has": tc.source.err == nil, "without a machine": false} {
					conditions := c.get(name).Status.Conditions
					if got := len(conditions) == 1 && conditions[0].Type == v1.NodeNetworkUnavailable &&
						conditions[0].Status == v1.ConditionFalse; got != want {
						t.Errorf("conditions of %s: %v", name, conditions)
					}
				}
				select {
				case e := <-c.events.Events:
					if tc.event == "" || !strings.Contains(e, tc.event) {
						t.Errorf("event %q, want %q", e, tc.event)
					}
				default:
					if tc.event != "" {
						t.Error("no event")
					}
				}
			})
		})
	}
}

// Two Nodes of one instance: the first one has its range, and the second one gets it when the first one is deleted.
func TestOneInstanceOfTwoNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, podcidr.Config{})
		c.context.CIDRAllocatorType = CloudAllocator
		c.create("a", "toy://a")
		c.create("a.example", "toy://a")
		c.run(&toySource{assigned: map[string][]netip.Prefix{"toy://a": prefixes("10.0.0.0/24")}}, func() {
			settle()
			has := map[string]string{}
			for _, name := range []string{"a", "a.example"} {
				has[c.get(name).Spec.PodCIDR] = name
			}
			if len(has) != 2 || has[""] == "" {
				t.Fatalf("podCIDRs %v, want one of them", has)
			}
			if err := c.client.CoreV1().Nodes().Delete(t.Context(), has["10.0.0.0/24"], metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(maxBackoff)
			synctest.Wait()
			if got := c.get(has[""]).Spec.PodCIDR; got != "10.0.0.0/24" {
				t.Errorf("after the deletion of the other one it has %q", got)
			}
		})
	})
}

// A podCIDR whose write the informer does not show yet is not given to another Node.
func TestChosenRangesAreUsed(t *testing.T) {
	c := newCluster(t, podcidr.Config{})
	nodes := c.factory.Core().V1().Nodes().Informer().GetIndexer()
	node := func(name string) *v1.Node {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.NodeSpec{ProviderID: "toy://" + name}}
		if err := nodes.Add(n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	a, b := node("a"), node("b")
	shared := prefixes("10.0.0.0/24")
	f := &fromCloud{ControllerContext: c.context, chosen: map[types.UID][]netip.Prefix{},
		source: &toySource{assigned: map[string][]netip.Prefix{"toy://a": shared, "toy://b": shared}}}
	for range 2 {
		if found, errs := f.find(t.Context(), []*v1.Node{a}); len(found["a"]) != 1 || errs["a"] != nil {
			t.Fatalf("a: %v, %v", found, errs)
		}
		if found, errs := f.find(t.Context(), []*v1.Node{b}); len(found["b"]) != 0 || errs["b"] == nil {
			t.Errorf("b: %v, %v", found, errs)
		}
	}
	if err := nodes.Delete(a); err != nil {
		t.Fatal(err)
	}
	if found, errs := f.find(t.Context(), []*v1.Node{b}); len(found["b"]) != 1 || errs["b"] != nil {
		t.Errorf("b after the deletion of a: %v, %v", found, errs)
	}
	if len(f.chosen) != 1 {
		t.Errorf("%d nodes are kept in memory", len(f.chosen))
	}
}

// A podCIDR that the instance of its Node does not have is in nobody's way, and the cloud does not route it.
func TestPodCIDRThatIsNotOfTheInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, podcidr.Config{})
		c.context.CIDRAllocatorType = CloudAllocator
		source := &toySource{broken: map[string]error{"toy://silent": errors.New("no answer")}}
		c.create("old", "toy://old", "10.0.0.0/24")
		source.assign("toy://old", "10.0.9.0/24")
		c.create("gone", "toy://gone", "10.0.1.0/24")
		c.create("silent", "toy://silent", "10.0.2.0/24")
		c.create("elsewhere", "other://a", "10.0.3.0/24")
		c.create("greedy", "other://b", "0.0.0.0/0")
		c.create("greedy too", "other://c", "10.0.0.0/16")
		want := map[string]string{"0": "10.0.0.0/24", "1": "10.0.1.0/24", "2": "", "3": "", "4": "10.0.4.0/24"}
		for name := range want {
			c.create(name, "toy://"+name)
			source.assign("toy://"+name, "10.0."+name+".0/24")
		}
		c.run(source, settle)
		for name, podCIDR := range want {
			if got := c.get(name).Spec.PodCIDR; got != podCIDR {
				t.Errorf("node %s has %q, want %q", name, got, podCIDR)
			}
		}
		for _, name := range []string{"old", "gone", "silent"} {
			if got := c.get(name).Status.Conditions; len(got) > 0 {
				t.Errorf("conditions of %s: %v", name, got)
			}
		}
		reported, covered := false, false
		for len(c.events.Events) > 0 {
			event := <-c.events.Events
			covered = covered || strings.Contains(event, "its podCIDR 10.0.0.0/16 does not count: it contains 10.0.")
			reported = reported || strings.Contains(event, "its podCIDRs are 10.0.0.0/24, and those of the instance of toy://old are "+
				"10.0.9.0/24; delete the node")
		}
		if !reported || !covered {
			t.Errorf("Events of the Nodes with the podCIDRs: %t, %t", reported, covered)
		}
	})
}

// A range that was chosen for a Node and is no longer that of its instance is free for another one.
func TestChosenRangeOfAnotherInstanceIsFree(t *testing.T) {
	c := newCluster(t, podcidr.Config{})
	nodes := c.factory.Core().V1().Nodes().Informer().GetIndexer()
	var list []*v1.Node
	for _, name := range []string{"a", "b"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.NodeSpec{ProviderID: "toy://" + name}}
		if err := nodes.Add(n); err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	source := &toySource{}
	f := &fromCloud{ControllerContext: c.context, chosen: map[types.UID][]netip.Prefix{}, source: source}
	source.assign("toy://a", "10.0.0.0/24")
	if found, errs := f.find(t.Context(), list[:1]); len(found["a"]) != 1 || errs["a"] != nil {
		t.Fatalf("a: %v, %v", found, errs)
	}
	source.assign("toy://a")
	source.assign("toy://b", "10.0.0.0/24")
	if found, errs := f.find(t.Context(), list); len(found["b"]) != 1 || errs["b"] != nil || errs["a"] == nil {
		t.Errorf("%v, %v", found, errs)
	}
}
