package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// objects are what a toy cloud holds: kind and name, and one value.
type objects map[plan.Ref]string

func ref(kind, name string) plan.Ref { return plan.Ref{Kind: kind, Name: name} }

// kinds in the order in which they must be created.
var kinds = []string{"address", "load balancer", "pool", "listener"}

// toy is the smallest cloud that can go wrong in every way that matters here. A pool's value is
// its members, a listener's its source ranges.
type toy struct {
	mu   sync.Mutex
	have objects
	// snapshot is what Observe(Cached) answers; nil means that it is up to date.
	snapshot objects
	// mutations, cached and fresh log the calls.
	mutations     []string
	cached, fresh int
	// fault is called before and after each mutation, with its number from 1.
	fault func(number int, done bool) error
	// observing and doing hook into the calls; they may be nil.
	observing func(Key)
	doing     func(ctx context.Context, ref plan.Ref) error
	ready     func(ctx context.Context) error
	// sticky drops updates without an error.
	sticky bool
	// foreign makes Diff refuse what it would change.
	foreign bool
	// refused is the error with which Diff refuses every change.
	refused error
	// noAddress hides the address from the status.
	noAddress bool
	// failure is what the cloud says of a load balancer that failed.
	failure  string
	warnings []string
	reasons  map[string]events.Reason
}

var _ Cloud[string, objects, objects] = (*toy)(nil)

func (c *toy) Name(key Key) string { return "lb-" + key.Name }

func (c *toy) SharedState(context.Context, []*v1.Node) (string, error) { return "net", nil }

func (c *toy) Reference(*v1.Service) Reference { return Reference{} }

func (c *toy) Validate(intent.Service) error { return nil }

func (c *toy) Desired(key Key, in intent.Service, nodes []*v1.Node, _ string) (objects, error) {
	name := c.Name(key)
	var ranges []string
	for _, r := range in.SourceRanges {
		ranges = append(ranges, r.String())
	}
	want := objects{ref("address", name): "", ref("load balancer", name): string(in.Scheme)}
	for _, p := range in.Ports {
		id := fmt.Sprintf("%s/%d-%s", name, p.Port, p.Protocol)
		want[ref("pool", id)] = membersOf(nodes)
		want[ref("listener", id)] = strings.Join(ranges, ",")
	}
	return want, nil
}

