package aws

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// controllerWorld is a cluster with an API server and the provider's own controllers.
type controllerWorld struct {
	*nodeWorld
	client  *fake.Clientset
	start   *nodeControllers
	lent    provider.ControllerContext
	factory informers.SharedInformerFactory
	events  *record.FakeRecorder
}

func newControllerWorld(t *testing.T, o sim.Options) *controllerWorld {
	t.Helper()
	w := &controllerWorld{nodeWorld: newNodeWorld(t, o), client: fake.NewClientset(), events: record.NewFakeRecorder(1000)}
	inst := w.instances()
	w.factory = informers.NewSharedInformerFactory(w.client, 0)
	w.start = &nodeControllers{
		tagging:   &taggingOptions{Tags: map[string]string{"team": "blue", "env": "test"}, Resources: []string{"instance"}, Workers: 1},
		ids:       w.ids,
		families:  []string{familyIPv4},
		ec2:       func(context.Context) (api.EC2, error) { return w.ec2, nil },
		described: func(context.Context) (describer, error) { return w.source, nil },
		clock:     clock.RealClock{},
	}
	w.lent = provider.ControllerContext{
		Client: w.client, Nodes: w.factory.Core().V1().Nodes(), Owns: inst.OwnsNode, Recorder: w.events,
		AllocateNodeCIDRs: true, CIDRAllocatorType: cloudAllocator,
	}
	return w
}

// run runs a controller until the function that it returns is called.
func (w *controllerWorld) run(name string) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	started, err := w.start.start(ctx, name, w.lent)
	if err != nil || !started {
		w.t.Fatalf("started %v, %v", started, err)
	}
	w.factory.Start(ctx.Done())
	w.factory.WaitForCacheSync(ctx.Done())
	w.settle()
	return func() {
		cancel()
		w.factory.Shutdown()
		synctest.Wait()
	}
}

// settle lets everything happen that does not wait for a retry of a second or more.
func (w *controllerWorld) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// register makes a node of a machine that is launched.
func (w *controllerWorld) register(name string, edits ...func(*v1.Node)) *v1.Node {
	w.t.Helper()
	id := w.machine(name)
	node := initialised(name, "aws:///us-west-2a/"+id)
	node.CreationTimestamp = metav1.Now()
	for _, edit := range edits {
		edit(node)
	}
	if _, err := w.client.CoreV1().Nodes().Create(w.t.Context(), node, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return node
}

func (w *controllerWorld) node(name string) *v1.Node {
	w.t.Helper()
	node, err := w.client.CoreV1().Nodes().Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return node
}

// tags are those of the configuration that a machine's instance has.
func (w *controllerWorld) tags(name string) map[string]string {
	w.t.Helper()
	answer, err := w.ec2.DescribeInstances(w.t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{w.cloud.Instance(name)}})
	if err != nil {
		w.t.Fatal(err)
	}
	tags := tagsOf(answer.Reservations[0].Instances[0].Tags)
	for key := range tags {
		if _, ok := w.start.tagging.Tags[key]; !ok {
			delete(tags, key)
		}
	}
	return tags
}

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
		w.register("opted-out", func(n *v1.Node) { n.Spec.ProviderID = "kind://x/" + w.cloud.Instance("opted-out") })
		w.register("joining", func(n *v1.Node) { n.Spec.ProviderID = "" })
		w.register("fargate", func(n *v1.Node) { n.Spec.ProviderID = "aws:///us-west-2a/fargate-ip-10-0-0-1" })
		w.register("kwok", func(n *v1.Node) { n.Spec.ProviderID = "aws:///us-west-2a/i-kwok" })
		w.cloud.Front().Log().Reset()
		stop := w.run(taggingController)
		w.wantCalls(3)
		for _, name := range []string{nodes[0], nodes[149]} {
			if diff := cmp.Diff(w.start.tagging.Tags, w.tags(name)); diff != "" {
				t.Errorf("%s: tags (-want +got):\n%s", name, diff)
			}
		}
		for _, name := range nodes {
			if got := w.node(name).Labels[names.TaggedLabel]; got != tagsHash(w.start.tagging.Tags) {
				t.Fatalf("%s: label %q", name, got)
			}
		}
		for _, name := range []string{"opted-out", "joining"} {
			if tags, label := w.tags(name), w.node(name).Labels[names.TaggedLabel]; len(tags) != 0 || label != "" {
				t.Errorf("%s: tags %v, label %q", name, tags, label)
			}
		}
		stop()
		w.cloud.Front().Log().Reset()
		w.factory = informers.NewSharedInformerFactory(w.client, 0)
		w.lent.Nodes = w.factory.Core().V1().Nodes()
		stop = w.run(taggingController)
		w.wantCalls(0)
		stop()
	})
}

