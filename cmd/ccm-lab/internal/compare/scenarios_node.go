package compare

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/yaml"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

const (
	groupNodes = "Nodes"
	// nodeTimeout is the timeout for a node that joins.
	nodeTimeout = 30 * time.Second
	// machineTimeout is the timeout for the effect of a machine's state on its node. The framework checks every 5 seconds,
	// and managers may answer from a snapshot, and confirm that a machine does not exist.
	machineTimeout = 90 * time.Second
	// safetyTime is the time in which a node must not be deleted: longer than the max age of a snapshot.
	safetyTime = 45 * time.Second
)

// nodeScenario returns the scenario of a feature of nodes.
func nodeScenario(id, title, detail string, run trialFunc) Scenario {
	return Scenario{
		ID: "node." + id, Group: groupNodes, Title: title, Detail: detail,
		Declared: func(d provider.Descriptor) report.Verdict {
			if d.Capabilities.InstancesV2 {
				return report.Works
			}
			return report.NotApplicable
		},
		Run: run,
	}
}

func nodeScenarios() []Scenario {
	return []Scenario{
		nodeScenario("provider-id", "Provider ID", "A node that joins gets a provider ID, and loses the uninitialized taint.",
			describesNode("a provider ID and no uninitialized taint", func(n *v1.Node, _ world.Machine) (want, got string) {
				return "set", setOrEmpty(n.Spec.ProviderID != "" && lab.IsInitialised(*n))
			})),
		nodeScenario("internal-ip", "Internal address, IPv4", "The node has an IPv4 address of type InternalIP.",
			describesNode("InternalIP, IPv4", func(n *v1.Node, _ world.Machine) (want, got string) {
				return "set", setOrEmpty(hasInternal(n, netip.Addr.Is4))
			})),
		{
			ID: "node.internal-ip-ipv6", Group: groupNodes, Title: "Internal address, IPv6",
			Detail: "On a dual-stack network, the node has an IPv6 address of type InternalIP.", Run: internalIPv6,
			Declared: func(d provider.Descriptor) report.Verdict {
				if d.Capabilities.InstancesV2 {
					return "" // A descriptor claims nothing about families.
				}
				return report.NotApplicable
			},
		},
		nodeScenario("instance-type", "Instance type", "The label "+v1.LabelInstanceTypeStable+" is the machine's type.",
			describesNode(v1.LabelInstanceTypeStable, func(n *v1.Node, m world.Machine) (want, got string) {
				return m.Type, n.Labels[v1.LabelInstanceTypeStable]
			})),
		nodeScenario("zone", "Zone", "The label "+v1.LabelTopologyZone+" is the machine's zone.",
			describesNode(v1.LabelTopologyZone, func(n *v1.Node, m world.Machine) (want, got string) {
				return m.Zone, n.Labels[v1.LabelTopologyZone]
			})),
		nodeScenario("region", "Region", "The label "+v1.LabelTopologyRegion+" is the machine's region.",
			describesNode(v1.LabelTopologyRegion, func(n *v1.Node, m world.Machine) (want, got string) {
				return m.Region, n.Labels[v1.LabelTopologyRegion]
			})),
		nodeScenario("shutdown", "Machine stopped",
			"A node that stops reporting gets the shutdown taint when its machine is stopped.",
			machineStopped).asPeriodic(),
		nodeScenario("deleted", "Machine deleted", "A node that stops reporting is deleted when its machine does not exist "+
			"any more.",
			machineDeleted).asPeriodic(),
		nodeScenario("api-failure", "Failing cloud API",
			"A node that stops reporting stays while all calls to the cloud fail.",
			survivesFault(sim.FaultError)).asPeriodic(),
		nodeScenario("api-throttled", "Throttling cloud API",
			"A node that stops reporting stays while all calls are throttled.",
			survivesFault(sim.FaultThrottle)).asPeriodic(),
		nodeScenario("foreign", "Node of another cloud",
			"A node with the provider ID of another cloud stays as it is when it stops reporting.", foreignNode).asPeriodic(),
	}
}

// internalIPv6 is not applicable if the cloud shows no IPv6 address of the machine.
func internalIPv6(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	verdict, summary, err := describesNode("InternalIP, IPv6", func(n *v1.Node, _ world.Machine) (want, got string) {
		return "set", setOrEmpty(hasInternal(n, netip.Addr.Is6))
	})(ctx, t)
	if verdict == report.Ignored && !hasIPv6(world.ChangedObjects(t.before, t.inventory())) {
		return report.NotApplicable, "The machines of the simulated cloud have no IPv6 address.", err
	}
	return verdict, summary, err
}

