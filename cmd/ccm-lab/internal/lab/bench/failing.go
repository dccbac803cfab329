package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

const (
	// keptObjects is the number of nodes and of Services that the failing cloud has all the time. More than three nodes:
	// an answer about one of them counts only if three others are found.
	keptObjects = 5
	// pendingObjects is the number of nodes and of Services that the failing cloud gets at the start of a condition, so
	// that its controllers have work, which does not end while it fails.
	pendingObjects = 10
	// latencyPoll is the interval between two reads of the watched state, which the measured seconds are rounded to.
	latencyPoll = 5 * time.Millisecond
)

// condition is a state of the failing cloud.
type condition struct {
	name  string
	fault sim.FaultKind
	// otherAccount has the endpoint answer for another account, which has none of the cluster's objects.
	otherAccount bool
	// idle gives it no work.
	idle bool
}

// conditions are measured in this order. The first and the last one are the base of the comparison: the difference of
// both is the noise of the machine.
func conditions() []condition {
	return []condition{
		{name: "is idle", idle: true},
		{name: "works"},
		{name: "hangs", fault: sim.FaultHang},
		{name: "answers errors", fault: sim.FaultError},
		{name: "throttles", fault: sim.FaultThrottle},
		{name: "denies", fault: sim.FaultDenied},
		{name: "is another account", otherAccount: true},
		{name: "is idle again", idle: true},
	}
}

// failingRunner measures clouds beside one that fails.
type failingRunner struct {
	*runner
	failing *lab.Cloud
	others  []*lab.Cloud
	// another is the world of the other account.
	another *lab.Cloud
	// nodes and services are measured in each other cloud and condition.
	nodes, services int
	// machines counts the machines, whose names are unique in the cluster.
	machines atomic.Int64
}

// RunFailing measures how long nodes and Services of the other clouds of Provider take, one after the other, while the
// cloud Failing is idle, works, and fails in each way. An error is returned, too, if the manager removes a node or a
// load balancer of that cloud.
func RunFailing(ctx context.Context, b lab.Binaries, o Options) (report FailingReport, err error) {
	o.PhaseTimeout = cmp.Or(o.PhaseTimeout, DefaultPhaseTimeout)
	cloud := lab.SimulatorOptions{Latency: o.Latency, LoadBalancers: o.Services + spareLoadBalancers}
	another, err := lab.StartCloud(ctx, o.Failing, "127.0.0.1:0", cloud)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, another.Close()) }()
	cluster, err := lab.StartCluster(ctx, b, lab.ClusterOptions{
		Provider: o.Provider, Dir: o.Dir, Step: o.Step, Cloud: cloud, ManagerArgs: slices.Concat(ManagerArgs(), OwnArgs()),
	})
	if err != nil {
		return report, err
	}
	defer func() {
		err = errors.Join(err, o.Step(context.WithoutCancel(ctx), "stopping everything", cluster.Stop))
	}()
	r, stopWatching, err := newWatchingRunner(ctx, cluster, o)
	if err != nil {
		return report, err
	}
	defer stopWatching()
	f := &failingRunner{runner: r, another: another, nodes: o.Nodes, services: o.Services}
	for _, c := range cluster.Clouds {
		if c.Provider == o.Failing {
			f.failing = c
		} else {
			f.others = append(f.others, c)
		}
	}
	report = FailingReport{Failing: o.Failing, Nodes: o.Nodes, Services: o.Services,
		LatencyMilliseconds: o.Latency.Milliseconds(), CPUs: runtime.NumCPU()}
	for _, c := range f.others {
		report.Clouds = append(report.Clouds, c.Provider)
	}
	return report, f.measureAll(ctx, &report)
}

// measureAll creates what the failing cloud keeps, and measures all conditions.
func (f *failingRunner) measureAll(ctx context.Context, report *FailingReport) error {
	var kept []string
	err := f.Step(ctx, fmt.Sprintf("%d nodes and %d Services of %s", keptObjects, keptObjects, f.failing.Provider),
		func(ctx context.Context) (err error) {
			kept, err = f.load(ctx, "kept", keptObjects, true)
			if err == nil {
				err = f.waitFor(ctx, f.nodesInitialized(keptObjects))
			}
			if err == nil {
				err = f.waitFor(ctx, f.servicesAddressed(keptObjects))
			}
			return errors.Join(err, f.waitUntilQuiet(ctx, quietPeriod))
		})
	if err != nil {
		return err
	}
	for _, c := range conditions() {
		err := f.Step(ctx, f.failing.Provider+" "+c.name, func(ctx context.Context) error {
			measured, err := f.measureCondition(ctx, c)
			if err != nil {
				return f.explain(err)
			}
			report.Conditions = append(report.Conditions, measured)
			return f.checkKept(kept)
		})
		if err != nil {
			return fmt.Errorf("while %s %s: %w", f.failing.Provider, c.name, err)
		}
	}
	return nil
}

// measureCondition has the failing cloud fail, gives it work, measures the others, and ends the failure and the work.
func (f *failingRunner) measureCondition(ctx context.Context, c condition) (Condition, error) {
	ctx, cancel := context.WithTimeout(ctx, f.PhaseTimeout)
	defer cancel()
	front, out := f.failing.World.Front(), Condition{Name: c.name}
	recoverCloud := func() {
		front.SetFaults()
		f.failing.AnswerWith(front)
	}
	defer recoverCloud()
	if c.otherAccount {
		f.failing.AnswerWith(f.another.World.Front())
	}
	if c.fault != "" {
		front.SetFaults(sim.Fault{Kind: c.fault, Times: sim.Always})
	}
	var pending []string
	if !c.idle {
		var err error
		if pending, err = f.load(ctx, "pending", pendingObjects, false); err != nil {
			return out, err
		}
	}
	out.Clouds = make([]Latencies, len(f.others))
	err := each(ctx, len(f.others), func(ctx context.Context, i int) (err error) {
		out.Clouds[i-1], err = f.measureCloud(ctx, f.others[i-1])
		return err
	})
	out.Failed = front.Injected()
	recoverCloud()
	return out, errors.Join(err, f.unload(ctx, "pending", pending))
}