func TestTagsGoWithTheNode(t *testing.T) {
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

func TestInformersThatMissedTheDeletion(t *testing.T) {
	w := newControllerWorld(t, sim.Options{})
	tg := &tagging{ids: w.ids, tags: w.start.tagging.Tags, lent: w.lent}
	queue, err := tg.queue(*w.start.tagging)
	if err != nil {
		t.Fatal(err)
	}
	node := initialised("a", "aws:///us-west-2a/i-0123456789abcdef0")
	queue.deleted(cache.DeletedFinalStateUnknown{Key: "a", Obj: node})
	queue.deleted(cache.DeletedFinalStateUnknown{Key: "b"})
	queue.deleted("nonsense")
	queue.changed(cache.DeletedFinalStateUnknown{})
	if got := queue.queue.Len(); got != 1 {
		t.Errorf("%d tasks", got)
	}
	if task, _ := queue.queue.Get(); task != (nodeTask{"a", "i-0123456789abcdef0"}) {
		t.Errorf("task %v", task)
	}
}

func TestTaggingWithoutTheOneThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{})
		missing := func(id string) func(*v1.Node) {
			return func(n *v1.Node) { n.Spec.ProviderID = "aws:///us-west-2a/" + id }
		}
		w.register("fresh", missing("i-00000000000000001"))
		w.register("old", missing("i-00000000000000002"), func(n *v1.Node) { n.CreationTimestamp.Time = time.Now().Add(-time.Hour) })
		w.register("a")
		w.cloud.Front().Log().Reset()
		stop := w.run(taggingController)
		if got := w.tags("a"); len(got) != 2 {
			t.Errorf("tags %v", got)
		}
		for _, name := range []string{"fresh", "old"} {
			if label := w.node(name).Labels[names.TaggedLabel]; label != "" {
				t.Errorf("%s: label %q", name, label)
			}
		}
		if n := w.cloud.Front().Log().Count()["CreateTags"]; n < 3 {
			t.Errorf("%d calls: the fresh node was not tried again", n)
		}
		time.Sleep(time.Hour)
		w.cloud.Front().Log().Reset()
		time.Sleep(time.Hour)
		w.wantCalls(0)
		stop()
	})
}

func TestTaggingTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{})
		w.register("a")
		w.cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Operation: "CreateTags", Times: 5})
		stop := w.run(taggingController)
		if got := w.tags("a"); len(got) != 2 {
			t.Errorf("tags %v", got)
		}
		stop()
	})
}

func TestTaggingInADryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{})
		w.register("a")
		w.lent.DryRun = true
		w.cloud.Front().Log().Reset()
		stop := w.run(taggingController)
		w.wantCalls(0)
		if label := w.node("a").Labels[names.TaggedLabel]; label != "" {
			t.Errorf("label %q", label)
		}
		stop()
	})
}

func TestTaggingRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{})
		w.start.tagging.Rate, w.start.tagging.Burst = 1, 1
		for _, name := range []string{"a", "b", "c", "d"} {
			w.register(name)
		}
		w.cloud.Front().Log().Reset()
		stop := w.run(taggingController)
		if n := w.cloud.Front().Log().Count()["CreateTags"]; n < 1 || n > 2 {
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
		"no workers":   {[]string{"--tags=a=1", "--resources=instance", "--tagging-controller-concurrent-node-syncs=0"}, []string{"use at least 1"}},
		"negative":     {[]string{"--tags=a=1", "--resources=instance", "--tagging-controller-rate-limit=-1"}, []string{"must not be negative"}},
	} {
		t.Run(name, func(t *testing.T) {
			var o taggingOptions
			fs := pflag.NewFlagSet("ccm", pflag.ContinueOnError)
			o.addFlags(fs)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := o.validate()
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
	var o taggingOptions
	fs := pflag.NewFlagSet("ccm", pflag.ContinueOnError)
	o.addFlags(fs)
	var got []string
	fs.VisitAll(func(f *pflag.Flag) { got = append(got, f.Name) })
	want := inheritedFlags()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-inherited +added):\n%s", diff)
	}
}

func TestControllersStart(t *testing.T) {
	w := newControllerWorld(t, sim.Options{})
	for name, tc := range map[string]struct {
		controller string
		edit       func()
		started    bool
		fails      bool
	}{
		"unknown":            {"x", func() {}, false, false},
		"tagging, no tags":   {taggingController, func() { w.start.tagging = &taggingOptions{} }, false, true},
		"ranges of others":   {ipamController, func() { w.lent.CIDRAllocatorType = "RangeAllocator" }, false, false},
		"ranges by nobody":   {ipamController, func() { w.lent.AllocateNodeCIDRs = false }, false, false},
		"ranges from clouds": {ipamController, func() { w.lent.AllocateNodeCIDRs, w.lent.CIDRAllocatorType = true, cloudAllocator }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.edit()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if started, err := w.start.start(ctx, tc.controller, w.lent); started != tc.started || (err != nil) != tc.fails {
				t.Errorf("started %v, %v", started, err)
			}
		})
	}
}

