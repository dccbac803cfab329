package aws

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
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
		flags:     &flags{tags: map[string]string{"team": "blue", "env": "test"}, resources: []string{"instance"}, workers: 1},
		ids:       w.ids,
		families:  []string{FamilyIPv4},
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
		if _, ok := w.start.flags.tags[key]; !ok {
			delete(tags, key)
		}
	}
	return tags
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
		"tagging, no tags":   {taggingController, func() { w.start.flags = &flags{} }, false, true},
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
