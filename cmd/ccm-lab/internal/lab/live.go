package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Live is a cluster with a real API server and the real ccm process.
type Live struct {
	Client kubernetes.Interface
	World  conformance.World
	// Options start the manager.
	Options ManagerOptions

	manager *Manager
	// disruption is the policy of the manager that was started last.
	disruption []string
}

var _ conformance.Cluster = (*Live)(nil)

// Start starts the manager, and waits for its first call to the cloud.
func (l *Live) Start(ctx context.Context, o conformance.ManagerOptions) error {
	options := l.Options
	if o.DryRun {
		options.Args = append([]string{"--dry-run"}, options.Args...)
	}
	if l.disruption = nil; o.Disruption != "" {
		l.disruption = []string{"--load-balancer-disruption=" + string(o.Disruption)}
	}
	options.Args = slices.Concat(l.disruption, options.Args)
	log := l.World.Front().Log()
	before := log.Len()
	manager, err := StartManager(options)
	if err != nil {
		return err
	}
	l.manager = manager
	return manager.awaitStart(ctx, options, func() bool { return log.Len() > before })
}

// Manager returns the running process, or nil.
func (l *Live) Manager() *Manager { return l.manager }

// Stop stops the manager.
func (l *Live) Stop(ctx context.Context) {
	if l.manager != nil {
		l.manager.Stop(ctx)
		l.manager = nil
	}
}

// Restart implements conformance.Cluster.
func (l *Live) Restart(ctx context.Context, o conformance.ManagerOptions) error {
	l.Stop(ctx)
	return l.Start(ctx, o)
}

// AddNode implements conformance.Cluster.
func (l *Live) AddNode(ctx context.Context, node *v1.Node) error {
	return RegisterNode(ctx, l.Client, node)
}

// SetReady implements conformance.Cluster.
func (l *Live) SetReady(ctx context.Context, nodeName string, ready bool) error {
	return SetReady(ctx, l.Client, nodeName, ready)
}

// SetAddresses implements conformance.Cluster.
func (l *Live) SetAddresses(ctx context.Context, nodeName string, addresses []v1.NodeAddress) error {
	return conformance.SetAddresses(ctx, l.Client, nodeName, addresses)
}

// Node implements conformance.Cluster.
func (l *Live) Node(ctx context.Context, nodeName string) (*v1.Node, error) {
	node, err := l.Client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return node, err
}

// DeleteNode implements conformance.Cluster. A missing node is not an error: the manager may have deleted it
// first.
func (l *Live) DeleteNode(ctx context.Context, nodeName string) error {
	return ignoreNotFound(l.Client.CoreV1().Nodes().Delete(ctx, nodeName, metav1.DeleteOptions{}))
}

// PutService implements conformance.Cluster.
func (l *Live) PutService(ctx context.Context, svc *v1.Service) error {
	services := l.Client.CoreV1().Services(svc.Namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		have, err := services.Get(ctx, svc.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = services.Create(ctx, svc, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		want := have.DeepCopy()
		want.Annotations, want.Labels = svc.Annotations, svc.Labels
		applySpec(&want.Spec, svc.Spec)
		_, err = services.Update(ctx, want, metav1.UpdateOptions{})
		return err
	})
}

// applySpec updates the fields that a user's manifest sets, and keeps those that the API server has
// defaulted.
func applySpec(have *v1.ServiceSpec, want v1.ServiceSpec) {
	nodePorts := map[string]int32{}
	for _, p := range have.Ports {
		nodePorts[fmt.Sprintf("%s/%d", p.Protocol, p.Port)] = p.NodePort
	}
	have.Ports = want.DeepCopy().Ports
	for i := range have.Ports {
		p := &have.Ports[i]
		if want.Type != v1.ServiceTypeLoadBalancer {
			p.NodePort = 0
		} else if p.NodePort == 0 {
			p.NodePort = nodePorts[fmt.Sprintf("%s/%d", p.Protocol, p.Port)]
		}
	}
	have.Type, have.Selector = want.Type, want.Selector
	have.LoadBalancerSourceRanges = want.LoadBalancerSourceRanges
	if want.Type != v1.ServiceTypeLoadBalancer {
		have.ExternalTrafficPolicy, have.AllocateLoadBalancerNodePorts = "", nil
	}
}

// DeleteService implements conformance.Cluster.
func (l *Live) DeleteService(ctx context.Context, namespace, name string) error {
	return ignoreNotFound(l.Client.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{}))
}