// load creates nodes and Services of the failing cloud, and returns the names of the nodes.
func (f *failingRunner) load(ctx context.Context, name string, n int, targets bool) (nodes []string, err error) {
	for i := range n {
		node, err := f.joinNext(ctx, f.failing, targets)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, node)
		if err := lab.CreateService(ctx, f.cluster.Plane.Client, f.serviceOf(f.failing, name, i)); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

// unload deletes what load has created, and waits until it is gone.
func (f *failingRunner) unload(ctx context.Context, name string, nodes []string) error {
	client := f.cluster.Plane.Client.CoreV1()
	for i, node := range nodes {
		svc := f.serviceOf(f.failing, name, i)
		err := errors.Join(client.Services(svc.Namespace).Delete(ctx, svc.Name, metav1.DeleteOptions{}),
			f.leave(ctx, f.failing, node))
		if err != nil {
			return err
		}
	}
	return f.waitFor(ctx, f.servicesLeft(keptObjects))
}

// checkKept reports nodes and load balancers of the failing cloud that are gone.
func (f *failingRunner) checkKept(nodes []string) error {
	var gone []string
	for _, name := range nodes {
		if _, err := f.watch.nodeLister.Get(name); err != nil {
			gone = append(gone, "node "+name)
		}
	}
	if n := len(f.failing.World.LoadBalancers()); n < keptObjects {
		gone = append(gone, count(keptObjects-n, "load balancer"))
	}
	if len(gone) > 0 {
		return fmt.Errorf("the manager removed what exists in %s: %s", f.failing.Provider, strings.Join(gone, ", "))
	}
	return nil
}

// measureCloud measures Services and nodes of a cloud in turns, so that both are measured over the whole time.
func (f *failingRunner) measureCloud(ctx context.Context, cloud *lab.Cloud) (Latencies, error) {
	out := Latencies{Provider: cloud.Provider}
	for i := range max(f.services, f.nodes) {
		if i < f.services {
			seconds, err := f.measureService(ctx, f.serviceOf(cloud, "bench", i))
			if err != nil {
				return out, err
			}
			out.Services = append(out.Services, seconds)
		}
		if i < f.nodes {
			seconds, err := f.measureNode(ctx, cloud)
			if err != nil {
				return out, err
			}
			out.Nodes = append(out.Nodes, seconds)
		}
	}
	return out, nil
}

// measureService returns the seconds until a new Service has its address, and deletes it.
func (f *failingRunner) measureService(ctx context.Context, svc *v1.Service) (seconds float64, err error) {
	client, lister := f.cluster.Plane.Client, f.watch.serviceLister.Services(svc.Namespace)
	started := time.Now()
	if err := lab.CreateService(ctx, client, svc); err != nil {
		return 0, err
	}
	err = f.reach(ctx, "the address of Service "+svc.Name, func() bool {
		current, err := lister.Get(svc.Name)
		return err == nil && len(current.Status.LoadBalancer.Ingress) > 0
	})
	seconds = lab.Seconds(time.Since(started))
	if err == nil {
		err = client.CoreV1().Services(svc.Namespace).Delete(ctx, svc.Name, metav1.DeleteOptions{})
	}
	if err != nil {
		return 0, err
	}
	return seconds, f.reach(ctx, "the deletion of Service "+svc.Name, func() bool {
		_, err := lister.Get(svc.Name)
		return err != nil
	})
}

// measureNode returns the seconds until a new node is initialized, and deletes it.
func (f *failingRunner) measureNode(ctx context.Context, cloud *lab.Cloud) (seconds float64, err error) {
	started := time.Now()
	name, err := f.joinNext(ctx, cloud, false)
	if err == nil {
		err = f.reach(ctx, "the initialization of node "+name, func() bool {
			node, err := f.watch.nodeLister.Get(name)
			return err == nil && uninitializedReason(node) == ""
		})
	}
	if err != nil {
		return 0, err
	}
	return lab.Seconds(time.Since(started)), f.leave(ctx, cloud, name)
}

// joinNext has a node join with a new name and the label of its cloud: the cloud of a node without it is known when all
// have answered, and one that fails does not.
func (f *failingRunner) joinNext(ctx context.Context, cloud *lab.Cloud, target bool) (name string, err error) {
	m := lab.DemoMachine(int(f.machines.Add(1)))
	return m.Name, f.joinLabeled(ctx, cloud, m, target)
}

// leave deletes a node and its machine.
func (f *failingRunner) leave(ctx context.Context, cloud *lab.Cloud, name string) error {
	err := f.cluster.Plane.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	return errors.Join(err, cloud.World.Terminate(name))
}

// serviceOf returns a Service of a cloud.
func (f *failingRunner) serviceOf(cloud *lab.Cloud, name string, i int) *v1.Service {
	svc := f.service(1 + slices.Index(f.cluster.Clouds, cloud))
	svc.Name = fmt.Sprintf("%s-%s-%d", name, svc.Annotations[intent.KeyProvider], i+1)
	return svc
}

// reach waits until the condition holds.
func (f *failingRunner) reach(ctx context.Context, description string, holds func() bool) error {
	return f.waitEvery(ctx, latencyPoll, goal{
		description: description, missing: func() int { return boolToInt(!holds()) },
	})
}
