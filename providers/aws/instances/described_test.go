package instances

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCloud(t, sim.Options{})
		a, b := w.LaunchNamed("a"), w.LaunchNamed("b")
		asked := []string{b, a, a, "i-00000000000000001", "fargate-ip-10-0-0-1", "i-kwok"}
		described := func(fresh bool, want ...string) {
			t.Helper()
			got, err := w.source.Described(t.Context(), asked, fresh)
			if err != nil {
				t.Fatal(err)
			}
			have := []string{}
			for id, i := range got {
				if *i.InstanceId != id {
					t.Errorf("%s under %s", *i.InstanceId, id)
				}
				have = append(have, id)
			}
			if diff := cmp.Diff(want, have, cmpopts.SortSlices(func(x, y string) bool { return x < y })); diff != "" {
				t.Errorf("described (-want +got):\n%s", diff)
			}
		}
		described(false, a, b)
		w.WantCalls(1)
		described(false, a, b)
		w.WantCalls(0)
		time.Sleep(absentAge + time.Second)
		described(false, a, b)
		w.WantCalls(1) // The absent one is read again.
		if err := w.Cloud.Cloud.Terminate("b"); err != nil {
			t.Fatal(err)
		}
		described(false, a, b)
		w.WantCalls(0)
		described(true, a)
		w.WantCalls(1)
		described(false, a)
		w.WantCalls(0)
	})
}

func TestDescribedListsForManyIDs(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	var asked []string
	for _, n := range w.Launch(machines(1500, "")...) {
		asked = append(asked, w.Cloud.Cloud.Instance(n.Name))
	}
	got, err := w.source.Described(t.Context(), append(asked, "i-00000000000000001"), true)
	if err != nil || len(got) != 1500 {
		t.Errorf("%d instances, %v", len(got), err)
	}
	w.WantCalls(3)
}

// TestDescribedSharesListInFlight verifies that Described uses the list of nodes that is in flight at a start.
func TestDescribedSharesListInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCloud(t, sim.Options{Latency: 100 * time.Millisecond})
		var asked []string
		for _, n := range w.Launch(machines(1500, "")...) {
			asked = append(asked, w.Cloud.Cloud.Instance(n.Name))
		}
		listed := make(chan error, 1)
		go func() {
			_, err := w.source.List(t.Context())
			listed <- err
		}()
		synctest.Wait()
		got, err := w.source.Described(t.Context(), asked, false)
		if err != nil || len(got) != 1500 {
			t.Errorf("%d instances, %v", len(got), err)
		}
		if err := <-listed; err != nil {
			t.Error(err)
		}
		if calls, _ := w.Calls(); calls["DescribeInstances"] != 2 {
			t.Errorf("%v, want a call for each of the two pages", calls)
		}
	})
}

// TestListSharesReadOfDescribed verifies that List uses a list that was in flight when it was called, unless that
// started too long before.
func TestListSharesReadOfDescribed(t *testing.T) {
	for _, tt := range []struct {
		name          string
		latency, head time.Duration
		calls         int
	}{
		{"while it is read", 200 * time.Millisecond, 100 * time.Millisecond, 1},
		{"while it is read, and started long ago", 3 * time.Second, 2 * time.Second, 2},
		{"after it has ended", 200 * time.Millisecond, 300 * time.Millisecond, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCloud(t, sim.Options{Latency: tt.latency})
				var asked []string
				for _, n := range w.Launch(machines(MaxFilterValues+1, "")...) {
					asked = append(asked, w.Cloud.Cloud.Instance(n.Name))
				}
				described := make(chan error, 1)
				go func() {
					_, err := w.source.Described(t.Context(), asked, false)
					described <- err
				}()
				time.Sleep(tt.head)
				found, err := w.source.List(t.Context())
				if err != nil || len(found) != len(asked) {
					t.Errorf("%d instances, %v, want %d", len(found), err, len(asked))
				}
				if err := <-described; err != nil {
					t.Error(err)
				}
				if calls, _ := w.Calls(); calls["DescribeInstances"] != tt.calls {
					t.Errorf("%v, want %d calls of DescribeInstances", calls, tt.calls)
				}
			})
		})
	}
}

