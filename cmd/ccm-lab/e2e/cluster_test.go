package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

const (
	// testTimeout is the timeout of a condition: minutes, because a machine that also compiles is slow. A test that
	// passes never waits this long.
	testTimeout = 2 * time.Minute
	// realTimeout is the same for real services, which need seconds for what a simulator does immediately.
	realTimeout = 15 * time.Minute
	// poll is the interval at which a condition is checked.
	poll = 100 * time.Millisecond
	// calm is the time without an event after which a test assumes that there will be none.
	calm = 2 * time.Second

	namespace = conformance.Namespace
	leaseName = "cloud-controller-manager"
)

// setup configures a test's cluster. The zero value is the usual one.
type setup struct {
	// provider is the cloud; fake if empty.
	provider string
	// balancers is the kind of load balancers of Services; without a name, the first of the cloud.
	balancers lab.BalancerKind
	// flags are added to the manager's usual ones, and override them.
	flags []string
	// noRoutes disables pod routes, which the framework reads only every ten seconds: other tests do not wait for them.
	noRoutes bool
	// simulator are the cloud's options.
	simulator lab.SimulatorOptions
	// front, where set, starts a proxy between the manager and the cloud: from the cloud's URL it returns its own.
	front func(endpoint string) string
}

// cluster is a real control plane, a simulated cloud, and ccm processes.
type cluster struct {
	t     *testing.T
	plane *lab.ControlPlane
	world conformance.World
	// live has the manager of tests with one at a time; replica starts more.
	live *lab.Live
	// driver is live as the session sees it.
	driver *driver
	// session changes the cluster, and derives from that what must exist.
	session *conformance.Session
	dir     string
	logs    []string
}

// newCluster returns an empty cluster without a running manager. It is removed when the test ends; if the test has
// failed, logs, Events and calls are printed.
func newCluster(t *testing.T, s setup) *cluster {
	t.Helper()
	if s.provider == "" {
		s.provider = fake.ProviderName
	}
	if s.balancers.Name == "" {
		s.balancers = lab.Balancers(s.provider)[0]
	}
	plane, err := planes.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, plane: plane, dir: t.TempDir()}
	t.Cleanup(func() {
		if err := c.wipe(); err != nil {
			t.Errorf("removing the test's objects: %v", err)
		}
		planes.release(plane)
	})
	cloud, err := lab.StartCloud(t.Context(), s.provider, "127.0.0.1:0", s.simulator)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	c.world = cloud.World
	config := cloud.Config
	if s.front != nil {
		config = strings.ReplaceAll(config, cloud.Endpoint, s.front(cloud.Endpoint))
	}
	if s.provider == fake.ProviderName {
		// By default, unlike other clouds, the fake one adopts every machine that a node names.
		config += "adopt-unknown-nodes = false\n"
	}
	c.live = &lab.Live{Client: plane.Client, World: cloud.World, Options: c.managerOptions(s, config)}
	t.Cleanup(func() {
		ctx, cancel := c.cleanupContext()
		defer cancel()
		c.live.Stop(ctx)
	})
	descriptor, _ := provider.Get(s.provider)
	c.driver = &driver{Live: c.live}
	c.session = conformance.NewSession(c.driver, cloud.World, descriptor.Capabilities)
	c.session.Capabilities.Routes = descriptor.Capabilities.Routes && !s.noRoutes
	c.session.ServiceAnnotations = s.balancers.ServiceAnnotations
	c.session.Timeout = testTimeout
	if s.simulator.Services != "" {
		c.session.Timeout = realTimeout
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.report()
		}
	})
	return c
}

// clear deletes everything, and waits until the cloud has its initial objects. No manager runs meanwhile: it would
// keep an instance that it has just seen for half a minute.
func (c *cluster) clear() {
	c.t.Helper()
	c.live.Stop(c.t.Context())
	c.must(c.session.Clear(c.t.Context()))
}

func (c *cluster) managerOptions(s setup, config string) lab.ManagerOptions {
	flags := s.flags
	if s.noRoutes {
		flags = append([]string{"--configure-cloud-routes=false"}, flags...)
	}
	return lab.ManagerOptions{
		Binary: planes.binaries.CCM, Provider: s.provider, ClusterName: conformance.ClusterName,
		Kubeconfig: c.plane.Kubeconfig, CloudConfig: c.write("cloud.conf", config), Log: c.log("ccm.log"),
		Args: append([]string{
			"--cluster-cidr=10.244.0.0/16",
			// One manager at a time needs no election, and a lease would delay each restart.
			"--leader-elect=false",
			// Tests run in parallel on one host.
			"--secure-port=0",
			// Periods of minutes in a cluster are shorter in a test.
			"--node-monitor-period=500ms", "--node-deletion-confirmation=1s", "--max-node-deletions=-1",
		}, flags...),
	}
}

