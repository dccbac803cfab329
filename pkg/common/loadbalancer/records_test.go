package loadbalancer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// keeping is a toy cloud that stores records.
type keeping struct {
	*toy
	records map[string]string
	// writes are the names of the load balancers whose records were written, one item for each call.
	writes []string
	fail   error
	// discovered is a value that follows from no field of the Service: of the listener discoveredAt, or of all.
	discovered, discoveredAt string
	// withoutMembers leaves the members out of records.
	withoutMembers bool
	// declare sets Disrupts and Follows of changes; may be nil.
	declare func(*plan.Change)
}

var _ RecordKeeper[kept, kept] = (*keeping)(nil)

// kept are the objects of a load balancer with its record: desired or stored.
type kept struct {
	objects objects
	record  AppliedRecord
}

func (c *keeping) Desired(key Key, in intent.Service, nodes []*v1.Node, shared string) (kept, error) {
	want, err := c.toy.Desired(key, in, nodes, shared)
	for r := range want {
		if r.Kind == "listener" && c.discovered != "" && (c.discoveredAt == "" || c.discoveredAt == r.Name) {
			want[r] = c.discovered
		}
	}
	state := maps.Clone(want)
	var members []string
	for r, value := range want {
		if r.Kind == "pool" {
			state[r], members = "", append(members, value)
		}
	}
	texts := map[string]string{}
	for r, value := range state {
		texts[r.Kind+r.Name] = value
	}
	return kept{want, applied.New(applied.Digest(texts), applied.DigestSet(members), in.Fields)}, err
}

func (c *keeping) Observe(ctx context.Context, request Request[kept]) (kept, error) {
	have, err := c.toy.Observe(ctx, Request[objects]{Key: request.Key, Freshness: request.Freshness})
	return kept{have, applied.Parse(c.records[c.Name(request.Key)])}, err
}

func (c *keeping) Diff(key Key, want *kept, have kept) (plan.Plan, error) {
	if want == nil {
		return c.toy.Diff(key, nil, have.objects)
	}
	p, err := c.toy.Diff(key, &want.objects, have.objects)
	for i, change := range p.Changes {
		if c.declare != nil {
			c.declare(&p.Changes[i])
		}
		if change.Kind == KindLoadBalancer && change.Action == plan.Create {
			p.Changes[i].Do = func(ctx context.Context, ids *plan.Handles) error {
				c.records[c.Name(key)] = want.record.Encode()
				return change.Do(ctx, ids)
			}
		}
	}
	return p, err
}

func (c *keeping) DiffMembers(
	key Key, in intent.Service, nodes []*v1.Node, shared string, have kept,
) (plan.Plan, error) {
	return c.toy.DiffMembers(key, in, nodes, shared, have.objects)
}

func (c *keeping) Status(in intent.Service, have kept) Status { return c.toy.Status(in, have.objects) }

func (c *keeping) DesiredRecord(want kept) AppliedRecord {
	if c.withoutMembers {
		want.record.Members = ""
	}
	return want.record
}

func (c *keeping) StoredRecord(_ Key, have kept) (AppliedRecord, bool) {
	for r := range have.objects {
		if r.Kind == KindLoadBalancer {
			return have.record, true
		}
	}
	return AppliedRecord{}, false
}

func (c *keeping) StoreRecords(updates []RecordUpdate[kept]) []plan.Change {
	var names []string
	for _, u := range updates {
		names = append(names, c.Name(u.Key))
	}
	return []plan.Change{{
		Ref: plan.Ref{Kind: KindRecord, Name: strings.Join(names, ", "), Action: plan.Update},
		Do: func(context.Context, *plan.Handles) error {
			c.writes = append(c.writes, strings.Join(names, ", "))
			for _, u := range updates {
				c.records[c.Name(u.Key)] = u.Record.Encode()
			}
			return c.fail
		},
	}}
}

type keepingFixture struct {
	*Controller
	cloud  *keeping
	events *record.FakeRecorder
}

