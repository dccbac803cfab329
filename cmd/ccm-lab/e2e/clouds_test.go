package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/assign"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// clouds is a cluster over several simulated clouds, each behind a gate that can refuse its calls.
type clouds struct {
	*cluster
	names  []string
	worlds map[string]conformance.World
	gates  map[string]*gate
	files  map[string]string
}

// newClouds returns an empty cluster without a running manager.
func newClouds(t *testing.T, names []string, flags ...string) *clouds {
	t.Helper()
	plane, err := planes.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &clouds{
		cluster: &cluster{t: t, plane: plane, dir: t.TempDir()}, names: names,
		worlds: map[string]conformance.World{}, gates: map[string]*gate{}, files: map[string]string{},
	}
	t.Cleanup(func() {
		if err := c.wipe(); err != nil {
			t.Errorf("removing the test's objects: %v", err)
		}
		planes.release(plane)
	})
	for _, name := range names {
		cloud, err := lab.StartCloud(t.Context(), name, "127.0.0.1:0", lab.SimulatorOptions{SeveralClouds: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cloud.Close(); err != nil {
				t.Error(err)
			}
		})
		c.worlds[name], c.gates[name] = cloud.World, &gate{}
		config := strings.ReplaceAll(cloud.Config, cloud.Endpoint, c.gates[name].serve(t)(cloud.Endpoint))
		c.files[name] = c.write(name+".conf", config)
	}
	c.world = c.worlds[names[0]]
	c.live = &lab.Live{Client: plane.Client, World: c.world, Options: c.managerOptions(setup{noRoutes: true, flags: flags}, "")}
	c.run(names...)
	t.Cleanup(func() {
		ctx, cancel := c.cleanupContext()
		defer cancel()
		c.live.Stop(ctx)
		if t.Failed() {
			c.report()
		}
	})
	return c
}

// run makes the next manager one of these clouds.
func (c *clouds) run(names ...string) {
	var configs []string
	for _, name := range names {
		config := c.files[name]
		if len(names) > 1 {
			config = name + "=" + config
		}
		configs = append(configs, config)
	}
	c.live.Options.Provider, c.live.Options.CloudConfig = strings.Join(names, ","), strings.Join(configs, ",")
	c.live.World = c.worlds[names[0]]
}

// restart ends the manager, and starts one of these clouds.
func (c *clouds) restart(names ...string) {
	c.t.Helper()
	c.live.Stop(c.t.Context())
	c.run(names...)
	c.start()
}

// join launches machines in a cloud, and registers their nodes. It returns their names.
func (c *clouds) join(cloud string, n int, edits ...func(*v1.Node)) (names []string) {
	c.t.Helper()
	for range n {
		node, err := c.worlds[cloud].Launch(conformance.Machine{Name: fmt.Sprintf("%s-%d", cloud, c.next())})
		c.must(err)
		for _, edit := range edits {
			edit(node)
		}
		c.must(lab.RegisterNode(c.t.Context(), c.plane.Client, node))
		names = append(names, node.Name)
	}
	return names
}

// next numbers machines.
func (c *clouds) next() int {
	c.t.Helper()
	list, err := c.plane.Client.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
	c.must(err)
	return len(list.Items) + 1
}

// initialized checks that the nodes are initialized by a cloud.
func (c *clouds) initialized(cloud string, names ...string) conformance.Check {
	return func(ctx context.Context) error {
		var errs []error
		for _, name := range names {
			node, err := c.plane.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if scheme, _, _ := strings.Cut(node.Spec.ProviderID, "://"); scheme != cloud || !lab.IsInitialised(*node) {
				errs = append(errs, fmt.Errorf("node %s has the provider ID %q and the taints %v", name, node.Spec.ProviderID,
					node.Spec.Taints))
			}
		}
		return errors.Join(errs...)
	}
}

// create creates a Service for a cloud; empty for the default one.
func (c *clouds) create(name, cloud string, edits ...func(*v1.Service)) {
	c.t.Helper()
	svc := service(name, 80)
	if cloud != "" {
		svc.Annotations = map[string]string{intent.KeyProvider: cloud}
	}
	for _, edit := range edits {
		edit(svc)
	}
	_, err := c.plane.Client.CoreV1().Services(namespace).Create(c.t.Context(), svc, metav1.CreateOptions{})
	c.must(err)
}

func (c *clouds) get(ctx context.Context, name string) (*v1.Service, error) {
	return c.plane.Client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
}

