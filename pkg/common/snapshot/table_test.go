package snapshot_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// pool is an object of the tests: its name is its ID.
type pool struct {
	name, owner string
}

// cloud is what the kinds of the tests read.
type cloud struct {
	clock *clocktesting.FakePassiveClock
	store *snapshot.Store
	pools []pool
	err   error
	lists int
	reads int
}

func newCloud(pools ...pool) *cloud {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	return &cloud{clock: clock, store: snapshot.NewStore(clock), pools: pools}
}

func (c *cloud) list(context.Context) ([]pool, error) {
	c.lists++
	return c.pools, c.err
}

func (c *cloud) read(_ context.Context, name string) (pool, error) {
	c.reads++
	for _, p := range c.pools {
		if p.name == name {
			return p, c.err
		}
	}
	return pool{}, &cloudapi.Error{Class: cloudapi.NotFound, Operation: "GetPool"}
}

func (c *cloud) table(change func(*snapshot.Kind[pool])) *snapshot.Table[pool] {
	kind := snapshot.Kind[pool]{
		ID: func(p pool) string { return p.name }, List: c.list, Read: c.read, MaxAge: time.Minute, Settle: 10 * time.Second,
		Index: func(p pool) []string { return []string{p.owner} },
	}
	if change != nil {
		change(&kind)
	}
	return snapshot.NewTable(c.store, kind)
}

func (c *cloud) pass(d time.Duration) { c.clock.SetTime(c.clock.Now().Add(d)) }

func refresh(t *testing.T, table *snapshot.Table[pool]) {
	t.Helper()
	if err := table.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func names(pools []pool) string {
	var list []string
	for _, p := range pools {
		list = append(list, p.name)
	}
	return strings.Join(list, " ")
}

func all(pool) bool { return true }

func TestRefreshListsOncePerMaxAge(t *testing.T) {
	c := newCloud(pool{"b", "x"}, pool{"a", "y"}, pool{"c", "x"})
	table := c.table(nil)
	for range 3 {
		refresh(t, table)
	}
	c.pass(59 * time.Second)
	refresh(t, table)
	if c.lists != 1 {
		t.Errorf("%d lists within the max age", c.lists)
	}
	c.pass(time.Second)
	refresh(t, table)
	if c.lists != 2 {
		t.Errorf("%d lists, want another one after the max age", c.lists)
	}
	if got := names(table.Select(all)); got != "a b c" {
		t.Errorf("selected %q", got)
	}
	if got := names(table.Lookup("x")); got != "b c" {
		t.Errorf("looked up %q", got)
	}
}

func TestRefreshSinceAndReread(t *testing.T) {
	c := newCloud()
	table := c.table(nil)
	refresh(t, table)
	listedAt := c.clock.Now()
	c.pass(time.Second)
	for _, step := range []struct {
		read func() error
		want int
	}{
		{func() error { return table.RefreshSince(t.Context(), listedAt) }, 1},
		{func() error { return table.RefreshSince(t.Context(), listedAt.Add(1)) }, 2},
		{func() error { return table.Reread(t.Context()) }, 3},
	} {
		if err := step.read(); err != nil || c.lists != step.want {
			t.Errorf("%d lists, %v; want %d", c.lists, err, step.want)
		}
	}
}

func TestInvalidateForcesList(t *testing.T) {
	c := newCloud()
	table := c.table(nil)
	refresh(t, table)
	table.Invalidate()
	if _, usable := table.Listed(); usable {
		t.Error("an invalidated list is used")
	}
	c.err = errRead
	if err := table.Refresh(t.Context()); !errors.Is(err, errRead) {
		t.Errorf("error %v", err)
	}
	c.err = nil
	refresh(t, table)
	refresh(t, table)
	if c.lists != 3 {
		t.Errorf("%d lists, want 3: a failed list does not make up for the invalidated one, the next one does", c.lists)
	}
}

func TestInvalidateDuringList(t *testing.T) {
	c := newCloud()
	var table *snapshot.Table[pool]
	table = c.table(func(k *snapshot.Kind[pool]) {
		k.List = func(context.Context) ([]pool, error) {
			if c.lists++; c.lists == 1 {
				table.Invalidate()
			}
			return nil, nil
		}
	})
	refresh(t, table)
	refresh(t, table)
	if c.lists != 2 {
		t.Errorf("%d lists, want another one: the first started before the write", c.lists)
	}
}

func TestOlderListIsIgnored(t *testing.T) {
	c := newCloud()
	table := c.table(nil)
	older := c.store.Begin()
	refresh(t, table)
	table.MergeList(older, []pool{{"a", "x"}})
	if got := table.Select(all); len(got) > 0 {
		t.Errorf("a list that started earlier and ended later shows %v", got)
	}
}

func TestCallersShareListInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(pool{"a", "x"})
		table := c.table(func(k *snapshot.Kind[pool]) {
			k.List = func(ctx context.Context) ([]pool, error) {
				time.Sleep(time.Second) // on the bubble's clock
				return c.list(ctx)
			}
		})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := table.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		synctest.Wait()
		if err := table.Refresh(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that waits does not give up with its context: %v", err)
		}
		wg.Wait()
		if c.lists != 1 {
			t.Errorf("%d lists for callers that came together", c.lists)
		}
	})
}