func newKeeping(deferred bool, edits ...func(*Options)) *keepingFixture {
	cloud := &keeping{toy: &toy{have: objects{}}, records: map[string]string{}}
	o := Options{Provider: "toy", Vocabulary: intent.Vocabulary{Portable: intent.Keys()}, DeferRecords: deferred}
	for _, edit := range edits {
		edit(&o)
	}
	f := &keepingFixture{Controller: New(o, cloud), cloud: cloud, events: record.NewFakeRecorder(100)}
	f.SetRuntime(provider.Runtime{Recorder: f.events})
	return f
}

func (f *keepingFixture) ensure(t *testing.T, svc *v1.Service, nodes ...*v1.Node) {
	t.Helper()
	if _, err := f.EnsureLoadBalancer(t.Context(), "prod", svc, nodes); err != nil {
		t.Fatalf("EnsureLoadBalancer: %v", err)
	}
}

// stored asserts that the stored record is that of the Service and the nodes.
func (f *keepingFixture) stored(t *testing.T, svc *v1.Service, nodes ...*v1.Node) {
	t.Helper()
	in, _, _ := intent.Read(svc, f.options.Vocabulary)
	want, _ := f.cloud.Desired(f.key("prod", svc), in, nodes, "")
	if got := applied.Parse(f.cloud.records["lb-"+svc.Name]); !got.Proves(want.record) || got.IsOutdated(want.record) {
		t.Errorf("the stored record is %+v, want %+v", got, want.record)
	}
}

func named(name string) func(*v1.Service) { return func(svc *v1.Service) { svc.Name = name } }

func ranges(cidr string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{cidr} }
}

func TestRecordIsPartOfCreationAndFollowsChanges(t *testing.T) {
	for _, deferred := range []bool{false, true} {
		f := newKeeping(deferred)
		f.ensure(t, web(), node("a"))
		f.stored(t, web(), node("a"))
		if len(f.cloud.writes) > 0 {
			t.Errorf("a creation writes records %v", f.cloud.writes)
		}
		changed := web(ranges("10.0.0.0/8"))
		p, err := f.PlanLoadBalancer(t.Context(), "prod", changed, []*v1.Node{node("a")}, PlanOptions{})
		if last := p.Changes[len(p.Changes)-1]; err != nil || last.Kind != KindRecord || len(last.After) != len(p.Changes)-1 {
			t.Errorf("the plan ends with %+v, %v", last, err)
		}
		f.ensure(t, changed, node("a"))
		f.stored(t, changed, node("a"))
		f.ensure(t, changed, node("a"))
		if diff := cmp.Diff([]string{"lb-web"}, f.cloud.writes); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		for range len(f.events.Events) {
			if event := <-f.events.Events; strings.Contains(event, KindRecord) {
				t.Errorf("event %q", event)
			}
		}
	}
}

