package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce"
)

// gceManager is the environment variable with the path of the cloud-controller-manager of cloud-provider-gcp.
const gceManager = "GCE_CCM_BIN"

// podNodes is the number of nodes that get podCIDRs.
const podNodes = 10

// podsOf is what managers make of a cluster's pod ranges.
type podsOf struct {
	// Nodes are the podCIDRs of each node with its condition NetworkUnavailable, and Routes the routes in the cloud.
	Nodes  map[string]string
	Routes []world.Route
}

// TestPodCIDRsBesideGCEManager gives nodes podCIDRs with the manager of cloud-provider-gcp and with this one, on equal
// clouds: both choose the same ranges, conditions and routes. Then each takes over from the other, and changes nothing,
// neither at Nodes nor in the cloud.
func TestPodCIDRsBesideGCEManager(t *testing.T) {
	t.Parallel()
	binary := os.Getenv(gceManager)
	if binary == "" {
		t.Skip("$" + gceManager + " is not set: hack/sim-clients-gce.sh runs this test with that manager")
	}
	for name, c := range map[string]struct {
		flags  []string
		pods   netip.Prefix
		routes int
	}{
		"alias ranges": {[]string{"--cidr-allocator-type=CloudAllocator", "--configure-cloud-routes=false"},
			netip.MustParsePrefix("10.244.0.0/16"), 0},
		"ranges with routes": {[]string{"--cidr-allocator-type=RangeAllocator", "--configure-cloud-routes=true",
			"--route-reconciliation-period=2s"}, netip.Prefix{}, podNodes},
	} {
		t.Run(name, func(t *testing.T) {
			flags := append([]string{"--allocate-node-cidrs", "--controllers=*,node-ipam-controller"}, c.flags...)
			cluster := func() *gceCluster { return newGCECluster(t, binary, lab.SimulatorOptions{Pods: c.pods}, flags...) }
			ours, theirs := cluster(), cluster()
			theirs.live.Options = theirs.theirs
			got, want := ours.allocate("ccm", c.routes), theirs.allocate("cloud-provider-gcp", c.routes)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("podCIDRs, conditions and routes (-cloud-provider-gcp +ccm):\n%s", diff)
			}
			theirs.takeOver("ccm takes over from cloud-provider-gcp", theirs.ours)
			theirs.takeOver("cloud-provider-gcp takes over again", theirs.theirs)
			ours.takeOver("cloud-provider-gcp takes over from ccm", ours.theirs)
			ours.takeOver("ccm takes over again", ours.ours)
		})
	}
}

// gceCluster is a cluster on Compute Engine with either manager.
type gceCluster struct {
	*cluster
	ours, theirs lab.ManagerOptions
}

func newGCECluster(t *testing.T, binary string, o lab.SimulatorOptions, flags ...string) *gceCluster {
	t.Helper()
	address := ""
	c := newCluster(t, setup{provider: gce.ProviderName, flags: flags, simulator: o, front: func(endpoint string) string {
		address = strings.TrimPrefix(endpoint, "http://")
		return endpoint
	}})
	out := &gceCluster{cluster: c, ours: c.live.Options, theirs: c.live.Options}
	out.theirs.Binary, out.theirs.Log = binary, c.log("gce-ccm.log")
	out.theirs.Environment = []string{"GCE_METADATA_HOST=" + address} // which has the tokens of this manager
	out.theirs.Args = append([]string{"--cluster-cidr=10.244.0.0/16", "--leader-elect=false", "--secure-port=0", "-v=2"},
		flags...)
	return out
}

