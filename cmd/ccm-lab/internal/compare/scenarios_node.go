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

// instances returns the scenario of a feature of nodes.
func instances(id, title, detail string, run func(context.Context, *Trial) (report.Verdict, string, error)) Scenario {
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
		instances("provider-id", "Provider ID", "A node that joins gets a provider ID, and loses the uninitialized taint.",
			describes("a provider ID and no uninitialized taint", func(n *v1.Node, _ world.Machine) (want, got string) {
				return "set", setOrNot(n.Spec.ProviderID != "" && lab.IsInitialised(*n))
			})),
		instances("internal-ip", "Internal address, IPv4", "The node has an IPv4 address of type InternalIP.",
			describes("InternalIP, IPv4", func(n *v1.Node, _ world.Machine) (want, got string) {
				return "set", setOrNot(hasInternal(n, netip.Addr.Is4))
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
		instances("instance-type", "Instance type", "The label "+v1.LabelInstanceTypeStable+" is the machine's type.",
			describes(v1.LabelInstanceTypeStable, func(n *v1.Node, m world.Machine) (want, got string) {
				return m.Type, n.Labels[v1.LabelInstanceTypeStable]
			})),
		instances("zone", "Zone", "The label "+v1.LabelTopologyZone+" is the machine's zone.",
			describes(v1.LabelTopologyZone, func(n *v1.Node, m world.Machine) (want, got string) {
				return m.Zone, n.Labels[v1.LabelTopologyZone]
			})),
		instances("region", "Region", "The label "+v1.LabelTopologyRegion+" is the machine's region.",
			describes(v1.LabelTopologyRegion, func(n *v1.Node, m world.Machine) (want, got string) {
				return m.Region, n.Labels[v1.LabelTopologyRegion]
			})),
		instances("shutdown", "Machine stopped", "A node that stops reporting gets the shutdown taint when its machine is "+
			"stopped.",
			stopped).periodic(),
		instances("deleted", "Machine deleted", "A node that stops reporting is deleted when its machine does not exist "+
			"any more.",
			deleted).periodic(),
		instances("api-failure", "Failing cloud API", "A node that stops reporting stays while all calls to the cloud fail.",
			survivesFault(sim.FaultError)).periodic(),
		instances("api-throttled", "Throttling cloud API", "A node that stops reporting stays while all calls are throttled.",
			survivesFault(sim.FaultThrottle)).periodic(),
		instances("foreign", "Node of another cloud",
			"A node with the provider ID of another cloud stays as it is when it stops reporting.", foreignNode).periodic(),
	}
}

// internalIPv6 is not applicable if the cloud shows no IPv6 address of the machine.
func internalIPv6(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	verdict, summary, err := describes("InternalIP, IPv6", func(n *v1.Node, _ world.Machine) (want, got string) {
		return "set", setOrNot(hasInternal(n, netip.Addr.Is6))
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

func setOrNot(set bool) string {
	if set {
		return "set"
	}
	return ""
}

func hasInternal(n *v1.Node, family func(netip.Addr) bool) bool {
	return slices.ContainsFunc(n.Status.Addresses, func(a v1.NodeAddress) bool {
		addr, err := netip.ParseAddr(a.Address)
		return a.Type == v1.NodeInternalIP && err == nil && family(addr)
	})
}

// joined launches a machine, registers its node and waits until it is initialised and has the cloud's addresses, which
// the framework writes after it has removed the taint.
func (t *Trial) joined(ctx context.Context) (*v1.Node, error) {
	t.begin()
	name, err := t.join(ctx, t.namespace)
	if err != nil {
		return nil, err
	}
	var node *v1.Node
	err = t.until(ctx, t.scaled(nodeTimeout), func(ctx context.Context) (bool, error) {
		node, err = t.live.Node(ctx, name)
		return err == nil && node != nil && lab.IsInitialised(*node) && (hasInternal(node, netip.Addr.Is4) ||
			hasInternal(node, netip.Addr.Is6)) || t.unsupported(withoutInstances) != "", err
	})
	return existing(name, node, err)
}

// existing returns a node, or an error for one that the manager has deleted.
func existing(name string, node *v1.Node, err error) (*v1.Node, error) {
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

// describes joins a node and compares what the manager says about it with the machine.
func describes(what string, compare func(*v1.Node, world.Machine) (want, got string)) func(context.Context, *Trial) (
	report.Verdict, string, error) {
	return func(ctx context.Context, t *Trial) (report.Verdict, string, error) {
		joined, err := t.joined(ctx)
		if err != nil {
			return "", "", err
		}
		machine, err := t.cluster.Cloud.World.Machine(joined.Name)
		if err != nil {
			return "", "", err
		}
		node, warning, err := t.observeNode(ctx, joined.Name)
		if node, err = existing(joined.Name, node, err); err != nil {
			return "", "", err
		}
		want, got := compare(node, machine)
		verdict, summary := t.decideNode(warning, t.check(what, want, got))
		return verdict, summary, nil
	}
}

func stopped(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	node, err := t.joined(ctx)
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
	err = t.until(ctx, machineTimeout, func(ctx context.Context) (bool, error) {
		n, err := t.live.Node(ctx, node.Name)
		return n == nil || tainted(n) || t.unsupported(withoutInstances) != "", err
	})
	if err != nil {
		return "", "", err
	}
	now, warning, err := t.observeNode(ctx, node.Name)
	if err != nil {
		return "", "", err
	}
	checks := []report.Check{
		t.check("node", "exists", existence(now)),
		t.check("taint "+cloudproviderapi.TaintNodeShutdown, "set", setOrNot(tainted(now))),
	}
	verdict, summary := t.decideNode(warning, checks...)
	return verdict, summary, nil
}

func existence(n *v1.Node) string {
	if n == nil {
		return "deleted"
	}
	return "exists"
}

func deleted(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	node, err := t.joined(ctx)
	if err != nil {
		return "", "", err
	}
	if err := t.terminate(); err != nil {
		return "", "", err
	}
	return t.silence(ctx, node.Name, machineTimeout, "deleted")
}

// silence makes a node stop reporting, and checks whether it exists after the timeout, or once it is deleted.
func (t *Trial) silence(ctx context.Context, name string, timeout time.Duration, want string) (report.Verdict, string,
	error) {
	if err := t.live.SetReady(ctx, name, false); err != nil {
		return "", "", err
	}
	err := t.until(ctx, timeout, func(ctx context.Context) (bool, error) {
		n, err := t.live.Node(ctx, name)
		return err == nil && n == nil || t.unsupported(withoutInstances) != "", err
	})
	if err != nil {
		return "", "", err
	}
	now, warning, err := t.observeNode(ctx, name)
	if err != nil {
		return "", "", err
	}
	verdict, summary := t.decideNode(warning, t.check("node", want, existence(now)))
	return verdict, summary, nil
}

// survivesFault lets all calls to the cloud fail while a node does not report.
func survivesFault(kind sim.FaultKind) func(context.Context, *Trial) (report.Verdict, string, error) {
	return func(ctx context.Context, t *Trial) (report.Verdict, string, error) {
		node, err := t.joined(ctx)
		if err != nil {
			return "", "", err
		}
		front := t.cluster.Cloud.World.Front()
		front.SetFaults(sim.Fault{Kind: kind})
		defer front.SetFaults()
		return t.silence(ctx, node.Name, safetyTime, "exists")
	}
}

// foreignID is a provider ID of no simulated cloud.
const foreignID = "other-cloud://zone/machine-1"

func foreignNode(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	t.begin()
	node := world.Machine{Name: "other-cloud-1"}.Node()
	node.Spec.ProviderID = foreignID
	if err := t.manifest(userNode(node)); err != nil {
		return "", "", err
	}
	if err := lab.RegisterNode(ctx, t.cluster.Plane.Client, node); err != nil {
		return "", "", err
	}
	t.cleanUp(func(ctx context.Context) error { return t.live.DeleteNode(ctx, node.Name) })
	verdict, summary, err := t.silence(ctx, node.Name, safetyTime, "exists")
	if err != nil || verdict != report.Works {
		return verdict, summary, err
	}
	now, warning, err := t.observeNode(ctx, node.Name)
	if now, err = existing(node.Name, now, err); err != nil {
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
	verdict, summary = t.decideNode(warning, t.check("node", "exists", existence(now)),
		t.check("provider ID", foreignID, now.Spec.ProviderID), t.check("taints", taints(node), taints(now)))
	return verdict, summary, nil
}
