package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
)

// vSphereManager is the environment variable with the path of a vsphere-cloud-controller-manager.
const vSphereManager = "VSPHERE_CCM_BIN"

// takeOverTime is the time for which a manager that takes over is observed after its first read of everything: longer
// than the periods of routes (10s) and of the clean-up of the vSphere cloud controller manager (1s after its start).
const takeOverTime = 15 * time.Second

// TestTakeOverFromVSphereManagerAndBack runs the vSphere cloud controller manager and this one in turn on one cluster.
// Each finds what the other created as it wants it, and changes nothing, neither in the cloud nor at Nodes and Services;
// the last one deletes everything.
func TestTakeOverFromVSphereManagerAndBack(t *testing.T) {
	t.Parallel()
	binary := os.Getenv(vSphereManager)
	if binary == "" {
		t.Skip("$" + vSphereManager + " is not set: hack/sim-clients-vsphere.sh builds that manager and runs this test")
	}
	c := newCluster(t, setup{provider: vsphere.ProviderName})
	ours := c.live.Options
	theirs := ours
	theirs.Binary, theirs.Log = binary, c.log("vsphere-ccm.log")
	theirs.Args = []string{"--cluster-cidr=10.244.0.0/16", "--leader-elect=false", "--secure-port=0", "-v=2"}

	c.live.Options = theirs
	c.must(c.session.JoinN(t.Context(), 3))
	web, dns := service("web", 80, 443), service("dns", 53)
	dns.Spec.Ports[0].Protocol = v1.ProtocolUDP
	c.must(c.session.Put(t.Context(), web), c.session.Put(t.Context(), dns))
	c.start()
	c.eventually("initialised nodes", func(ctx context.Context) error {
		nodes, err := c.plane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil && slices.ContainsFunc(nodes.Items, func(n v1.Node) bool { return !lab.IsInitialised(n) }) {
			err = errors.New("a node is not initialised")
		}
		return err
	})
	// It adds routes only for nodes that had their addresses when it started.
	c.must(c.live.Restart(t.Context(), conformance.ManagerOptions{}))
	c.converge()
	c.figures("vsphere-cloud-controller-manager creates", 0)

	c.takeOver("ccm takes over", ours)
	c.takeOver("vsphere-cloud-controller-manager takes over again", theirs)
	c.takeOver("ccm takes over again", ours)

	before := c.lastCall()
	c.must(c.session.JoinN(t.Context(), 1), c.session.Put(t.Context(), service("api", 6443)))
	c.converge()
	c.figures("ccm adds a node and a Service", before)
	c.takeOver("vsphere-cloud-controller-manager takes over what ccm created", theirs)
	c.clear()
}

// takeOver starts another manager, and checks for a while that it changes nothing.
func (c *cluster) takeOver(what string, next lab.ManagerOptions) {
	c.t.Helper()
	ctx := c.t.Context()
	c.live.Stop(ctx)
	c.live.Options = next
	before, state := c.lastCall(), c.state(ctx)
	unchanged := c.session.Unchanged()
	c.must(c.live.Start(ctx, conformance.ManagerOptions{}))
	c.eventually(what+": reads of machines, virtual servers and routes", func(context.Context) error {
		calls := c.calls(before)
		for _, names := range [][]string{{"RetrievePropertiesEx", "RetrieveProperties"}, {"GET lb-virtual-servers"},
			{"GET static-routes", "GET query"}} {
			if !slices.ContainsFunc(names, func(name string) bool { return called(calls, name) }) {
				return fmt.Errorf("none of %v in %s", names, tally(calls))
			}
		}
		return nil
	})
	c.unchangedFor(takeOverTime, func(ctx context.Context) error {
		err := unchanged(ctx)
		if now := c.state(ctx); now != state {
			err = errors.Join(err, fmt.Errorf("changed from\n%s\nto\n%s", state, now))
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return err
	})
	c.figures(what, before)
}

// state returns what a user sees of the cloud and the cluster: all objects with their fields, and what managers write
// to Nodes and Services, without the record that this manager keeps of each Service.
func (c *cluster) state(ctx context.Context) string {
	c.t.Helper()
	lines := []string{}
	add := func(value any) {
		content, err := json.Marshal(value)
		c.must(err)
		lines = append(lines, string(content))
	}
	for _, object := range c.world.(world.Inventory).Inventory() {
		add(object)
	}
	nodes, err := c.plane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	c.must(err)
	for _, n := range nodes.Items {
		add([]any{n.Name, n.Labels, n.Annotations, n.Spec, n.Status.Addresses})
	}
	services, err := c.plane.Client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	c.must(err)
	for _, s := range services.Items {
		s.Status.Conditions = slices.DeleteFunc(s.Status.Conditions, func(condition metav1.Condition) bool {
			return condition.Type == loadbalancer.ConditionHistory
		})
		add([]any{s.Name, s.Labels, s.Annotations, s.Finalizers, s.Spec, s.Status})
	}
	return strings.Join(lines, "\n")
}

// figures logs the calls since a number and the memory of the manager.
func (c *cluster) figures(what string, before int) {
	c.t.Helper()
	byService, writes := map[string]int{}, 0
	calls := c.calls(before)
	for _, call := range calls {
		byService[call.Service]++
		if call.Mutating {
			writes++
		}
	}
	usage, err := c.live.Manager().Usage()
	c.must(err)
	c.t.Logf("%s: %d calls (vCenter %d, tags %d, NSX-T %d, of these %d writes), %d MiB at its peak", what, len(calls),
		byService["vim"], byService["rest"], byService["nsxt"], writes, usage.PeakMemory>>20)
}
