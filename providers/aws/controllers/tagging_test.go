package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodequeue"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/client"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestTagsHashNeverChanges(t *testing.T) {
	for want, tags := range map[string]map[string]string{
		"d41d8cd98f00b204e9800998ecf8427e": nil,
		"9dc867b7f2bf1e40160f90e46628512e": {"b": "2", "a": "1"},
	} {
		if got := tagsHash(tags); got != want {
			t.Errorf("%v: %s, want %s", tags, got, want)
		}
	}
}

func TestTagging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{Latency: 50 * time.Millisecond})
		var nodes []string
		for n := range 150 {
			name := "n" + string(rune('a'+n/26)) + string(rune('a'+n%26))
			nodes = append(nodes, name)
			w.register(name)
		}
		w.register("opted-out", func(n *v1.Node) { n.Spec.ProviderID = "kind://x/" + w.Cloud.Cloud.Instance("opted-out") })
		w.register("joining", func(n *v1.Node) { n.Spec.ProviderID = "" })
		w.register("fargate", func(n *v1.Node) { n.Spec.ProviderID = "aws:///us-west-2a/fargate-ip-10-0-0-1" })
		w.register("kwok", func(n *v1.Node) { n.Spec.ProviderID = "aws:///us-west-2a/i-kwok" })
		w.ResetCalls()
		stop := w.run(taggingController)
		w.WantCalls(3)
		for _, name := range []string{nodes[0], nodes[149]} {
			if diff := cmp.Diff(w.start.Flags.tags, w.tags(name)); diff != "" {
				t.Errorf("%s: tags (-want +got):\n%s", name, diff)
			}
		}
		for _, name := range nodes {
			if got := w.node(name).Labels[names.TaggedLabel]; got != tagsHash(w.start.Flags.tags) {
				t.Fatalf("%s: label %q", name, got)
			}
		}
		for _, name := range []string{"opted-out", "joining"} {
			if tags, label := w.tags(name), w.node(name).Labels[names.TaggedLabel]; len(tags) != 0 || label != "" {
				t.Errorf("%s: tags %v, label %q", name, tags, label)
			}
		}
		stop()
		w.ResetCalls()
		w.factory = informers.NewSharedInformerFactory(w.client, 0)
		w.controller.Nodes = w.factory.Core().V1().Nodes()
		stop = w.run(taggingController)
		w.WantCalls(0)
		stop()
	})
}

func TestTagsAreRemovedWithNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{})
		for _, name := range []string{"a", "b"} {
			w.register(name)
		}
		stop := w.run(taggingController)
		defer stop()
		if err := w.client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if got := w.tags("a"); len(got) != 0 {
			t.Errorf("left: %v", got)
		}
		if got := w.tags("b"); len(got) != 2 {
			t.Errorf("of the node that stays: %v", got)
		}
	})
}

func TestTaggingSkipsMissingInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{})
		missing := func(id string) func(*v1.Node) {
			return func(n *v1.Node) { n.Spec.ProviderID = "aws:///us-west-2a/" + id }
		}
		w.register("fresh", missing("i-00000000000000001"))
		w.register("old", missing("i-00000000000000002"), func(n *v1.Node) { n.CreationTimestamp.Time = time.Now().Add(-time.Hour) })
		w.register("a")
		w.ResetCalls()
		stop := w.run(taggingController)
		if got := w.tags("a"); len(got) != 2 {
			t.Errorf("tags %v", got)
		}
		for _, name := range []string{"fresh", "old"} {
			if label := w.node(name).Labels[names.TaggedLabel]; label != "" {
				t.Errorf("%s: label %q", name, label)
			}
		}
		if n := w.Cloud.Cloud.Front().Log().Count()["CreateTags"]; n < 3 {
			t.Errorf("%d calls: the fresh node was not tried again", n)
		}
		time.Sleep(time.Hour)
		w.ResetCalls()
		time.Sleep(time.Hour)
		w.WantCalls(0)
		stop()
	})
}

func TestTaggingRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{})
		w.start.Legacy = client.New(client.Options{
			Config: &config.Config{Global: config.Global{LegacyMetrics: true}}, Clock: clock.RealClock{},
		}).LegacyMetrics()
		w.register("a")
		w.Cloud.Cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Operation: "CreateTags", Times: 5})
		stop := w.run(taggingController)
		if got := w.tags("a"); len(got) != 2 {
			t.Errorf("tags %v", got)
		}
		stop()
		testutil.AssertVectorCount(t, "cloudprovider_aws_tagging_controller_work_item_errors_total", map[string]string{"error_type": "total_errors", "instance_id": ""}, 5)
		testutil.AssertHistogramTotalCount(t, "tagging_controller_inital_node_tagging_delay_seconds", nil, 1) //nolint:misspell // existing name
	})
}

func TestTaggingDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{})
		w.register("a")
		w.controller.DryRun = true
		w.ResetCalls()
		stop := w.run(taggingController)
		w.WantCalls(0)
		if label := w.node("a").Labels[names.TaggedLabel]; label != "" {
			t.Errorf("label %q", label)
		}
		stop()
	})
}

func TestTaggingRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{})
		w.start.Flags.rate, w.start.Flags.burst = 1, 1
		for _, name := range []string{"a", "b", "c", "d"} {
			w.register(name)
		}
		w.ResetCalls()
		stop := w.run(taggingController)
		if n := w.Cloud.Cloud.Front().Log().Count()["CreateTags"]; n < 1 || n > 2 {
			t.Errorf("%d calls in the first second", n)
		}
		time.Sleep(5 * time.Second)
		for _, name := range []string{"a", "b", "c", "d"} {
			if len(w.tags(name)) != 2 {
				t.Errorf("%s has no tags", name)
			}
		}
		stop()
	})
}

func TestTaggingFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"right":        {[]string{"--tags=a=1,b=2", "--resources=instance", "--tagging-controller-enable-batching"}, nil},
		"nothing set":  {nil, []string{"--tags is not set", "--resources is not set"}},
		"resources":    {[]string{"--tags=a=1", "--resources=volume"}, []string{"--resources=volume: only instance"}},
		"reserved key": {[]string{"--tags=aws:x=1", "--resources=instance"}, []string{`"aws:x" begins with aws:`}},
		"long value":   {[]string{"--tags=a=" + strings.Repeat("x", 257), "--resources=instance"}, []string{`the value of "a" is longer`}},
		"no workers":   {[]string{"--tags=a=1", "--resources=instance", "--tagging-controller-concurrent-node-syncs=0"}, []string{"must be at least 1"}},
		"negative":     {[]string{"--tags=a=1", "--resources=instance", "--tagging-controller-rate-limit=-1"}, []string{"must not be negative"}},
	} {
		t.Run(name, func(t *testing.T) {
			var f Flags
			fs := pflag.NewFlagSet("ccm", pflag.ContinueOnError)
			f.Add(fs)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := f.validate()
			if (err == nil) != (tc.want == nil) {
				t.Errorf("error %v", err)
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
		})
	}
	var f Flags
	fs := pflag.NewFlagSet("ccm", pflag.ContinueOnError)
	f.Add(fs)
	var got []string
	fs.VisitAll(func(f *pflag.Flag) { got = append(got, f.Name) })
	want := InheritedFlags()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-inherited +added):\n%s", diff)
	}
}

func TestCallInBulkIsolatesRejectedInstance(t *testing.T) {
	tg := &tagging{nodeController{Starter: &Starter{}}}
	denied := &cloudapi.Error{Class: cloudapi.Denied, Operation: "CreateTags", Err: errors.New("not authorized")}
	work := map[string]nodequeue.Work{}
	for n := range taggingBatch {
		work[fmt.Sprintf("i-%03d", n)] = nodequeue.Work{}
	}
	for name, tc := range map[string]struct {
		refuse       func(id string) bool
		failed, most int
	}{
		"none": {func(string) bool { return false }, 0, 1},
		"one":  {func(id string) bool { return id == "i-037" }, 1, 15},
		"all":  {func(string) bool { return true }, taggingBatch, 40},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			errs := tg.callInBulk(t.Context(), work, func(ids []string) error {
				calls++
				if slices.ContainsFunc(ids, tc.refuse) {
					return denied
				}
				return nil
			})
			if len(errs) != tc.failed || calls > tc.most {
				t.Errorf("%d failed in %d calls, want %d in at most %d", len(errs), calls, tc.failed, tc.most)
			}
		})
	}
}