// Callers of Reread that come while a list is in flight share the next one.
func TestRereadSharesNextList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		table := c.table(func(k *snapshot.Kind[pool]) {
			k.List = func(ctx context.Context) ([]pool, error) {
				time.Sleep(time.Second)
				return c.list(ctx)
			}
		})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := table.Reread(t.Context()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if c.lists != 2 {
			t.Errorf("%d lists, want one for the first caller and one for all others", c.lists)
		}
	})
}

func TestEnsureReadsStaleObjects(t *testing.T) {
	c := newCloud(pool{"a", "x"})
	table := c.table(nil)
	for _, step := range []struct {
		id     string
		wait   time.Duration
		exists bool
		reads  int
	}{
		{"a", 0, true, 1},
		{"a", 59 * time.Second, true, 1},
		{"a", time.Second, true, 2},
		{"b", 0, false, 3},
		{"b", 0, false, 3},
		{"b", time.Minute, false, 4},
	} {
		c.pass(step.wait)
		_, exists, err := table.Ensure(t.Context(), step.id)
		if exists != step.exists || err != nil || c.reads != step.reads {
			t.Errorf("%+v: %t, %v, %d reads", step, exists, err, c.reads)
		}
	}
	c.err = errRead
	if _, _, err := table.Read(t.Context(), "a"); !errors.Is(err, errRead) {
		t.Errorf("error %v", err)
	}
	if _, exists := table.Get("a"); !exists {
		t.Error("a failed read removes the object")
	}
}

func TestWritesKeepAge(t *testing.T) {
	c := newCloud(pool{"a", "x"})
	table := c.table(nil)
	refresh(t, table)
	c.pass(30 * time.Second)
	table.Update("a", func(p *pool) { p.owner = "y" })
	if got := names(table.Lookup("y")) + "/" + names(table.Lookup("x")); got != "a/" {
		t.Errorf("looked up %s", got)
	}
	c.pass(30 * time.Second)
	if table.Fresh("a") {
		t.Error("an update of our own makes what was read younger")
	}
	table.Put("a", pool{"a", "z"})
	if !table.Fresh("a") {
		t.Error("the answer to a write does not count as a read")
	}
}

func TestUpdateOfUnknownObjectIgnoresOlderReads(t *testing.T) {
	c := newCloud()
	table := c.table(nil)
	older := c.store.Begin()
	table.Update("a", func(*pool) { t.Error("an unknown object is changed") })
	table.Merge(older, "a", pool{"a", "x"})
	if _, exists, known := table.GetSince("a", time.Time{}); exists || known {
		t.Errorf("a read that started before the write counts: exists %t, known %t", exists, known)
	}
}

func TestSettling(t *testing.T) {
	for _, tc := range []struct {
		name string
		wait time.Duration
		want string
	}{
		{"within the settle time", 9 * time.Second, "created"},
		{"afterwards", 10 * time.Second, "deleted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCloud(pool{"deleted", "x"})
			table := c.table(nil)
			refresh(t, table)
			table.Create("created", pool{"created", "x"})
			table.Delete("deleted")
			c.pass(tc.wait)
			if err := table.Reread(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := names(table.Select(all)); got != tc.want {
				t.Errorf("after a list that lacks the created object and has the deleted one: %q, want %q", got, tc.want)
			}
			if got, want := table.Settling("created"), tc.want == "created"; got != want {
				t.Errorf("settling is %t", got)
			}
			if _, exists, err := table.Read(t.Context(), "created"); exists != (tc.want == "created") || err != nil {
				t.Errorf("after a read that does not find it: %t, %v", exists, err)
			}
		})
	}
}

func TestMergeSelectedReplacesOnlySelected(t *testing.T) {
	c := newCloud(pool{"a", "x"}, pool{"b", "x"}, pool{"c", "y"})
	table := c.table(nil)
	refresh(t, table)
	r := c.store.Begin()
	table.Put("d", pool{"d", "x"})
	table.MergeSelected(r, []pool{{"b", "x"}, {"e", "x"}}, func(p pool) bool { return p.owner == "x" })
	if got := names(table.Select(all)); got != "b c d e" {
		t.Errorf("%q: want a removed, b read, c not selected, d written since, e new", got)
	}
}