// served checks that a Service has an address, and that a cloud is recorded for it.
func (c *clouds) served(cloud, name string) conformance.Check {
	return func(ctx context.Context) error {
		svc, err := c.get(ctx, name)
		if err != nil {
			return err
		}
		r, _ := assign.StoredRecord(svc)
		if len(svc.Status.LoadBalancer.Ingress) == 0 || r.Owner != cloud || r.From != "" {
			return fmt.Errorf("service %s: addresses %v, record %+v, want %s", name, svc.Status.LoadBalancer.Ingress, r, cloud)
		}
		return nil
	}
}

// balancers checks the number of load balancers of a cloud, and that each has this number of members.
func (c *clouds) balancers(cloud string, count, members int) conformance.Check {
	return func(context.Context) error {
		all := c.worlds[cloud].LoadBalancers()
		if len(all) != count {
			return fmt.Errorf("%s has %d load balancers, want %d", cloud, len(all), count)
		}
		for _, lb := range all {
			for _, l := range lb.Listeners {
				if len(l.Members) != members {
					return fmt.Errorf("load balancer %s of %s has the members %v, want %d", lb.Name, cloud, l.Members, members)
				}
			}
		}
		return nil
	}
}

func (c *clouds) patch(name, patch string) {
	c.t.Helper()
	_, err := c.plane.Client.CoreV1().Services(namespace).Patch(c.t.Context(), name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	c.must(err)
}

// mutations counts the changes in all clouds.
func (c *clouds) mutations() (total int) {
	for _, w := range c.worlds {
		total += w.Front().Log().MutationCount()
	}
	return total
}

var fakeAndAWS = []string{fake.ProviderName, aws.ProviderName}

// TestSeveralClouds runs one manager of two clouds: each initializes its nodes, and has the load balancers of its
// Services, with members among its own nodes.
func TestSeveralClouds(t *testing.T) {
	t.Parallel()
	c := newClouds(t, fakeAndAWS)
	c.start()
	ofFake, ofAWS := c.join(fake.ProviderName, 2), c.join(aws.ProviderName, 1)
	c.eventually("the nodes", c.initialized(fake.ProviderName, ofFake...))
	c.eventually("the nodes", c.initialized(aws.ProviderName, ofAWS...))
	c.create("plain", "")
	c.create("annotated", aws.ProviderName)
	c.create("classed", "", func(s *v1.Service) { s.Spec.LoadBalancerClass = ptr.To("unified-ccm.io/aws") })
	c.eventually("the Services", c.served(fake.ProviderName, "plain"))
	c.eventually("the Services", c.served(aws.ProviderName, "annotated"))
	c.eventually("the Services", c.served(aws.ProviderName, "classed"))
	c.eventually("members", c.balancers(fake.ProviderName, 1, 2))
	c.eventually("members", c.balancers(aws.ProviderName, 2, 1))
	// A node that joins becomes a member in its own cloud only.
	ofAWS = append(ofAWS, c.join(aws.ProviderName, 1)...)
	c.eventually("the new node", c.initialized(aws.ProviderName, ofAWS...))
	c.eventually("members", c.balancers(aws.ProviderName, 2, 2))
	c.must(c.balancers(fake.ProviderName, 1, 2)(t.Context()))
	for _, name := range []string{"plain", "annotated", "classed"} {
		c.must(c.plane.Client.CoreV1().Services(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	c.eventually("the deletion", c.balancers(fake.ProviderName, 0, 0))
	c.eventually("the deletion", c.balancers(aws.ProviderName, 0, 0))
	c.eventually("the finalizers", c.noneTerminating)
}

// TestSickCloud: what one cloud answers costs the other one neither nodes nor load balancers, and nothing of the sick
// one is deleted.
func TestSickCloud(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{
		"outage": http.StatusServiceUnavailable, "rejected": http.StatusUnauthorized, "hanging": hangs,
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && status == hangs {
				t.Skip("calls that hang end after minutes")
			}
			t.Parallel()
			c := newClouds(t, fakeAndAWS, "--node-not-found-grace=1s")
			c.start()
			hinted := func(n *v1.Node) { metav1.SetMetaDataLabel(&n.ObjectMeta, provider.ProviderLabel, fake.ProviderName) }
			ofAWS := c.join(aws.ProviderName, 1)
			c.eventually("the nodes", c.initialized(aws.ProviderName, ofAWS...))
			c.create("sick", aws.ProviderName)
			c.eventually("the Service", c.served(aws.ProviderName, "sick"))

			c.gates[aws.ProviderName].with(status)
			// Its node is silent, and a node without a machine may be one of its.
			c.must(lab.SetReady(t.Context(), c.plane.Client, ofAWS[0], false))
			c.must(lab.RegisterNode(t.Context(), c.plane.Client, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "unknown"}}))
			c.must(lab.SetReady(t.Context(), c.plane.Client, "unknown", false))
			ofFake := c.join(fake.ProviderName, 2, hinted)
			c.create("well", "")
			c.eventually("the nodes of the other cloud", c.initialized(fake.ProviderName, ofFake...))
			c.eventually("the Service of the other cloud", c.served(fake.ProviderName, "well"))
			c.unchangedFor(calm, func(ctx context.Context) error {
				return errors.Join(c.exist(ctx, append(ofFake, ofAWS[0], "unknown")...), c.balancers(aws.ProviderName, 1, 1)(ctx))
			})
			c.gates[aws.ProviderName].with(0)
			c.eventually("the deletion of the node that no cloud has", func(ctx context.Context) error {
				_, err := c.plane.Client.CoreV1().Nodes().Get(ctx, "unknown", metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return errors.Join(errors.New("it exists"), err)
			})
			c.must(c.exist(t.Context(), append(ofFake, ofAWS[0])...))
		})
	}
}

// TestCloudStartsLater: a cloud that rejects the credentials at start does not stop the other one.
func TestCloudStartsLater(t *testing.T) {
	if testing.Short() {
		t.Skip("the credentials are tried again after 30 seconds")
	}
	t.Parallel()
	c := newClouds(t, fakeAndAWS)
	c.gates[aws.ProviderName].with(http.StatusUnauthorized)
	c.start()
	c.create("well", "")
	c.create("late", aws.ProviderName)
	c.eventually("the Service of the cloud that works", c.served(fake.ProviderName, "well"))
	c.gates[aws.ProviderName].with(0)
	ofAWS := c.join(aws.ProviderName, 1)
	c.eventually("the node of the other one", c.initialized(aws.ProviderName, ofAWS...))
	c.eventually("the Service of the other one", c.served(aws.ProviderName, "late"))
}

// TestTwoManagersBecomeOne: from one process for each cloud to one for both, and back, nothing is written to a cloud,
// and no node changes.
func TestTwoManagersBecomeOne(t *testing.T) {
	t.Parallel()
	const n = 20 // nodes and Services of each cloud
	c := newClouds(t, fakeAndAWS)
	service := func(cloud string, i int) string { return fmt.Sprintf("%s-%d", cloud, i) }
	c.restart(fake.ProviderName)
	ofFake := c.join(fake.ProviderName, n)
	for i := range n {
		c.create(service(fake.ProviderName, i), "")
	}
	c.eventually("the nodes", c.initialized(fake.ProviderName, ofFake...))
	c.eventually("the load balancers", c.balancers(fake.ProviderName, n, n))
	c.must(c.live.Settle(t.Context())) // A manager that is stopped in the middle leaves changes to the next one.
	own := c.live.Options.Args
	c.live.Options.Args = append(slices.Clone(own), "--load-balancer-classes=own")
	c.restart(aws.ProviderName)
	ofAWS := c.join(aws.ProviderName, n)
	for i := range n {
		c.create(service(aws.ProviderName, i), "", func(s *v1.Service) {
			s.Spec.LoadBalancerClass = ptr.To("unified-ccm.io/aws")
		})
	}
	c.eventually("the nodes", c.initialized(aws.ProviderName, ofAWS...))
	c.eventually("the load balancers", c.balancers(aws.ProviderName, n, n))
	c.must(c.live.Settle(t.Context()))

	versions := func() (all []string) {
		list, err := c.plane.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		c.must(err)
		for _, n := range list.Items {
			all = append(all, n.Name+" "+n.ResourceVersion)
		}
		return all
	}
	c.live.Stop(t.Context())
	mutations, nodes := c.mutations(), versions()
	for _, step := range []struct {
		clouds []string
		flags  []string
	}{{fakeAndAWS, own}, {[]string{fake.ProviderName}, own}, {[]string{aws.ProviderName}, append(slices.Clone(own), "--load-balancer-classes=own")},
		{fakeAndAWS, own}} {
		c.live.Options.Args = step.flags
		c.restart(step.clouds...)
		if len(step.clouds) > 1 {
			for i := range 2 * n {
				cloud := fakeAndAWS[i%2]
				c.eventually("the records", c.served(cloud, service(cloud, i/2)))
			}
		}
		c.unchangedFor(calm+time.Second, func(ctx context.Context) error {
			if got := c.mutations(); got != mutations {
				return fmt.Errorf("%v: %d changes in the clouds", step.clouds, got-mutations)
			}
			return errors.Join(c.balancers(fake.ProviderName, n, n)(ctx), c.balancers(aws.ProviderName, n, n)(ctx))
		})
		if got := versions(); !slices.Equal(got, nodes) {
			t.Errorf("%v: nodes were changed: %v, were %v", step.clouds, got, nodes)
		}
	}
}

// TestCloudTakenOutOfTheList: its Services stay as they are, finalizers included.
func TestCloudTakenOutOfTheList(t *testing.T) {
	t.Parallel()
	c := newClouds(t, fakeAndAWS)
	c.start()
	c.join(aws.ProviderName, 1)
	c.create("web", aws.ProviderName)
	c.eventually("the Service", c.served(aws.ProviderName, "web"))
	c.restart(fake.ProviderName)
	c.eventually("an Event", func(ctx context.Context) error {
		list, err := c.live.Events(ctx, "Service", namespace, "web")
		if err == nil && !slices.ContainsFunc(list, func(e string) bool { return strings.HasPrefix(e, "LoadBalancerCloudMissing") }) {
			err = fmt.Errorf("events %v", list)
		}
		return err
	})
	c.must(c.plane.Client.CoreV1().Services(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}))
	c.unchangedFor(calm, func(ctx context.Context) error {
		svc, err := c.get(ctx, "web")
		if err == nil && !servicehelper.HasLBFinalizer(svc) {
			err = errors.New("the finalizer was removed")
		}
		return errors.Join(err, c.balancers(aws.ProviderName, 1, 1)(ctx))
	})
	c.restart(fakeAndAWS...)
	c.eventually("the deletion once the cloud is back", c.balancers(aws.ProviderName, 0, 0))
	c.eventually("the finalizer", c.noneTerminating)
}