func (c *toy) Observe(_ context.Context, request Request[objects]) (objects, error) {
	key := request.Key
	if c.observing != nil {
		c.observing(key)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	source := c.have
	if request.Freshness == Cached {
		c.cached++
		if c.snapshot != nil {
			source = c.snapshot
		}
	} else {
		c.fresh++
	}
	mine := objects{}
	for r, value := range source {
		if owner, _, _ := strings.Cut(r.Name, "/"); owner == c.Name(key) {
			mine[r] = value
		}
	}
	return mine, nil
}

func (c *toy) Diff(key Key, want *objects, have objects) (plan.Plan, error) {
	p := plan.Plan{Warnings: c.warnings, Reasons: c.reasons}
	var target objects
	if want != nil {
		target = *want
	}
	if c.refused != nil && want != nil {
		return plan.Plan{}, c.refused
	}
	if c.foreign && len(have) > 0 {
		if want == nil {
			return plan.Plan{}, nil
		}
		return plan.Plan{}, errors.New("load balancer belongs to another cluster")
	}
	for _, r := range inOrder(target) {
		old, exists := have[r]
		switch {
		case !exists:
			p.Changes = append(p.Changes, c.change(r, plan.Create, "", target[r], c.needs(r, target, have)))
		case old != target[r]:
			p.Changes = append(p.Changes, c.change(r, plan.Update, old, target[r], c.needs(r, target, have)))
		}
	}
	var previous []plan.Ref
	for _, r := range slices.Backward(inOrder(have)) {
		if _, wanted := target[r]; !wanted {
			change := c.change(r, plan.Delete, have[r], "", previous)
			p.Changes = append(p.Changes, change)
			previous = []plan.Ref{change.Ref}
		}
	}
	return p, nil
}

// inOrder sorts by kind, then by name.
func inOrder(o objects) []plan.Ref {
	return slices.SortedFunc(maps.Keys(o), func(a, b plan.Ref) int {
		if k := slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind); k != 0 {
			return k
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// needs are the creations of earlier kinds that belong to the same listener or load balancer.
func (c *toy) needs(r plan.Ref, want, have objects) []plan.Ref {
	var needs []plan.Ref
	for _, other := range inOrder(want) {
		_, exists := have[other]
		earlier := slices.Index(kinds, other.Kind) < slices.Index(kinds, r.Kind)
		if earlier && !exists && strings.HasPrefix(r.Name, other.Name) {
			other.Action = plan.Create
			needs = append(needs, other)
		}
	}
	return needs
}

func (c *toy) change(r plan.Ref, action plan.Action, before, after string, needs []plan.Ref) plan.Change {
	named := r
	named.Action = action
	change := plan.Change{
		Ref: named, After: needs,
		Membership: r.Kind == "pool" && action == plan.Update,
		Fields:     []plan.Field{{Name: "value", Before: before, After: after}},
		Do:         func(ctx context.Context, _ *plan.Handles) error { return c.mutate(ctx, r, action, after) },
	}
	if r.Kind == "load balancer" && action == plan.Create && c.ready != nil {
		change.Ready = func(ctx context.Context, _ *plan.Handles) error { return c.ready(ctx) }
	}
	return change
}

func (c *toy) mutate(ctx context.Context, r plan.Ref, action plan.Action, value string) error {
	if c.doing != nil {
		if err := c.doing(ctx, r); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mutations = append(c.mutations, string(action)+" "+r.Kind+" "+r.Name)
	number := len(c.mutations)
	if c.fault != nil {
		if err := c.fault(number, false); err != nil {
			return err
		}
	}
	_, exists := c.have[r]
	switch {
	case action == plan.Create && exists:
		return &cloudapi.Error{Class: cloudapi.AlreadyExists, Operation: "Create", Err: fmt.Errorf("%v exists", r)}
	case action == plan.Delete:
		delete(c.have, r)
	case action == plan.Create || !c.sticky:
		c.have[r] = value
	}
	if c.fault != nil {
		return c.fault(number, true)
	}
	return nil
}

func (c *toy) Status(_ intent.Service, have objects) Status {
	for r := range have {
		if r.Kind == "load balancer" {
			status := &v1.LoadBalancerStatus{}
			if !c.noAddress {
				status.Ingress = []v1.LoadBalancerIngress{{IP: "198.51.100.7"}}
			}
			return Status{LoadBalancer: status, Failure: c.failure}
		}
	}
	return Status{}
}

// fixture is a controller on a toy cloud.
type fixture struct {
	*Controller
	cloud  *toy
	events *record.FakeRecorder
}

func newFixture(t *testing.T, edits ...func(*Options)) *fixture {
	t.Helper()
	options := Options{Provider: "toy", Vocabulary: intent.Vocabulary{Portable: intent.Keys()}}
	for _, edit := range edits {
		edit(&options)
	}
	cloud := &toy{have: objects{}}
	f := &fixture{Controller: New(options, cloud), cloud: cloud, events: record.NewFakeRecorder(100)}
	f.SetRuntime(provider.Runtime{Recorder: f.events, ClusterUID: "uid"})
	return f
}

// eventsNow returns the Events since the last call.
func (f *fixture) eventsNow() []string {
	var got []string
	for {
		select {
		case e := <-f.events.Events:
			got = append(got, e)
		default:
			return got
		}
	}
}

func (f *fixture) mustEnsure(t *testing.T, svc *v1.Service, nodes ...*v1.Node) *v1.LoadBalancerStatus {
	t.Helper()
	status, err := f.EnsureLoadBalancer(t.Context(), "prod", svc, nodes)
	if err != nil {
		t.Fatalf("EnsureLoadBalancer: %v", err)
	}
	return status
}

// converged asserts that the cloud matches the Service exactly.
func (f *fixture) converged(t *testing.T, svc *v1.Service, nodes ...*v1.Node) {
	t.Helper()
	p, err := f.PlanLoadBalancer(t.Context(), "prod", svc, nodes, PlanOptions{})
	if err != nil || !p.Empty() {
		t.Fatalf("not converged: %v, %s", err, plan.Summary(p))
	}
}

func web(edits ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: types.UID("u-1"),
			Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{
			Type:       v1.ServiceTypeLoadBalancer,
			IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			Ports: []v1.ServicePort{
				{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
				{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443},
			},
		},
	}
	for _, edit := range edits {
		edit(svc)
	}
	return svc
}

func annotated(key, value string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Annotations[key] = value }
}

func node(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: "toy://" + name}}
}

func (c *toy) DiffMembers(_ Key, _ intent.Service, nodes []*v1.Node, _ string, have objects) (plan.Plan, error) {
	var p plan.Plan
	for _, r := range inOrder(have) {
		if members := membersOf(nodes); r.Kind == "pool" && have[r] != members {
			p.Add(c.change(r, plan.Update, have[r], members, nil))
		}
	}
	return p, nil
}

func membersOf(nodes []*v1.Node) string {
	var members []string
	for _, n := range nodes {
		members = append(members, n.Name)
	}
	slices.Sort(members)
	return strings.Join(members, ",")
}

// restart makes the Controller that of another process.
func (c *Controller) restart() {
	c.states.mu.Lock()
	defer c.states.mu.Unlock()
	clear(c.states.byUID)
}