// allocate starts the manager, joins the nodes one after the other, and returns what they get.
func (c *gceCluster) allocate(what string, routes int) podsOf {
	c.t.Helper()
	ctx := c.t.Context()
	patches := c.nodePatches(ctx)
	var nodes []*v1.Node
	for i := range podNodes {
		node, err := c.world.Launch(world.Machine{Name: fmt.Sprintf("node-%d", i)})
		c.must(err)
		node.Spec.PodCIDR, node.Spec.PodCIDRs = "", nil // which kubelets leave to a manager
		nodes = append(nodes, node)
	}
	c.must(lab.RegisterNode(ctx, c.plane.Client, nodes[0]))
	c.start()
	for i, node := range nodes {
		if i > 0 {
			c.must(lab.RegisterNode(ctx, c.plane.Client, node))
		}
		c.eventually("the podCIDR of "+node.Name, func(ctx context.Context) error {
			n, err := c.live.Node(ctx, node.Name)
			if err == nil && (n == nil || n.Spec.PodCIDR == "" || networkCondition(n) == "") {
				err = errors.New("it has no podCIDR, or no condition of its network")
			}
			return err
		})
	}
	c.eventually("routes", func(context.Context) error {
		if got := len(c.world.Routes()); got != routes {
			return fmt.Errorf("%d routes, want %d", got, routes)
		}
		return nil
	})
	if n := c.nodePatches(ctx) - patches; n < podNodes {
		c.t.Errorf("%s: the API server has counted %d patches of %d Nodes", what, n, podNodes)
	}
	c.callFigures(what, 0)
	return c.pods(ctx)
}

func (c *gceCluster) pods(ctx context.Context) podsOf {
	c.t.Helper()
	list, err := c.plane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	c.must(err)
	out := podsOf{Nodes: map[string]string{}, Routes: c.world.Routes()}
	for _, n := range list.Items {
		out.Nodes[n.Name] = strings.Join(n.Spec.PodCIDRs, ",") + " " + networkCondition(&n)
	}
	return out
}

// networkCondition returns the status and the reason of the condition NetworkUnavailable.
func networkCondition(n *v1.Node) string {
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeNetworkUnavailable {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// takeOver starts another manager, and checks for a while that it changes nothing.
func (c *gceCluster) takeOver(what string, next lab.ManagerOptions) {
	c.t.Helper()
	ctx := c.t.Context()
	c.live.Stop(ctx)
	c.live.Options = next
	state := func(ctx context.Context) string { return c.state(ctx) + fmt.Sprint(c.pods(ctx)) }
	before, unchanged, patches := c.lastCall(), state(ctx), c.nodePatches(ctx)
	c.start()
	c.eventually(what+": a read of each instance", func(context.Context) error {
		if len(c.calls(before)) == 0 {
			return errors.New("no call")
		}
		return nil
	})
	c.unchangedFor(takeOverTime, func(ctx context.Context) error {
		if now := state(ctx); now != unchanged {
			return fmt.Errorf("%s: changed from\n%s\nto\n%s", what, unchanged, now)
		}
		return nil
	})
	if n := c.nodePatches(ctx) - patches; n != 0 {
		c.t.Errorf("%s: %d patches of Nodes, want none", what, n)
	}
	c.callFigures(what, before)
}

// nodePatches returns the number of patches of Nodes without those of their status, which the API server has counted:
// one that sets what is there changes nothing that can be seen at the Node.
func (c *gceCluster) nodePatches(ctx context.Context) int {
	c.t.Helper()
	body, err := c.plane.Client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	c.must(err)
	total := 0
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(series, "apiserver_request_total{") || !strings.Contains(series, `resource="nodes"`) ||
			!strings.Contains(series, `subresource=""`) || !strings.Contains(series, `verb="PATCH"`) {
			continue
		}
		n, err := strconv.Atoi(value)
		c.must(err)
		total += n
	}
	return total
}

// callFigures logs the calls to the cloud since a number and the memory of the manager.
func (c *gceCluster) callFigures(what string, before int) {
	c.t.Helper()
	writes, calls := 0, c.calls(before)
	for _, call := range calls {
		if call.Mutating {
			writes++
		}
	}
	usage, err := c.live.Manager().Usage()
	c.must(err)
	c.t.Logf("%s: %d calls, of these %d writes, %d MiB at its peak; %s", what, len(calls), writes,
		usage.PeakMemory>>20, tally(calls))
}
