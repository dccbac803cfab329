package assign

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// world is a cloud that has some instances, by the names of their Nodes.
type world struct {
	name string

	mu        sync.Mutex
	instances []string
	err       error
	// hang never answers, delay is the time until an answer.
	hang  bool
	delay time.Duration
	// asked counts the questions, and shared those that initialization shares.
	asked, shared int
}

func (w *world) set(change func(*world)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

func (w *world) cloud() NodeCloud {
	return NodeCloud{
		Name: w.name,
		Owns: func(n *v1.Node) provider.Ownership {
			switch {
			case n.Labels[provider.ManagedLabel] == "false":
				return provider.Foreign
			case n.Spec.ProviderID == "":
				return provider.Unknown
			case strings.HasPrefix(n.Spec.ProviderID, w.name+"://"), strings.HasPrefix(n.Spec.ProviderID, "both://"):
				return provider.Mine
			}
			return provider.Foreign
		},
		Finder: w,
	}
}

// HasInstance implements provider.InstanceFinder.
func (w *world) HasInstance(ctx context.Context, n *v1.Node) (bool, error) {
	w.mu.Lock()
	w.asked++
	has, err, hang, delay := slices.Contains(w.instances, n.Name), w.err, w.hang, w.delay
	w.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if hang {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return has && err == nil, err
}

// HasJoiningInstance implements provider.InstanceFinder.
func (w *world) HasJoiningInstance(ctx context.Context, n *v1.Node) (bool, error) {
	w.set(func(w *world) { w.shared++ })
	return w.HasInstance(ctx, n)
}

// MissingPeers implements provider.InstanceFinder.
func (*world) MissingPeers(context.Context, time.Time) ([]string, error) { return nil, nil }

// nodeTest is an assignment over a fake API server.
type nodeTest struct {
	*Nodes
	t      *testing.T
	client *fake.Clientset
	events *record.FakeRecorder
}

func newNodeTest(t *testing.T, worlds []*world, nodes ...*v1.Node) *nodeTest {
	t.Helper()
	client := fake.NewClientset()
	for _, n := range nodes {
		if err := client.Tracker().Add(n); err != nil {
			t.Fatal(err)
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	var clouds []NodeCloud
	for _, w := range worlds {
		clouds = append(clouds, w.cloud())
	}
	n := &nodeTest{
		Nodes: NewNodes(factory.Core().V1().Nodes(), nil, clouds...), t: t, client: client, events: record.NewFakeRecorder(100),
	}
	n.SetRecorder(n.events)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	go func() { _ = n.Run(t.Context()) }()
	return n
}

func (n *nodeTest) update(node *v1.Node) {
	n.t.Helper()
	if _, err := n.client.CoreV1().Nodes().Update(n.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		n.t.Fatal(err)
	}
	synctest.Wait()
}

func names(t *testing.T, informer coreinformers.NodeInformer) []string {
	t.Helper()
	list, err := informer.Lister().List(labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, n := range list {
		all = append(all, n.Name)
	}
	slices.Sort(all)
	return all
}

func (n *nodeTest) said() (list []string) {
	for {
		select {
		case e := <-n.events.Events:
			list = append(list, strings.Join(strings.Fields(e)[:2], " "))
		default:
			slices.Sort(list)
			return list
		}
	}
}

func node(name, providerID string, edits ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.NodeSpec{ProviderID: providerID}}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

func labeled(key, value string) func(*v1.Node) {
	return func(n *v1.Node) { metav1.SetMetaDataLabel(&n.ObjectMeta, key, value) }
}

func annotated(key, value string) func(*v1.Node) {
	return func(n *v1.Node) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value) }
}

// nodeCase is a Node, what two clouds have and say, and the result.
type nodeCase struct {
	node         *v1.Node
	a, b         world
	owner        string
	unidentified bool
	events       []string
	asked        [2]bool
}

func TestNodesBelongToTheCloudThatProvesThem(t *testing.T) {
	const hint = provider.ProviderLabel
	broken := errors.New("no answer")
	for name, tc := range map[string]*nodeCase{
		"its provider ID":                        {node: node("n", "a://1"), owner: "a"},
		"its provider ID, whatever a label says": {node: node("n", "a://1", labeled(hint, "b")), owner: "a"},
		"of another cloud":                       {node: node("n", "c://1"), events: []string{"Normal NodeNotOurs"}},
		"a provider ID of both":                  {node: node("n", "both://1"), events: []string{"Warning NodeOwnerConflict"}},
		"opted out": {node: node("n", "", labeled(provider.ManagedLabel, "false")), a: world{instances: []string{"n"}},
			events: []string{"Normal NodeNotOurs"}},
		"the only one that has it": {node: node("n", ""), b: world{instances: []string{"n"}}, owner: "b", unidentified: true,
			asked: [2]bool{true, true}},
		"both have it": {node: node("n", ""), a: world{instances: []string{"n"}}, b: world{instances: []string{"n"}},
			unidentified: true, events: []string{"Warning NodeOwnerConflict"}, asked: [2]bool{true, true}},
		"none has it": {node: node("n", ""), unidentified: true, asked: [2]bool{true, true}},
		"one has it and the other does not answer": {node: node("n", ""), a: world{instances: []string{"n"}}, b: world{err: broken},
			unidentified: true, asked: [2]bool{true, true}},
		"one has it and the other hangs": {node: node("n", ""), a: world{instances: []string{"n"}}, b: world{hang: true},
			unidentified: true, asked: [2]bool{true, true}},
		"a label selects whom to ask": {node: node("n", "", labeled(hint, "a")), a: world{instances: []string{"n"}},
			b: world{err: broken}, owner: "a", unidentified: true, asked: [2]bool{true, false}},
		"an annotation selects whom to ask": {node: node("n", "", annotated(provider.PlatformAnnotation, "b")),
			a: world{hang: true}, b: world{instances: []string{"n"}}, owner: "b", unidentified: true, asked: [2]bool{false, true}},
		"a label alone is no proof": {node: node("n", "", labeled(hint, "a")), b: world{instances: []string{"n"}},
			unidentified: true, asked: [2]bool{true, false}},
		"a label of another cloud": {node: node("n", "", labeled(hint, "c")), a: world{instances: []string{"n"}},
			events: []string{"Normal NodeNotOurs"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := &tc.a, &tc.b
				a.name, b.name = "a", "b"
				n := newNodeTest(t, []*world{a, b}, tc.node)
				synctest.Wait()
				if got := n.Owner(tc.node); got != tc.owner {
					t.Errorf("owner %q, want %q", got, tc.owner)
				}
				for _, w := range []*world{a, b} {
					if in := slices.Contains(names(t, n.Of(w.name)), "n"); in != (tc.owner == w.name) {
						t.Errorf("in the view of %s: %t", w.name, in)
					}
					identified := tc.owner == w.name && tc.node.Spec.ProviderID != ""
					if in := slices.Contains(names(t, n.IdentifiedOf(w.name)), "n"); in != identified {
						t.Errorf("in the view of identified Nodes of %s: %t", w.name, in)
					}
				}
				if in := len(names(t, n.Unidentified())) > 0; in != tc.unidentified {
					t.Errorf("unidentified: %t", in)
				}
				if diff := cmp.Diff(tc.events, n.said()); diff != "" {
					t.Errorf("Events (-want +got):\n%s", diff)
				}
				if got := [2]bool{a.count() > 0, b.count() > 0}; got != tc.asked {
					t.Errorf("asked %v, want %v", got, tc.asked)
				}
				// A Node that several clouds may have needs an answer of its own from each.
				shared, hinted := a.shared+b.shared > 0, tc.asked[0] != tc.asked[1]
				if shared != hinted {
					t.Errorf("reads shared with initialization: %t, want %t", shared, hinted)
				}
			})
		})
	}
}

// A decision reaches the handlers of the view, which the framework does not ask again.
func TestNodeIsAddedOnceItsCloudIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &world{name: "a"}, &world{name: "b", err: errors.New("starting")}
		n := newNodeTest(t, []*world{a, b}, node("n", ""))
		added := watch(t, n.Of("a"))
		time.Sleep(time.Minute)
		a.set(func(w *world) { w.instances = []string{"n"} })
		time.Sleep(10 * time.Minute)
		if got := added(); got != 0 {
			t.Errorf("%d additions while a cloud does not answer", got)
		}
		b.set(func(w *world) { w.err = nil })
		n.Retry()
		synctest.Wait()
		if got := added(); got != 1 {
			t.Errorf("%d additions, want 1", got)
		}
		// The provider ID is written: the Node stays where it is.
		n.update(node("n", "a://1"))
		if got := added(); got != 1 || n.Owner(node("n", "a://1")) != "a" {
			t.Errorf("%d additions, want 1", got)
		}
		asked := a.count() + b.count()
		for range 5 {
			n.update(node("n", "a://1", annotated("heartbeat", time.Now().String())))
			time.Sleep(time.Hour)
		}
		if got := a.count() + b.count(); got != asked {
			t.Errorf("%d further questions about a Node that is known", got-asked)
		}
	})
}

