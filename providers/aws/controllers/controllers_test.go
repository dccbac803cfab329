package controllers

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

	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// controllerWorld is a cluster with an API server and the provider's own controllers.
type controllerWorld struct {
	*simtest.Cloud
	client     *fake.Clientset
	start      *Starter
	controller provider.ControllerContext
	factory    informers.SharedInformerFactory
	events     *record.FakeRecorder
}

func newControllerWorld(t *testing.T, o sim.Options) *controllerWorld {
	t.Helper()
	w := &controllerWorld{Cloud: simtest.New(t, o), client: fake.NewClientset(), events: record.NewFakeRecorder(1000)}
	sim := w.Cloud.Cloud
	conn := instances.Connection{
		EC2: w.EC2, Scope: instances.Scope{ClusterID: sim.ClusterID(), VPC: sim.VPC(), Region: sim.Region()},
	}
	ids := names.ProviderIDs(sim.Region)
	source := instances.New(instances.Options{
		Connect:     func(context.Context) (instances.Connection, error) { return conn, nil },
		ProviderIDs: ids, Families: []string{config.FamilyIPv4}, Clock: clock.RealClock{},
	})
	inst := commoninstances.New(commoninstances.Options{
		Provider: names.Scheme, Clock: clock.RealClock{}, IDOfName: instances.IDOfNodeName,
	}, source, ids)
	w.factory = informers.NewSharedInformerFactory(w.client, 0)
	w.start = &Starter{
		Flags:     &Flags{tags: map[string]string{"team": "blue", "env": "test"}, resources: []string{"instance"}, workers: 1},
		IDs:       ids,
		Families:  []string{config.FamilyIPv4},
		EC2:       func(context.Context) (api.EC2, error) { return w.EC2, nil },
		Instances: source,
		Clock:     clock.RealClock{},
	}
	w.controller = provider.ControllerContext{
		Client: w.client, Nodes: w.factory.Core().V1().Nodes(), Owns: inst.OwnsNode, Recorder: w.events,
		AllocateNodeCIDRs: true, CIDRAllocatorType: nodeipam.CloudAllocator, Clock: clock.RealClock{},
	}
	return w
}

// run runs a controller until the function that it returns is called.
func (w *controllerWorld) run(name string) (stop func()) {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.T.Context())
	started, err := w.start.StartController(ctx, name, w.controller)
	if err != nil || !started {
		w.T.Fatalf("started %v, %v", started, err)
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
	w.T.Helper()
	id := w.LaunchNamed(name)
	node := simtest.InitializedNode(name, "aws:///us-west-2a/"+id)
	node.CreationTimestamp = metav1.Now()
	for _, edit := range edits {
		edit(node)
	}
	if _, err := w.client.CoreV1().Nodes().Create(w.T.Context(), node, metav1.CreateOptions{}); err != nil {
		w.T.Fatal(err)
	}
	return node
}

func (w *controllerWorld) node(name string) *v1.Node {
	w.T.Helper()
	node, err := w.client.CoreV1().Nodes().Get(w.T.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	return node
}

// tags are those of the configuration that a machine's instance has.
func (w *controllerWorld) tags(name string) map[string]string {
	w.T.Helper()
	answer, err := w.EC2.DescribeInstances(w.T.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{w.Cloud.Cloud.Instance(name)}})
	if err != nil {
		w.T.Fatal(err)
	}
	tags := api.TagMap(answer.Reservations[0].Instances[0].Tags)
	for key := range tags {
		if _, ok := w.start.Flags.tags[key]; !ok {
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
		"unknown":             {"x", func() {}, false, false},
		"tagging, no tags":    {taggingController, func() { w.start.Flags = &Flags{} }, false, true},
		"no range allocation": {nodeipam.Name, func() { w.controller.AllocateNodeCIDRs = false }, false, false},
		"ranges from clouds":  {nodeipam.Name, func() { w.controller.AllocateNodeCIDRs = true }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.edit()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if started, err := w.start.StartController(ctx, tc.controller, w.controller); started != tc.started || (err != nil) != tc.fails {
				t.Errorf("started %v, %v", started, err)
			}
		})
	}
}
