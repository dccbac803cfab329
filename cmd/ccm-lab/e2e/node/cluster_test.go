package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

const (
	system    = metav1.NamespaceSystem
	release   = "unified-ccm"
	leaseName = "cloud-controller-manager"
	// controlPlaneLabel is on nodes that the manager's pods may run on.
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
)

// publicRange is where the load balancers of cloud fake receive traffic.
var publicRange = netip.MustParsePrefix("198.51.100.0/24")

// cluster is a control plane, a simulated cloud, and machines of it that run kubelets.
type cluster struct {
	t        *testing.T
	provider string
	cloud    *lab.Cloud
	plane    *plane
	machines map[string]*machine
	started  time.Time
}

// newCluster returns a cluster on a cloud with machines whose nodes have registered. It ends with the test.
func newCluster(t *testing.T, provider string, nodes int) *cluster {
	t.Helper()
	c := &cluster{t: t, provider: provider, machines: map[string]*machine{}, started: time.Now()}
	dir := folder(t)
	options := lab.SimulatorOptions{}
	if provider == fake.ProviderName {
		options = lab.SimulatorOptions{Proxy: true, Public: []netip.Prefix{publicRange},
			Instances: []netip.Prefix{netip.MustParsePrefix("10.240.0.0/16")}}
	}
	var err error
	c.cloud, err = lab.StartCloud(t.Context(), provider, planeAddress+":0", options)
	c.must(err)
	t.Cleanup(func() { c.check(c.cloud.Close()) })
	c.step("starting the control plane")
	c.plane, err = startPlane(t.Context(), dir)
	if c.plane != nil {
		t.Cleanup(c.plane.stop)
	}
	c.must(err)
	t.Cleanup(func() {
		for _, m := range c.machines {
			c.check(m.stop(context.WithoutCancel(t.Context())))
		}
	})
	t.Cleanup(c.report)
	for i := range nodes {
		c.launch(fmt.Sprintf("node-%d", i+1))
	}
	return c
}

// launch starts a machine of the cloud and waits until its kubelet has registered the node with the taint.
func (c *cluster) launch(name string) {
	c.t.Helper()
	c.step("starting a kubelet on machine %s", name)
	_, err := c.cloud.World.Launch(world.Machine{Name: name})
	c.must(err)
	addresses, ok := c.cloud.World.(world.InternalIPs)
	if !ok {
		c.t.Fatalf("the simulated cloud %s does not report the addresses of its machines", c.provider)
	}
	address, err := addresses.InternalIP(name)
	c.must(err)
	m, err := startMachine(c.t.Context(), c.plane, name, address)
	if m != nil {
		c.machines[name] = m
	}
	c.must(err)
	c.await("the node of "+name, func(ctx context.Context) error {
		node, err := c.node(ctx, name)
		if err == nil && !tainted(node, cloudproviderapi.TaintExternalCloudProvider) {
			return fmt.Errorf("node %s has registered without the taint: %v", name, node.Spec.Taints)
		}
		return err
	})
	// As kubeadm does: a kubelet may not set this label itself.
	_, err = c.kubectl("label", "node", name, controlPlaneLabel+"=")
	c.must(err)
}

func (c *cluster) node(ctx context.Context, name string) (*v1.Node, error) {
	return c.plane.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

func tainted(node *v1.Node, key string) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == key {
			return true
		}
	}
	return false
}

// startPodNetworks does what a network plugin does once a node has its range of addresses, and waits for ready nodes.
func (c *cluster) startPodNetworks() {
	c.t.Helper()
	c.step("starting the pod network")
	for name, m := range c.machines {
		c.await("the pod range of "+name, func(ctx context.Context) error {
			node, err := c.node(ctx, name)
			if err == nil && node.Spec.PodCIDR == "" {
				return errors.New("it has none")
			}
			if err == nil {
				err = m.startPodNetwork(ctx, node.Spec.PodCIDR)
			}
			return err
		})
	}
	for name := range c.machines {
		c.await("node "+name, func(ctx context.Context) error {
			node, err := c.node(ctx, name)
			if err == nil && !ready(node) {
				return fmt.Errorf("it is not ready: %+v", node.Status.Conditions)
			}
			return err
		})
	}
}

func ready(node *v1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}

// helm runs Helm on the cluster.
func (c *cluster) helm(args ...string) (string, error) {
	return run(c.t.Context(), append([]string{program("tools/helm4"), "--kubeconfig=" + c.plane.admin(),
		"--namespace=" + system}, args...)...)
}

// chart is the folder of the chart.
func chart() string { return filepath.Join(os.Getenv("CCM_E2E_BIN"), "..", "deploy", "chart") }

// kubectl runs kubectl on the cluster.
func (c *cluster) kubectl(args ...string) (string, error) {
	return run(c.t.Context(), append([]string{program("kubectl"), "--kubeconfig=" + c.plane.admin()}, args...)...)
}

// apply creates objects from YAML.
func (c *cluster) apply(manifest string) {
	c.t.Helper()
	path := c.plane.file("manifest.yaml")
	c.must(os.WriteFile(path, []byte(manifest), 0o600))
	_, err := c.kubectl("apply", "-f", path)
	c.must(err)
}

// step prints what the test does next, and the seconds since its start.
func (c *cluster) step(format string, args ...any) {
	fmt.Printf("%5.0f s  %-9s %s\n", time.Since(c.started).Seconds(), c.provider, fmt.Sprintf(format, args...))
}

func (c *cluster) await(what string, condition func(context.Context) error) {
	c.t.Helper()
	if err := await(c.t.Context(), testTimeout, condition); err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}

func (c *cluster) must(errs ...error) {
	c.t.Helper()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Error(err)
	}
}

// report prints the end of all logs if the test has failed.
func (c *cluster) report() {
	if !c.t.Failed() {
		return
	}
	out, _ := run(context.WithoutCancel(c.t.Context()), program("kubectl"), "--kubeconfig="+c.plane.admin(), "get",
		"nodes,pods,services,events", "-A", "-o", "wide")
	c.t.Log(out)
	processes := c.plane.processes
	for _, m := range c.machines {
		processes = append(processes, m.processes...)
	}
	for _, p := range processes {
		c.t.Logf("%s:\n%s", p.log, p.tail(6))
	}
	logs, _ := filepath.Glob(filepath.Join(c.plane.dir, "*", "pods", "*ccm*", "*", "*.log"))
	for _, path := range logs {
		content, _ := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		c.t.Logf("%s:\n%s", path, strings.Join(lines[max(0, len(lines)-12):], "\n"))
	}
}