// watch counts the additions of a view.
func watch(t *testing.T, informer coreinformers.NodeInformer) func() int {
	t.Helper()
	var mu sync.Mutex
	count := 0
	_, err := informer.Informer().AddEventHandler(handlerFuncs(func() {
		mu.Lock()
		defer mu.Unlock()
		count++
	}))
	if err != nil {
		t.Fatal(err)
	}
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

// A kubelet that changes the label of its Node before it has a provider ID changes nothing for other Nodes, and gets no
// other cloud than the one that has its machine.
func TestKubeletCannotMoveItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &world{name: "a", instances: []string{"n", "other"}}, &world{name: "b"}
		n := newNodeTest(t, []*world{a, b}, node("n", ""), node("other", "a://2"))
		synctest.Wait()
		lying := node("n", "", labeled(provider.ProviderLabel, "b"))
		n.update(lying)
		time.Sleep(time.Hour)
		if got := n.Owner(lying); got != "" {
			t.Errorf("owner %q", got)
		}
		if diff := cmp.Diff([]string{"other"}, names(t, n.Of("a"))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		n.update(node("n", ""))
		time.Sleep(2 * hintDelay)
		if got := n.Owner(node("n", "")); got != "a" {
			t.Errorf("without the label: owner %q", got)
		}
	})
}