func TestListKeepsWhatItDoesNotCover(t *testing.T) {
	c := newCloud(pool{"a", "x"}, pool{"other", "y"})
	table := c.table(func(k *snapshot.Kind[pool]) {
		k.Covers = func(p pool) bool { return p.owner == "x" }
		k.EvictAfter = time.Hour
	})
	for _, id := range []string{"a", "other"} {
		if _, exists, err := table.Read(t.Context(), id); !exists || err != nil {
			t.Fatalf("%t, %v", exists, err)
		}
	}
	c.pools = nil
	refresh(t, table)
	if got := names(table.Select(all)); got != "other" {
		t.Errorf("after an empty list: %q", got)
	}
	if _, _, known := table.GetSince("unknown", time.Time{}); known {
		t.Error("a list that is not complete says that an object does not exist")
	}
	c.pass(time.Hour)
	refresh(t, table)
	if got := names(table.Select(all)); got != "" {
		t.Errorf("%q is not evicted", got)
	}
}

func TestLaggingListMakesObjectsUnknown(t *testing.T) {
	c := newCloud(pool{name: "a"}, pool{name: "b"})
	pools := c.table(func(k *snapshot.Kind[pool]) { k.ListsLag = true })
	if err := pools.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := c.store.Begin()
	pools.MergeList(c.store.Begin(), []pool{{name: "a"}})
	if _, exists, known := pools.GetSince("b", time.Time{}); exists || known {
		t.Errorf("exists %t, known %t after a list without the object", exists, known)
	}
	pools.Merge(read, "b", pool{name: "b"})
	if _, exists, known := pools.GetSince("b", time.Time{}); !exists || !known {
		t.Errorf("exists %t, known %t after the read in flight", exists, known)
	}
}

func TestGetSince(t *testing.T) {
	type answer struct{ Exists, Known bool }
	c := newCloud(pool{"a", "x"})
	table := c.table(nil)
	get := func(id string, oldest time.Time) answer {
		_, exists, known := table.GetSince(id, oldest)
		return answer{exists, known}
	}
	start := c.clock.Now()
	before := get("a", start)
	refresh(t, table)
	c.pass(time.Second)
	if _, _, err := table.Read(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	got := []answer{
		before, get("a", start), get("a", start.Add(1)),
		get("c", start), get("c", start.Add(1)), get("b", start.Add(time.Second)),
	}
	want := []answer{{}, {true, true}, {true, false}, {false, true}, {}, {false, true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDetailsFollowTheirObject(t *testing.T) {
	c := newCloud(pool{"a", "x"}, pool{"b", "x"})
	table := c.table(nil)
	tags := snapshot.NewTable(c.store, snapshot.Kind[map[string]string]{MaxAge: time.Minute})
	table.AddDetails(tags)
	refresh(t, table)
	older := c.store.Begin()
	for _, id := range []string{"a", "b"} {
		tags.Merge(older, id, map[string]string{"of": id})
	}
	table.Delete("a")
	tags.Merge(older, "a", map[string]string{"late": "read"})
	c.pools = nil
	if err := table.Reread(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tags.All(); len(got) > 0 {
		t.Errorf("details of objects that were deleted: %v", got)
	}
	table.Create("a", pool{"a", "x"})
	tags.Create("a", map[string]string{"new": "object"})
	if got, exists := tags.Get("a"); !exists || got["new"] == "" {
		t.Errorf("details of a new object with the same ID: %v", got)
	}
}

func TestEviction(t *testing.T) {
	c := newCloud()
	tags := snapshot.NewTable(c.store, snapshot.Kind[string]{MaxAge: 10 * time.Minute})
	tags.Merge(c.store.Begin(), "old", "value")
	c.pass(15 * time.Minute)
	tags.Merge(c.store.Begin(), "young", "value")
	if _, exists := tags.Get("old"); !exists {
		t.Error("evicted within twice the max age")
	}
	c.pass(5 * time.Minute)
	tags.Merge(c.store.Begin(), "new", "value")
	if diff := cmp.Diff(map[string]string{"young": "value", "new": "value"}, tags.All()); diff != "" {
		t.Error(diff)
	}
}

func TestUncertainOwnerNeedsLaterRead(t *testing.T) {
	c := newCloud()
	older := c.store.Begin()
	c.store.MarkUncertain("default/web")
	c.store.Confirm("default/web", older)
	if !c.store.IsUncertain("default/web") {
		t.Error("a read that started before the write failed confirms it")
	}
	c.store.Confirm("default/web", c.store.Begin())
	if c.store.IsUncertain("default/web") {
		t.Error("a read that started later does not confirm it")
	}
}