// hasIPv6 reports whether a field of an object is an IPv6 address.
func hasIPv6(objects []world.Object) bool {
	for _, o := range objects {
		for _, value := range o.Fields {
			for part := range strings.SplitSeq(value, ", ") {
				if addr, err := netip.ParseAddr(part); err == nil && addr.Is6() {
					return true
				}
			}
		}
	}
	return false
}

func setOrEmpty(set bool) string {
	if set {
		return "set"
	}
	return ""
}

// hasInternal reports whether a node has an internal address of a family.
func hasInternal(n *v1.Node, family func(netip.Addr) bool) bool {
	return slices.ContainsFunc(n.Status.Addresses, func(a v1.NodeAddress) bool {
		addr, err := netip.ParseAddr(a.Address)
		return a.Type == v1.NodeInternalIP && err == nil && family(addr)
	})
}

// joinInitialised launches a machine, registers its node and waits until it is initialised and has the cloud's
// addresses, which the framework writes after it has removed the taint.
func (t *Trial) joinInitialised(ctx context.Context) (*v1.Node, error) {
	t.begin()
	name, err := t.join(ctx, t.namespace)
	if err != nil {
		return nil, err
	}
	var node *v1.Node
	err = t.waitFor(ctx, t.scaled(nodeTimeout), func(ctx context.Context) (bool, error) {
		node, err = t.live.Node(ctx, name)
		return err == nil && node != nil && lab.IsInitialised(*node) && (hasInternal(node, netip.Addr.Is4) ||
			hasInternal(node, netip.Addr.Is6)) || t.unsupported(withoutInstances) != "", err
	})
	return requireNode(name, node, err)
}

// requireNode returns a node, or an error for one that the manager has deleted.
func requireNode(name string, node *v1.Node, err error) (*v1.Node, error) {
	if err == nil && node == nil {
		return nil, fmt.Errorf("the manager has deleted node %s, which joins", name)
	}
	return node, err
}

// observeNode adds a node and its Events to the evidence, and returns the last warning.
func (t *Trial) observeNode(ctx context.Context, name string) (node *v1.Node, warning string, err error) {
	if node, err = t.live.Node(ctx, name); err != nil {
		return nil, "", err
	}
	events, err := t.collectEvents(ctx, "Node", "", name)
	if err != nil {
		return nil, "", err
	}
	t.evidence.Status = "# the node is deleted\n"
	if node != nil {
		shown := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels}, Spec: node.Spec,
			Status: v1.NodeStatus{Addresses: node.Status.Addresses, Conditions: node.Status.Conditions}}
		text, err := yaml.Marshal(shown)
		if err != nil {
			return nil, "", err
		}
		t.evidence.Status = withoutServerFields(string(text))
	}
	return node, warningOf(events), nil
}

// decideNode returns the verdict about checks of a node.
func (t *Trial) decideNode(warning string, checks ...report.Check) (report.Verdict, string) {
	if line := t.unsupported(withoutInstances); line != "" {
		return report.NotApplicable, "The manager has no instances: " + line
	}
	return decide(observation{exists: true, effect: checks, warning: warning})
}

// describesNode joins a node and compares what the manager says about it with the machine.
func describesNode(what string, compare func(*v1.Node, world.Machine) (want, got string)) trialFunc {
	return func(ctx context.Context, t *Trial) (report.Verdict, string, error) {
		joined, err := t.joinInitialised(ctx)
		if err != nil {
			return "", "", err
		}
		machine, err := t.cluster.Cloud.World.Machine(joined.Name)
		if err != nil {
			return "", "", err
		}
		node, warning, err := t.observeNode(ctx, joined.Name)
		if node, err = requireNode(joined.Name, node, err); err != nil {
			return "", "", err
		}
		want, got := compare(node, machine)
		verdict, summary := t.decideNode(warning, t.check(what, want, got))
		return verdict, summary, nil
	}
}