func TestRecordOfMembersIsWrittenWithThemOrDeferred(t *testing.T) {
	nodes := []*v1.Node{node("a"), node("b")}
	direct := newKeeping(false)
	direct.ensure(t, web(), nodes[0])
	if err := direct.UpdateLoadBalancer(t.Context(), "prod", web(), nodes); err != nil {
		t.Fatal(err)
	}
	direct.stored(t, web(), nodes...)

	f := newKeeping(true)
	services := []*v1.Service{web(), web(named("api"))}
	for _, svc := range services {
		f.ensure(t, svc, nodes[0])
	}
	for _, svc := range services {
		if err := f.UpdateLoadBalancer(t.Context(), "prod", svc, nodes); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.cloud.writes) > 0 {
		t.Errorf("records are written with the members: %v", f.cloud.writes)
	}
	for range 2 {
		if err := f.WriteRecords(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, svc := range services {
		f.stored(t, svc, nodes...)
	}
	if diff := cmp.Diff([]string{"lb-api, lb-web"}, f.cloud.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestTakingOverWritesNoRecord(t *testing.T) {
	for _, deferred := range []bool{false, true} {
		f := newKeeping(deferred)
		f.ensure(t, web(), node("a"))
		clear(f.cloud.records)
		f.ensure(t, web(), node("a"))
		p, err := f.PlanLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a")}, PlanOptions{})
		if err != nil || !p.Empty() {
			t.Errorf("plan %s, %v", plan.Summary(p), err)
		}
		if err := f.WriteRecords(t.Context()); err != nil || len(f.cloud.writes) > 0 {
			t.Errorf("writes %v, %v", f.cloud.writes, err)
		}
		f.ensure(t, web(ranges("10.0.0.0/8")), node("a"))
		f.stored(t, web(ranges("10.0.0.0/8")), node("a"))
	}
}

func TestTakingOverWritesNoRecordForMembersThatItLeavesOut(t *testing.T) {
	f := newKeeping(false)
	f.cloud.withoutMembers = true
	f.ensure(t, web(), node("a"))
	clear(f.cloud.records)
	if err := f.UpdateLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a"), node("b")}); err != nil {
		t.Fatal(err)
	}
	f.ensure(t, web(), node("a"))
	if len(f.cloud.writes) > 0 {
		t.Errorf("writes %v", f.cloud.writes)
	}
	f.ensure(t, web(ranges("10.0.0.0/8")), node("a"))
	if len(f.cloud.writes) != 1 {
		t.Errorf("writes %v, want one with the first change of more than members", f.cloud.writes)
	}
}

func TestDeferredRecordsAreRetriedAndForgotten(t *testing.T) {
	f := newKeeping(true)
	f.ensure(t, web(), node("a"))
	update := func(name string) {
		if err := f.UpdateLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node(name)}); err != nil {
			t.Fatal(err)
		}
	}
	update("b")
	f.cloud.fail = errors.New("no answer")
	if err := f.WriteRecords(t.Context()); !errors.Is(err, f.cloud.fail) {
		t.Errorf("error %v", err)
	}
	f.cloud.fail = nil
	unlock, _ := f.locks.TryLock("default/web")
	if err := f.WriteRecords(t.Context()); err != nil || len(f.cloud.writes) != 1 {
		t.Errorf("a Service that is being synced is not skipped: %v, %v", f.cloud.writes, err)
	}
	unlock()
	if err := f.WriteRecords(t.Context()); err != nil || len(f.cloud.writes) != 2 {
		t.Errorf("a failed write is not retried: %v, %v", f.cloud.writes, err)
	}
	update("c")
	f.SetRuntime(provider.Runtime{DryRun: true})
	if err := f.WriteRecords(t.Context()); err != nil || len(f.cloud.writes) != 2 {
		t.Errorf("a dry run writes %v, %v", f.cloud.writes, err)
	}
	f.SetRuntime(provider.Runtime{})
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", web()); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteRecords(t.Context()); err != nil || len(f.cloud.writes) != 2 {
		t.Errorf("a deleted Service has its record written: %v, %v", f.cloud.writes, err)
	}
}

// locked calls read while no record is written.
func (f *keepingFixture) locked(t *testing.T, read func()) {
	t.Helper()
	unlock, err := f.locks.Lock(t.Context(), lockName(f.key("prod", web())))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	read()
}

func TestRunWritesRecordsWhenABurstEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newKeeping(true)
		ctx, cancel := context.WithCancel(t.Context())
		go f.Run(ctx)
		f.ensure(t, web(), node("0"))
		for i := range 35 { // one change every 19 seconds
			if err := f.UpdateLoadBalancer(ctx, "prod", web(), []*v1.Node{node(string(rune('a' + i)))}); err != nil {
				t.Error(err)
			}
			time.Sleep(19 * time.Second)
		}
		f.locked(t, func() {
			if n := len(f.cloud.writes); n != 2 { // 11 minutes are two periods
				t.Errorf("%d writes during the burst", n)
			}
		})
		time.Sleep(2 * RecordCalm)
		f.locked(t, func() { f.stored(t, web(), node(string(rune('a'+34)))) })
		cancel()
		synctest.Wait()
		if slices.Contains(f.cloud.writes, "") || len(f.cloud.writes) != 3 {
			t.Errorf("writes %v", f.cloud.writes)
		}
	})
}

// A plan shows the update of the record that a sync defers.
func TestPlanShowsDeferredRecords(t *testing.T) {
	f := newKeeping(true)
	f.ensure(t, web(), node("a"))
	p := f.planned(t, web(), node("a"), node("b"))
	if last := p.Changes[len(p.Changes)-1]; last.Kind != KindRecord || !last.Membership {
		t.Errorf("the last change is %+v", last)
	}
	if p := f.planned(t, web(), node("a")); !p.Empty() {
		t.Errorf("plan of a converged Service: %s", plan.Summary(p))
	}
}