// existsCase is what two clouds have and say, and the result.
type existsCase struct {
	a, b          world
	exists, fails bool
}

// Only all clouds together can say that a machine does not exist.
func TestUnidentifiedNodeExistsUnlessAllCloudsSayNo(t *testing.T) {
	for name, tc := range map[string]*existsCase{
		"all say no":                      {},
		"one has it":                      {b: world{instances: []string{"n"}}, exists: true},
		"one does not answer":             {a: world{err: errors.New("503")}, fails: true},
		"one hangs":                       {b: world{hang: true}, fails: true},
		"one has it, one does not answer": {a: world{instances: []string{"n"}}, b: world{err: errors.New("401")}, exists: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.a.name, tc.b.name = "a", "b"
				n := newNodeTest(t, []*world{&tc.a, &tc.b})
				// The hint of a kubelet does not excuse a cloud.
				exists, err := n.HasInstance(t.Context(), node("n", "", labeled(provider.ProviderLabel, "a")))
				if exists != tc.exists || (err != nil) != tc.fails {
					t.Errorf("exists %t, error %v", exists, err)
				}
			})
		})
	}
}

// Nodes of a cloud that hangs do not delay those of another one.
func TestHangingCloudDelaysOnlyItsOwnNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sick, well := &world{name: "sick", hang: true}, &world{name: "well"}
		var nodes []*v1.Node
		for i := range 300 {
			nodes = append(nodes, node("sick-"+time.Duration(i).String(), "", labeled(provider.ProviderLabel, "sick")))
			name := "well-" + time.Duration(i).String()
			well.instances = append(well.instances, name)
			nodes = append(nodes, node(name, "", labeled(provider.ProviderLabel, "well")))
		}
		start := time.Now()
		n := newNodeTest(t, []*world{sick, well}, nodes...)
		synctest.Wait()
		if got := len(names(t, n.Of("well"))); got != 300 || time.Since(start) > 0 {
			t.Errorf("%d Nodes are known after %s", got, time.Since(start))
		}
	})
}

// A Node without an instance does not cause the reads of joining Nodes, which are lists, again and again, whatever its
// hints.
func TestOnlyTheFirstReadIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &world{name: "a"}, &world{name: "b"}
		n := newNodeTest(t, []*world{a, b}, node("n", "", labeled(provider.ProviderLabel, "a")))
		for _, hint := range []string{"b", "a", "b"} {
			time.Sleep(time.Hour)
			n.update(node("n", "", labeled(provider.ProviderLabel, hint)))
		}
		if a.shared != 1 || b.shared != 0 || a.count() < 10 || b.count() < 10 {
			t.Errorf("a: %d of %d reads are shared, b: %d of %d", a.shared, a.count(), b.shared, b.count())
		}
	})
}

// A kubelet that changes the labels of its Node all the time causes a read after a while, not one for each change, and
// the reads of joining Nodes once.
func TestChangesOfLabelsAreCollected(t *testing.T) {
	hint := labeled(provider.ProviderLabel, "a")
	for name, labels := range map[string][]func(*v1.Node){
		"hint":    {hint, labeled(provider.ProviderLabel, "b")},
		"opt-out": {hint, labeled(provider.ManagedLabel, "false")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := &world{name: "a"}, &world{name: "b"}
				n := newNodeTest(t, []*world{a, b}, node("n", "", hint))
				time.Sleep(time.Hour)
				before := a.count() + b.count()
				for i := range 1001 {
					n.update(node("n", "", hint, labels[i%2]))
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(time.Minute)
				if reads := a.count() + b.count() - before; reads == 0 || reads > 10 {
					t.Errorf("%d reads, want 1 to 10", reads)
				}
				if shared := a.shared + b.shared; shared != 1 {
					t.Errorf("%d shared reads", shared)
				}
			})
		})
	}
}

// Nothing is kept about a Node that was deleted while its cloud was read.
func TestDeletedNodeIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &world{name: "a", instances: []string{"n"}, delay: time.Minute}
		n := newNodeTest(t, []*world{a}, node("n", "", labeled(provider.ProviderLabel, "a")))
		time.Sleep(time.Second)
		if err := n.client.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(n.found) > 0 {
			t.Errorf("kept: %v", n.found)
		}
	})
}

// The only cloud that a Node may belong to has the time for a list of thousands of machines.
func TestSlowListOfTheOnlyCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &world{name: "a", instances: []string{"n"}, delay: 2 * time.Minute}
		labeledNode := node("n", "", labeled(provider.ProviderLabel, "a"))
		n := newNodeTest(t, []*world{a, {name: "b", hang: true}}, labeledNode)
		time.Sleep(3 * time.Minute)
		if got := n.Owner(labeledNode); got != "a" {
			t.Errorf("owner %q", got)
		}
	})
}