func TestNodeIPAM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{IPv6: true, Latency: 20 * time.Millisecond})
		for n, name := range []string{"a", "b", "c"} {
			w.register(name)
			prefix := netip.MustParsePrefix("2001:db8:1234:1a00:" + string(rune('1'+n)) + "::/80")
			if err := w.cloud.DelegatePrefix(name, prefix); err != nil {
				t.Fatal(err)
			}
		}
		w.register("has", func(n *v1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "10.0.0.0/24", []string{"10.0.0.0/24"} })
		w.register("late")
		w.register("of another cloud", func(n *v1.Node) { n.Spec.ProviderID = "kind://x/y" })
		w.cloud.Front().Log().Reset()
		stop := w.run(ipamController)
		for n, name := range []string{"a", "b", "c"} {
			want := []string{"2001:db8:1234:1a00:" + string(rune('1'+n)) + "::/80"}
			if node := w.node(name); node.Spec.PodCIDR != want[0] || !slices.Equal(node.Spec.PodCIDRs, want) {
				t.Errorf("%s: %s, %v, want %v", name, node.Spec.PodCIDR, node.Spec.PodCIDRs, want)
			}
		}
		if got := w.node("has").Spec.PodCIDRs; !slices.Equal(got, []string{"10.0.0.0/24"}) {
			t.Errorf("what a node had became %v", got)
		}
		select {
		case event := <-w.events.Events:
			if !strings.Contains(event, reasonNoPrefix) || !strings.Contains(event, w.cloud.Instance("late")) {
				t.Errorf("event %q", event)
			}
		default:
			t.Error("no event about the node that gets no range")
		}
		if err := w.cloud.DelegatePrefix("late", netip.MustParsePrefix("2001:db8:1234:1a00:9::/80")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ipamBackoff)
		if got := w.node("late").Spec.PodCIDRs; !slices.Equal(got, []string{"2001:db8:1234:1a00:9::/80"}) {
			t.Errorf("the node whose prefix came late has %v", got)
		}
		stop()
	})
}

func TestRangesOfAnInstance(t *testing.T) {
	primary := func(v4, v6 []string) *ec2types.Instance {
		n := eni(0)
		for _, p := range v4 {
			n.Ipv4Prefixes = append(n.Ipv4Prefixes, ec2types.InstanceIpv4Prefix{Ipv4Prefix: aws.String(p)})
		}
		for _, p := range v6 {
			n.Ipv6Prefixes = append(n.Ipv6Prefixes, ec2types.InstanceIpv6Prefix{Ipv6Prefix: aws.String(p)})
		}
		return &ec2types.Instance{NetworkInterfaces: []ec2types.InstanceNetworkInterface{n}}
	}
	second := primary(nil, []string{"2001:db8::/80"})
	second.NetworkInterfaces[0].Attachment.DeviceIndex = aws.Int32(1)
	v4, v6 := "10.1.0.0/16", "2001:db8::/56"
	for name, tc := range map[string]struct {
		instance *ec2types.Instance
		cluster  []string
		order    []string
		want     []string
		text     string
	}{
		"the lowest":              {primary([]string{"10.1.0.32/28", "10.1.0.16/28"}, nil), nil, []string{"ipv4"}, []string{"10.1.0.16/28"}, ""},
		"both, by the cluster":    {primary([]string{"10.1.0.16/28"}, []string{"2001:db8::/80"}), []string{v6, v4}, []string{"ipv4"}, []string{"2001:db8::/80", "10.1.0.16/28"}, ""},
		"both, by the families":   {primary([]string{"10.1.0.16/28"}, []string{"2001:db8::/80"}), nil, []string{"ipv6", "ipv4"}, []string{"2001:db8::/80", "10.1.0.16/28"}, ""},
		"one the cluster has not": {primary([]string{"10.1.0.16/28"}, []string{"2001:db8::/80"}), []string{v6}, nil, []string{"2001:db8::/80"}, ""},
		"one is missing":          {primary([]string{"10.1.0.16/28"}, nil), []string{v4, v6}, nil, nil, "no delegated prefix of ipv6"},
		"none":                    {primary(nil, nil), nil, []string{"ipv4"}, nil, "no delegated prefix of ipv4 and ipv6"},
		"of another interface":    {second, nil, nil, nil, "no delegated prefix"},
		"no network":              {primary([]string{"x"}, nil), nil, nil, nil, `"x" is no network`},
	} {
		t.Run(name, func(t *testing.T) {
			p := &ipam{order: tc.order}
			for _, c := range tc.cluster {
				p.lent.ClusterCIDRs = append(p.lent.ClusterCIDRs, netip.MustParsePrefix(c))
			}
			got, err := p.ranges("i-1", tc.instance, true)
			if (err != nil) != (tc.text != "") || err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, want %q", err, tc.text)
			}
			var texts []string
			for _, r := range got {
				texts = append(texts, r.String())
			}
			if diff := cmp.Diff(tc.want, texts); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := (&ipam{}).ranges("i-1", &ec2types.Instance{}, false); err == nil {
		t.Error("an instance that does not exist has ranges")
	}
}

func TestInOneCall(t *testing.T) {
	refusals := errors.New("refused")
	missing, err := inOneCall(map[string]nodeWork{"i-a": {}}, func([]string) error { return refusals })
	if len(missing) != 0 || !errors.Is(err, refusals) {
		t.Errorf("missing %v, %v", missing, err)
	}
}