// log returns the path of a log file that is printed if the test fails.
func (c *cluster) log(name string) string {
	path := filepath.Join(c.dir, name)
	c.logs = append(c.logs, path)
	return path
}

// write makes a file.
func (c *cluster) write(name, content string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// cleanupContext is for functions of t.Cleanup, which run after the test's own context has ended.
func (c *cluster) cleanupContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.t.Context()), testTimeout)
}

// must ends the test on an error.
func (c *cluster) must(errs ...error) {
	c.t.Helper()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatal(err)
	}
}

// start starts the manager and waits for its first call to the cloud.
func (c *cluster) start() {
	c.t.Helper()
	c.must(c.live.Start(c.t.Context(), conformance.ManagerOptions{}))
}

// converge waits until cluster and cloud have what the session wants, and nothing else.
func (c *cluster) converge(checks ...conformance.Check) {
	c.t.Helper()
	c.must(c.session.Converge(c.t.Context(), append(checks, c.consistent, c.noneTerminating)...))
}

// consistent checks the consistency of a cloud that can verify itself.
func (c *cluster) consistent(context.Context) error {
	if checker, ok := c.world.(interface{ Check() error }); ok {
		return checker.Check()
	}
	return nil
}

// noneTerminating checks that no Service waits for the deletion of its load balancer.
func (c *cluster) noneTerminating(ctx context.Context) error {
	list, err := c.plane.Client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, svc := range list.Items {
		if svc.DeletionTimestamp != nil {
			err = errors.Join(err, fmt.Errorf("service %s is still being deleted: finalizers %v", svc.Name, svc.Finalizers))
		}
	}
	return err
}

// eventually waits until check returns nil. At the timeout it ends the test with the last error.
func (c *cluster) eventually(what string, check conformance.Check) {
	c.t.Helper()
	var last error
	timeout := testTimeout
	if realServices() != "" {
		timeout = realTimeout
	}
	err := wait.PollUntilContextTimeout(c.t.Context(), poll, timeout, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		c.t.Fatalf("waiting for %s: %v", what, errors.Join(err, last))
	}
}

// unchangedFor repeats a check, which must return nil for the whole duration.
func (c *cluster) unchangedFor(d time.Duration, check conformance.Check) {
	c.t.Helper()
	deadline := time.Now().Add(d)
	c.must(wait.PollUntilContextCancel(c.t.Context(), poll, true, func(ctx context.Context) (bool, error) {
		return !time.Now().Before(deadline), check(ctx)
	}))
}

// calls returns the cloud's calls after the one with the number seq.
func (c *cluster) calls(seq int) []sim.Call {
	return slices.DeleteFunc(c.world.Front().Log().Calls(), func(call sim.Call) bool { return call.Seq <= seq })
}

// lastCall returns the number of the cloud's last call.
func (c *cluster) lastCall() int {
	seq := 0
	for _, call := range c.calls(0) {
		seq = max(seq, call.Seq)
	}
	return seq
}

// tally counts calls by name: "ListInstances 2, ListZones 1".
func tally(calls []sim.Call) string {
	counts := map[string]int{}
	for _, call := range calls {
		counts[call.Name]++
	}
	var out []string
	for name, n := range counts {
		out = append(out, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// ccm runs the binary to its end.
func ccm(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, planes.binaries.CCM, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("ccm %s: %v", strings.Join(args, " "), err)
	}
	if ctx.Err() != nil {
		t.Fatalf("ccm %s did not end within %s:\n%s", strings.Join(args, " "), testTimeout, errOut.String())
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// service returns a Service of type LoadBalancer with TCP ports.
func service(name string, ports ...int32) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name}},
	}
	for _, p := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: fmt.Sprintf("tcp-%d", p), Protocol: v1.ProtocolTCP, Port: p})
	}
	return svc
}

// called reports whether one of the calls has the name.
func called(calls []sim.Call, name string) bool {
	return slices.ContainsFunc(calls, func(call sim.Call) bool { return call.Name == name })
}