// TestUnreadableConfigurationOfOneCloud: a manager with a wrong file does not start, and names all problems.
func TestUnreadableConfigurationOfOneCloud(t *testing.T) {
	t.Parallel()
	_, stderr, code := ccm(t, "--cloud-provider=fake,aws", "--cloud-config=fake=/does/not/exist,aws=/nor/does/this")
	if code != 2 || !strings.Contains(stderr, "--cloud-config=fake=/does/not/exist: there is no such file") ||
		!strings.Contains(stderr, "--cloud-config=aws=/nor/does/this: there is no such file") {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
}

// TestCloudAnswersForAnotherAccount: one cloud answers without any of its machines and load balancers. None of its nodes
// is deleted, and the other cloud works.
func TestCloudAnswersForAnotherAccount(t *testing.T) {
	t.Parallel()
	c := newClouds(t, fakeAndAWS, "--node-not-found-grace=1s")
	other, err := lab.StartCloud(t.Context(), aws.ProviderName, "127.0.0.1:0", lab.SimulatorOptions{})
	c.must(err)
	t.Cleanup(func() { c.must(other.Close()) })
	c.start()
	// The answer about a node counts if it is not the same for three others that are Ready.
	ofAWS := c.join(aws.ProviderName, 4)
	c.eventually("the nodes", c.initialized(aws.ProviderName, ofAWS...))
	c.create("sick", aws.ProviderName)
	c.eventually("the Service", c.served(aws.ProviderName, "sick"))
	c.eventually("its members", c.balancers(aws.ProviderName, 1, 4))
	own := c.gates[aws.ProviderName].target.Load().String()

	c.gates[aws.ProviderName].lead(t, other.Endpoint)
	c.must(lab.SetReady(t.Context(), c.plane.Client, ofAWS[0], false))
	ofFake := c.join(fake.ProviderName, 1)
	c.create("well", "")
	c.eventually("the node of the other cloud", c.initialized(fake.ProviderName, ofFake...))
	c.eventually("the Service of the other cloud", c.served(fake.ProviderName, "well"))
	c.eventually("an Event about the node", func(ctx context.Context) error {
		list, err := c.live.Events(ctx, "Node", "", ofAWS[0])
		if err == nil && !slices.ContainsFunc(list, func(e string) bool {
			return strings.HasPrefix(e, "NodeDeletionSuppressed") && strings.Contains(e, "check project, region and account")
		}) {
			err = fmt.Errorf("events %v", list)
		}
		return err
	})
	c.unchangedFor(calm, func(ctx context.Context) error {
		return errors.Join(c.exist(ctx, append(ofFake, ofAWS...)...), c.balancers(aws.ProviderName, 1, 4)(ctx))
	})

	c.gates[aws.ProviderName].lead(t, own)
	c.must(c.worlds[aws.ProviderName].Terminate(ofAWS[0]))
	c.eventually("the deletion of a node whose machine is gone", func(ctx context.Context) error {
		if c.exist(ctx, ofAWS[0]) == nil {
			return errors.New("it exists")
		}
		return c.exist(ctx, append(ofFake, ofAWS[1:]...)...)
	})
}