// TestDescribedReturnsInstanceChangedDuringRead changes an instance while it is read: the result includes it.
func TestDescribedReturnsInstanceChangedDuringRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cached := range []bool{false, true} {
			w := newTestCloud(t, sim.Options{Latency: 100 * time.Millisecond})
			id := w.LaunchNamed("a")
			describe := func() bool {
				found, err := w.source.Described(t.Context(), []string{id}, true)
				if err != nil || found[id] == nil {
					t.Fatalf("cached %t: found %v, %v", cached, found, err)
				}
				return *found[id].SourceDestCheck
			}
			if cached {
				describe()
			}
			time.AfterFunc(50*time.Millisecond, func() { w.source.SetForwarding(id) })
			if checked := describe(); checked == cached {
				t.Errorf("cached %t: source/destination check %t", cached, checked)
			}
		}
	})
}

func TestListEvictsDeletedInstances(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	a, b := w.LaunchNamed("a"), w.LaunchNamed("b")
	if _, err := w.source.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Cloud.Cloud.Terminate("b"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.source.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found, unknown := w.source.cache.get([]string{a, b}, cutoffs{}); len(found) != 1 || !slices.Equal(unknown, []string{b}) {
		t.Errorf("known %v, unknown %v", found, unknown)
	}
}

// TestDescribedReturnsStaleInstancesDuringOutage verifies that Described returns stale instances while EC2 does not
// respond, never stale absence, and errors of class Denied.
func TestDescribedReturnsStaleInstancesDuringOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCloud(t, sim.Options{})
		a, b := w.LaunchNamed("a"), w.LaunchNamed("b")
		describe := func(fresh bool, ids ...string) (int, error) {
			got, err := w.source.Described(t.Context(), ids, fresh)
			return len(got), err
		}
		if n, err := describe(false, a, b); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		time.Sleep(2 * describedAge)
		w.Cloud.Cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "DescribeInstances", Times: kit.Always})
		if n, err := describe(false, a, b); n != 2 || err != nil {
			t.Errorf("%d instances, %v, want those of before", n, err)
		}
		for name, call := range map[string]func() (int, error){
			"one that was never read": func() (int, error) { return describe(false, a, "i-0fedcba9876543210") },
			"a fresh read":            func() (int, error) { return describe(true, a) },
		} {
			if n, err := call(); !cloudapi.Is(err, cloudapi.Unavailable) {
				t.Errorf("%s: %d instances, %v, want an error", name, n, err)
			}
		}
		time.Sleep(outageAge)
		w.Cloud.Cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Operation: "DescribeInstances", Times: kit.Always})
		if n, err := describe(false, a, b); !cloudapi.Is(err, cloudapi.Throttled) {
			t.Errorf("%d instances, %v, want that EC2 throttles", n, err)
		}
		w.Cloud.Cloud.Front().SetFaults()
		if err := w.Cloud.Cloud.Terminate("b"); err != nil {
			t.Fatal(err)
		}
		if n, err := describe(false, a, b); n != 1 || err != nil {
			t.Errorf("%d instances, %v, once EC2 is back", n, err)
		}
	})
}

// TestDescribedCachesInstancesThatNoListReturns: Nodes of Fargate, without the cluster's tag, of deleted instances or of
// another region must not cause repeated reads.
func TestDescribedCachesInstancesThatNoListReturns(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	own, untagged, gone := w.LaunchNamed("own"), w.LaunchNamed("untagged"), w.LaunchNamed("gone")
	w.SetTags(untagged, map[string]string{"Name": "untagged"})
	if err := w.Cloud.Cloud.Terminate("gone"); err != nil {
		t.Fatal(err)
	}
	fargate, _ := w.fargate("us-west-2a")
	asked := []string{own, untagged, gone, fargate, "i-0fedcba9876543210"}
	w.ResetCalls()
	for range 200 {
		got, err := w.source.Described(t.Context(), asked, false)
		if err != nil || len(got[own].SecurityGroups) == 0 || len(got[untagged].SecurityGroups) == 0 {
			t.Fatalf("instances %v, %v", got, err)
		}
	}
	w.WantCalls(1)
}