func machineStopped(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	node, err := t.joinInitialised(ctx)
	if err != nil {
		return "", "", err
	}
	if err := t.cluster.Cloud.World.Stop(node.Name); err != nil {
		return "", "", err
	}
	if err := t.live.SetReady(ctx, node.Name, false); err != nil {
		return "", "", err
	}
	tainted := func(n *v1.Node) bool {
		return n != nil && slices.ContainsFunc(n.Spec.Taints, func(taint v1.Taint) bool {
			return taint.Key == cloudproviderapi.TaintNodeShutdown
		})
	}
	err = t.waitFor(ctx, machineTimeout, func(ctx context.Context) (bool, error) {
		n, err := t.live.Node(ctx, node.Name)
		return n == nil || tainted(n) || t.unsupported(withoutInstances) != "", err
	})
	if err != nil {
		return "", "", err
	}
	current, warning, err := t.observeNode(ctx, node.Name)
	if err != nil {
		return "", "", err
	}
	checks := []report.Check{
		t.check("node", "exists", nodeState(current)),
		t.check("taint "+cloudproviderapi.TaintNodeShutdown, "set", setOrEmpty(tainted(current))),
	}
	verdict, summary := t.decideNode(warning, checks...)
	return verdict, summary, nil
}

func nodeState(n *v1.Node) string {
	if n == nil {
		return "deleted"
	}
	return "exists"
}

func machineDeleted(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	node, err := t.joinInitialised(ctx)
	if err != nil {
		return "", "", err
	}
	if err := t.terminate(); err != nil {
		return "", "", err
	}
	return t.stopReporting(ctx, node.Name, machineTimeout, "deleted")
}

// stopReporting makes a node stop reporting, and checks whether it exists after the timeout, or once it is deleted.
func (t *Trial) stopReporting(ctx context.Context, name string, timeout time.Duration, want string) (
	report.Verdict, string, error) {
	if err := t.live.SetReady(ctx, name, false); err != nil {
		return "", "", err
	}
	err := t.waitFor(ctx, timeout, func(ctx context.Context) (bool, error) {
		n, err := t.live.Node(ctx, name)
		return err == nil && n == nil || t.unsupported(withoutInstances) != "", err
	})
	if err != nil {
		return "", "", err
	}
	current, warning, err := t.observeNode(ctx, name)
	if err != nil {
		return "", "", err
	}
	verdict, summary := t.decideNode(warning, t.check("node", want, nodeState(current)))
	return verdict, summary, nil
}

// survivesFault lets all calls to the cloud fail while a node does not report.
func survivesFault(kind sim.FaultKind) trialFunc {
	return func(ctx context.Context, t *Trial) (report.Verdict, string, error) {
		node, err := t.joinInitialised(ctx)
		if err != nil {
			return "", "", err
		}
		front := t.cluster.Cloud.World.Front()
		front.SetFaults(sim.Fault{Kind: kind})
		defer front.SetFaults()
		return t.stopReporting(ctx, node.Name, safetyTime, "exists")
	}
}

// foreignID is a provider ID of no simulated cloud.
const foreignID = "other-cloud://zone/machine-1"

func foreignNode(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	t.begin()
	node := world.Machine{Name: "other-cloud-1"}.Node()
	node.Spec.ProviderID = foreignID
	if err := t.manifest(manifestOf(node)); err != nil {
		return "", "", err
	}
	if err := lab.RegisterNode(ctx, t.cluster.Plane.Client, node); err != nil {
		return "", "", err
	}
	t.addCleanup(func(ctx context.Context) error { return t.live.DeleteNode(ctx, node.Name) })
	verdict, summary, err := t.stopReporting(ctx, node.Name, safetyTime, "exists")
	if err != nil || verdict != report.Works {
		return verdict, summary, err
	}
	current, warning, err := t.observeNode(ctx, node.Name)
	if current, err = requireNode(node.Name, current, err); err != nil {
		return "", "", err
	}
	taints := func(n *v1.Node) string {
		var keys []string
		for _, taint := range n.Spec.Taints {
			// Admission and other controllers set further ones.
			if taint.Key == cloudproviderapi.TaintExternalCloudProvider || taint.Key == cloudproviderapi.TaintNodeShutdown {
				keys = append(keys, taint.Key)
			}
		}
		return strings.Join(keys, ", ")
	}
	verdict, summary = t.decideNode(warning, t.check("node", "exists", nodeState(current)),
		t.check("provider ID", foreignID, current.Spec.ProviderID), t.check("taints", taints(node), taints(current)))
	return verdict, summary, nil
}