// Service implements conformance.Cluster.
func (l *Live) Service(ctx context.Context, namespace, name string) (*v1.Service, error) {
	svc, err := l.Client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return svc, err
}

// SetServiceStatus implements conformance.Cluster.
func (l *Live) SetServiceStatus(ctx context.Context, namespace, name string, status v1.ServiceStatus) error {
	return conformance.SetServiceStatus(ctx, l.Client, namespace, name, status)
}

// Events implements conformance.Cluster.
func (l *Live) Events(ctx context.Context, kind, namespace, name string) ([]string, error) {
	list, err := l.Client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name,
	})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list.Items {
		if e.InvolvedObject.Namespace == namespace {
			out = append(out, e.Reason+": "+e.Message)
		}
	}
	return out, nil
}

// Plan implements conformance.Cluster: it runs `ccm plan`.
func (l *Live) Plan(ctx context.Context, namespace, name string) (plan.Plan, error) {
	out, err := l.RunPlan(ctx, append([]string{"--service=" + namespace + "/" + name, "-o", "json"}, l.disruption...)...)
	if err != nil {
		return plan.Plan{}, err
	}
	var document plan.Document
	if err := json.Unmarshal(out, &document); err != nil {
		return plan.Plan{}, fmt.Errorf("ccm plan printed no JSON: %w\n%s", err, out)
	}
	if len(document.Plans) != 1 {
		return plan.Plan{}, fmt.Errorf("ccm plan printed %d plans, want 1:\n%s", len(document.Plans), out)
	}
	printed := document.Plans[0]
	p := plan.Plan{Subject: printed.Subject, Warnings: printed.Warnings, HeldID: printed.HeldID}
	change := func(c plan.DocumentChange) plan.Change {
		return plan.Change{Ref: c.Ref, Fields: c.Fields, Reason: c.Reason, After: c.After, Membership: c.Membership}
	}
	for _, c := range printed.Changes {
		p.Changes = append(p.Changes, change(c))
	}
	for _, h := range printed.Held {
		p.Held = append(p.Held, plan.HeldChange{Change: change(h), Reason: h.Held})
	}
	return p, nil
}

// exitChanges is the exit code of `ccm plan` when there are changes.
const exitChanges = 2

// RunPlan runs `ccm plan` with the manager's flags and returns its output. Planned changes are not an error.
func (l *Live) RunPlan(ctx context.Context, args ...string) ([]byte, error) {
	r, err := l.RunCommand(ctx, "plan", args...)
	if err == nil && r.Code != 0 && (r.Code != exitChanges || len(r.Stdout) == 0) {
		err = fmt.Errorf("ccm plan: exit status %d: %s", r.Code, r.Stderr)
	}
	return r.Stdout, err
}

// CommandResult is the output of a command of ccm.
type CommandResult struct {
	Stdout []byte
	Stderr string
	Code   int
}

// RunCommand runs a command of ccm with the manager's flags to its end.
func (l *Live) RunCommand(ctx context.Context, command string, args ...string) (CommandResult, error) {
	options := l.Options
	options.Args = args
	cmd := exec.CommandContext(ctx, options.Binary, append([]string{command}, options.arguments()...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("ccm %s: %w", command, err)
	}
	return CommandResult{
		Stdout: stdout.Bytes(), Stderr: strings.TrimSpace(stderr.String()), Code: cmd.ProcessState.ExitCode(),
	}, err
}

// Settle implements conformance.Cluster. It only detects that mutations of the cloud have stopped; the caller
// checks for failures of the controllers.
func (l *Live) Settle(ctx context.Context) error {
	idle := NewIdle(quietTime, l.World.Front().Log().MutationCount)
	return wait.PollUntilContextCancel(ctx, poll, false, func(context.Context) (bool, error) {
		if l.manager != nil {
			select {
			case <-l.manager.Done():
				return false, fmt.Errorf("%w: %w", conformance.ErrUnsettled, l.manager.ended(l.Options, endLines))
			default:
			}
		}
		return idle.Reached(), nil
	})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
